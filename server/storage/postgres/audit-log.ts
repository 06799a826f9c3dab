/** The audit log in PostgreSQL, of all replicas. */
import type { AuditFilter, AuditLog, StoredAuditEntry } from "../ports/audit-log.ts";
import type { Page, PageRequest } from "../ports/page.ts";
import type { PostgresDatabase } from "./database.ts";

/** PostgreSQL's BIGINT is read as text. */
interface Row {
  readonly id: string;
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly subject: string | null;
  readonly before: string;
  readonly after: string;
  readonly address: string | null;
}

export class PostgresAuditLog implements AuditLog {
  readonly #db: PostgresDatabase;

  constructor(db: PostgresDatabase) {
    this.#db = db;
  }

  async append(entry: StoredAuditEntry): Promise<void> {
    const { id, at, actor, action, subject, before, after, address } = entry;
    await this.#db.query(
      `INSERT INTO vexel.audit_log (id, at, actor, action, subject, before, after, address)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [id, at, actor, action, subject, jsonOf(before), jsonOf(after), address],
    );
  }

  async list(
    { actor, action }: AuditFilter,
    { cursor, limit }: PageRequest,
  ): Promise<Page<StoredAuditEntry>> {
    const { rows } = await this.#db.query<Row>(
      `SELECT * FROM vexel.audit_log
       WHERE ($1::text IS NULL OR id < $1) AND ($2::text IS NULL OR actor = $2)
         AND ($3::text IS NULL OR action = $3)
       ORDER BY id DESC LIMIT $4`,
      [cursor ?? null, actor ?? null, action ?? null, limit + 1],
    );
    const last = rows[limit - 1];
    return {
      entries: rows.slice(0, limit).map(entryOf),
      ...(rows.length > limit && last && { next: last.id }),
    };
  }

  async prune(before: number): Promise<void> {
    await this.#db.query("DELETE FROM vexel.audit_log WHERE at < $1", [before]);
  }
}

/** JSON has no `undefined`: an absent value is stored as null. */
const jsonOf = (value: unknown): string => JSON.stringify(value ?? null);

const entryOf = ({ at, before, after, ...row }: Row): StoredAuditEntry => ({
  ...row,
  at: Number(at),
  before: JSON.parse(before) as unknown,
  after: JSON.parse(after) as unknown,
});
