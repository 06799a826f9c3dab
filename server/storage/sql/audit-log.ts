/**
 * The audit log in a SQL database. It is append-only: entries are never changed. It has no hash chain, so it is not
 * tamper-evident.
 */

import type { SqlDatabase, SqlInteger } from "./database.ts";
import { type PageRequest, pageOf, type StoredPage } from "./page.ts";

export interface StoredAuditEntry {
  /** Grows with time: lists are ordered by it. */
  readonly id: string;
  /** Unix milliseconds. */
  readonly at: number;
  readonly actor: string;
  /** Such as `upstream.updated`. */
  readonly action: string;
  readonly subject: string | null;
  /** JSON without secrets. */
  readonly before: unknown;
  readonly after: unknown;
  readonly address: string | null;
}

interface AuditFilter {
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
}

interface Row extends Omit<StoredAuditEntry, "at" | "before" | "after"> {
  readonly at: SqlInteger;
  readonly before: string;
  readonly after: string;
}

/** Every method rejects once the store is closed. */
export const createAuditLog = (db: SqlDatabase) => ({
  async append({
    id,
    at,
    actor,
    action,
    subject,
    before,
    after,
    address,
  }: StoredAuditEntry): Promise<void> {
    await db.query(
      `INSERT INTO vexel.audit_log (id, at, actor, action, subject, before, after, address)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [id, at, actor, action, subject, jsonOf(before), jsonOf(after), address],
    );
  },

  /** Newest first. */
  async list(
    { actor, action }: AuditFilter,
    { cursor, limit }: PageRequest,
  ): Promise<StoredPage<StoredAuditEntry>> {
    const { rows } = await db.query<Row>(
      `SELECT * FROM vexel.audit_log
       WHERE (CAST($1 AS TEXT) IS NULL OR id < $1) AND (CAST($2 AS TEXT) IS NULL OR actor = $2)
         AND (CAST($3 AS TEXT) IS NULL OR action = $3)
       ORDER BY id DESC LIMIT $4`,
      [cursor ?? null, actor ?? null, action ?? null, limit + 1],
    );
    return pageOf(rows, limit, entryOf, ({ id }) => id);
  },

  /**
   * Deletes at most `limit` entries older than `before` (Unix milliseconds), the oldest first. True: there may be more.
   */
  async prune(before: number, limit: number): Promise<boolean> {
    const { count } = await db.query(
      `DELETE FROM vexel.audit_log WHERE id IN
         (SELECT id FROM vexel.audit_log WHERE at < $1 ORDER BY at LIMIT $2)`,
      [before, limit],
    );
    return count === limit;
  },
});

export type AuditLog = ReturnType<typeof createAuditLog>;

/** JSON has no `undefined`: an absent value is stored as null. */
const jsonOf = (value: unknown): string => JSON.stringify(value ?? null);

const entryOf = ({ at, before, after, ...row }: Row): StoredAuditEntry => ({
  ...row,
  at: Number(at),
  before: JSON.parse(before) as unknown,
  after: JSON.parse(after) as unknown,
});
