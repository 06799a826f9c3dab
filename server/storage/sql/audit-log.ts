/** The audit log in a SQL database. */
import type { AuditLog, StoredAuditEntry } from "../ports/audit-log.ts";
import type { SqlDatabase, SqlInteger } from "./database.ts";
import { pageOf } from "./page-of.ts";

interface Row extends Omit<StoredAuditEntry, "at" | "before" | "after"> {
  readonly at: SqlInteger;
  readonly before: string;
  readonly after: string;
}

export const createAuditLog = (db: SqlDatabase): AuditLog => ({
  async append({ id, at, actor, action, subject, before, after, address }) {
    await db.query(
      `INSERT INTO vexel.audit_log (id, at, actor, action, subject, before, after, address)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [id, at, actor, action, subject, jsonOf(before), jsonOf(after), address],
    );
  },

  async list({ actor, action }, { cursor, limit }) {
    const { rows } = await db.query<Row>(
      `SELECT * FROM vexel.audit_log
       WHERE (CAST($1 AS TEXT) IS NULL OR id < $1) AND (CAST($2 AS TEXT) IS NULL OR actor = $2)
         AND (CAST($3 AS TEXT) IS NULL OR action = $3)
       ORDER BY id DESC LIMIT $4`,
      [cursor ?? null, actor ?? null, action ?? null, limit + 1],
    );
    return pageOf(rows, limit, entryOf, ({ id }) => id);
  },

  async prune(before, limit) {
    const { count } = await db.query(
      `DELETE FROM vexel.audit_log WHERE id IN
         (SELECT id FROM vexel.audit_log WHERE at < $1 ORDER BY at LIMIT $2)`,
      [before, limit],
    );
    return count === limit;
  },
});

/** JSON has no `undefined`: an absent value is stored as null. */
const jsonOf = (value: unknown): string => JSON.stringify(value ?? null);

const entryOf = ({ at, before, after, ...row }: Row): StoredAuditEntry => ({
  ...row,
  at: Number(at),
  before: JSON.parse(before) as unknown,
  after: JSON.parse(after) as unknown,
});
