/** The audit log in `vexel.db`. */
import type { Database } from "bun:sqlite";
import type { AuditFilter, AuditLog, StoredAuditEntry } from "../ports/audit-log.ts";
import type { Page, PageRequest } from "../ports/page.ts";

interface Row {
  readonly id: string;
  readonly at: number;
  readonly actor: string;
  readonly action: string;
  readonly subject: string | null;
  readonly before: string;
  readonly after: string;
  readonly address: string | null;
}

export class SqliteAuditLog implements AuditLog {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async append({ before, after, ...entry }: StoredAuditEntry): Promise<void> {
    this.#db
      .query(
        `INSERT INTO audit_log (id, at, actor, action, subject, before, after, address)
         VALUES ($id, $at, $actor, $action, $subject, $before, $after, $address)`,
      )
      .run({ ...entry, before: jsonOf(before), after: jsonOf(after) });
  }

  async list(
    { actor, action }: AuditFilter,
    { cursor, limit }: PageRequest,
  ): Promise<Page<StoredAuditEntry>> {
    const rows = this.#db
      .query<Row, Record<string, string | number | null>>(
        `SELECT * FROM audit_log
         WHERE ($cursor IS NULL OR id < $cursor)
           AND ($actor IS NULL OR actor = $actor)
           AND ($action IS NULL OR action = $action)
         ORDER BY id DESC LIMIT $limit`,
      )
      .all({
        cursor: cursor ?? null,
        actor: actor ?? null,
        action: action ?? null,
        limit: limit + 1,
      });
    const last = rows[limit - 1];
    return {
      entries: rows.slice(0, limit).map(entryOf),
      ...(rows.length > limit && last && { next: last.id }),
    };
  }

  async prune(before: number): Promise<void> {
    this.#db.query("DELETE FROM audit_log WHERE at < ?1").run(before);
  }
}

/** JSON has no `undefined`: an absent value is stored as null. */
const jsonOf = (value: unknown): string => JSON.stringify(value ?? null);

const entryOf = ({ before, after, ...row }: Row): StoredAuditEntry => ({
  ...row,
  before: JSON.parse(before) as unknown,
  after: JSON.parse(after) as unknown,
});
