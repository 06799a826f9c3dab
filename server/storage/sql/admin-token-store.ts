/**
 * The users' own tokens of the admin API in a SQL database: valid on every replica that shares it. Only hashes are
 * stored.
 */
import { integerOrNull, type SqlDatabase, type SqlInteger } from "./database.ts";

export interface StoredAdminToken {
  readonly id: string;
  readonly userId: string;
  readonly name: string;
  /** SHA-256 of the token in hex. */
  readonly hash: string;
  /** The first characters of the token. */
  readonly hint: string;
  /** Unix milliseconds, like all times here. */
  readonly createdAt: number;
  readonly expiresAt: number;
  /** Written at most once a minute. */
  readonly lastUsedAt: number | null;
}

interface Row {
  readonly id: string;
  readonly user_id: string;
  readonly name: string;
  readonly token_hash: string;
  readonly hint: string;
  readonly created_at: SqlInteger;
  readonly expires_at: SqlInteger;
  readonly last_used_at: SqlInteger | null;
}

/** Every method rejects once the store is closed. */
export const createAdminTokenStore = (db: SqlDatabase) => ({
  /** False: the user has `max` tokens already. */
  create: (
    { id, userId, name, hash, hint, createdAt, expiresAt, lastUsedAt }: StoredAdminToken,
    max: number,
  ): Promise<boolean> =>
    db.transaction(async (queries) => {
      const { rows } = await queries.query<{ count: SqlInteger }>(
        "SELECT count(*) AS count FROM vexel.admin_tokens WHERE user_id = $1",
        [userId],
      );
      if (Number(rows[0]?.count) >= max) return false;
      await queries.query(
        `INSERT INTO vexel.admin_tokens
           (id, user_id, name, token_hash, hint, created_at, expires_at, last_used_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
        [id, userId, name, hash, hint, createdAt, expiresAt, lastUsedAt],
      );
      return true;
    }),

  async findByHash(hash: string): Promise<StoredAdminToken | undefined> {
    const { rows } = await db.query<Row>("SELECT * FROM vexel.admin_tokens WHERE token_hash = $1", [
      hash,
    ]);
    return rows[0] && tokenOf(rows[0]);
  },

  async touch(id: string, at: number): Promise<void> {
    await db.query("UPDATE vexel.admin_tokens SET last_used_at = $2 WHERE id = $1", [id, at]);
  },

  /** The newest first. */
  async listOfUser(userId: string): Promise<readonly StoredAdminToken[]> {
    const { rows } = await db.query<Row>(
      "SELECT * FROM vexel.admin_tokens WHERE user_id = $1 ORDER BY created_at DESC, id",
      [userId],
    );
    return rows.map(tokenOf);
  },

  /** The token, which is no longer valid. Undefined if the user has no such token. */
  async delete(userId: string, id: string): Promise<StoredAdminToken | undefined> {
    const { rows } = await db.query<Row>(
      "DELETE FROM vexel.admin_tokens WHERE user_id = $1 AND id = $2 RETURNING *",
      [userId, id],
    );
    return rows[0] && tokenOf(rows[0]);
  },

  async deleteOfUser(userId: string): Promise<void> {
    await db.query("DELETE FROM vexel.admin_tokens WHERE user_id = $1", [userId]);
  },
});

export type AdminTokenStore = ReturnType<typeof createAdminTokenStore>;

const tokenOf = (row: Row): StoredAdminToken => ({
  id: row.id,
  userId: row.user_id,
  name: row.name,
  hash: row.token_hash,
  hint: row.hint,
  createdAt: Number(row.created_at),
  expiresAt: Number(row.expires_at),
  lastUsedAt: integerOrNull(row.last_used_at),
});
