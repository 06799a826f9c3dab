/**
 * The audit log in a SQL database. It is append-only: entries are never changed. It has no hash chain, so it is not
 * tamper-evident.
 */

import { Parameters, type SqlDatabase, type SqlInteger } from "./database.ts";
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

export interface AuditFilter {
  readonly actor?: string | undefined;
  /** An action, or a kind and `.*`: all actions of the kind. */
  readonly action?: string | undefined;
  readonly subject?: string | undefined;
  /** Unix milliseconds. */
  readonly from?: number | undefined;
  /** Unix milliseconds, exclusive. */
  readonly to?: number | undefined;
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
    { actor, action, subject, from, to }: AuditFilter,
    { cursor, limit }: PageRequest,
  ): Promise<StoredPage<StoredAuditEntry>> {
    const parameters = new Parameters();
    const conditions = ["true"];
    const add = (condition: string, value: string | number | undefined): void => {
      if (value !== undefined) conditions.push(`${condition} ${parameters.add(value)}`);
    };
    add("id <", cursor);
    add("actor =", actor);
    add("subject =", subject);
    add("at >=", from);
    add("at <", to);
    if (action?.endsWith(".*")) {
      const kind = `CAST(${parameters.add(action.slice(0, -1))} AS TEXT)`;
      conditions.push(`substr(action, 1, length(${kind})) = ${kind}`);
    } else add("action =", action);
    const { rows } = await db.query<Row>(
      `SELECT * FROM vexel.audit_log WHERE ${conditions.join(" AND ")}
       ORDER BY id DESC LIMIT ${parameters.add(limit + 1)}`,
      parameters.values,
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
