/**
 * The sessions of the console in a SQL database: valid on every replica that shares it. Only hashes of tokens are
 * stored.
 */
import { maxSessions } from "../../../contract/admin/list-bounds.ts";
import { integerOrNull, type Queries, type SqlDatabase, type SqlInteger } from "./database.ts";

export interface StoredSession {
  /** The same for all tokens of a session. */
  readonly id: string;
  /** SHA-256 of the token in hex. */
  readonly tokenHash: string;
  readonly userId: string;
  readonly csrfToken: string;
  /** The client's IP address and the header `user-agent` at the sign-in. */
  readonly address: string;
  readonly userAgent: string;
  /** Unix milliseconds, like all times here. A rotated token keeps the time of the sign-in. */
  readonly signedInAt: number;
  readonly issuedAt: number;
  readonly lastSeenAt: number;
  /** When a new token replaced this one. `null`: it is the current token of the session. */
  readonly replacedAt: number | null;
}

interface Row {
  readonly id: string;
  readonly address: string;
  readonly user_agent: string;
  readonly token_hash: string;
  readonly user_id: string;
  readonly csrf_token: string;
  readonly signed_in_at: SqlInteger;
  readonly issued_at: SqlInteger;
  readonly last_seen_at: SqlInteger;
  readonly replaced_at: SqlInteger | null;
}

/** Every method rejects once the store is closed. */
export const createSessionStore = (db: SqlDatabase) => ({
  /** Of the sessions of the user, the `max` that were used last are kept. */
  create: (session: StoredSession, max = maxSessions): Promise<void> =>
    db.transaction(async (queries) => {
      await insert(queries, session);
      await queries.query(
        `DELETE FROM vexel.sessions WHERE user_id = $1 AND id NOT IN (
           SELECT id FROM vexel.sessions WHERE user_id = $1 AND replaced_at IS NULL
           ORDER BY last_seen_at DESC, id LIMIT $2
         )`,
        [session.userId, max],
      );
    }),

  async find(tokenHash: string): Promise<StoredSession | undefined> {
    const { rows } = await db.query<Row>("SELECT * FROM vexel.sessions WHERE token_hash = $1", [
      tokenHash,
    ]);
    return rows[0] && sessionOf(rows[0]);
  },

  async touch(tokenHash: string, at: number): Promise<void> {
    await db.query("UPDATE vexel.sessions SET last_seen_at = $2 WHERE token_hash = $1", [
      tokenHash,
      at,
    ]);
  },

  /** Stores the new token and marks the old one as replaced. False: another request has replaced it already. */
  replace: (tokenHash: string, replacement: StoredSession): Promise<boolean> =>
    db.transaction(async (queries) => {
      const { count } = await queries.query(
        `UPDATE vexel.sessions SET replaced_at = $2
         WHERE token_hash = $1 AND replaced_at IS NULL`,
        [tokenHash, replacement.issuedAt],
      );
      if (count === 0) return false;
      await insert(queries, replacement);
      return true;
    }),

  /** The current token of each session of a user. The session with the latest request is first. */
  async listOfUser(userId: string): Promise<readonly StoredSession[]> {
    const { rows } = await db.query<Row>(
      `SELECT * FROM vexel.sessions WHERE user_id = $1 AND replaced_at IS NULL
       ORDER BY last_seen_at DESC, id`,
      [userId],
    );
    return rows.map(sessionOf);
  },

  /** Ends one session of a user. False: the user has no such session. */
  async deleteById(userId: string, id: string): Promise<boolean> {
    const { count } = await db.query("DELETE FROM vexel.sessions WHERE user_id = $1 AND id = $2", [
      userId,
      id,
    ]);
    return count > 0;
  },

  /** Ends all sessions of a user, except the one with the hash `except`. */
  async deleteOfUser(userId: string, except = ""): Promise<void> {
    await db.query("DELETE FROM vexel.sessions WHERE user_id = $1 AND token_hash <> $2", [
      userId,
      except,
    ]);
  },

  /**
   * Deletes at most `limit` tokens that were seen last before `seenBefore`, or whose sign-in was before
   * `signedInBefore`.
   */
  async deleteExpired(seenBefore: number, signedInBefore: number, limit: number): Promise<void> {
    await db.query(
      `DELETE FROM vexel.sessions WHERE token_hash IN (
         SELECT token_hash FROM vexel.sessions
         WHERE last_seen_at < $1 OR signed_in_at < $2 LIMIT $3
       )`,
      [seenBefore, signedInBefore, limit],
    );
  },
});

export type SessionStore = ReturnType<typeof createSessionStore>;

async function insert(db: Queries, session: StoredSession): Promise<void> {
  const { tokenHash, userId, csrfToken, signedInAt, issuedAt, lastSeenAt, replacedAt } = session;
  const { id, address, userAgent } = session;
  await db.query(
    `INSERT INTO vexel.sessions
       (token_hash, user_id, csrf_token, signed_in_at, issued_at, last_seen_at, replaced_at,
        id, address, user_agent)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      tokenHash,
      userId,
      csrfToken,
      signedInAt,
      issuedAt,
      lastSeenAt,
      replacedAt,
      id,
      address,
      userAgent,
    ],
  );
}

const sessionOf = (row: Row): StoredSession => ({
  id: row.id,
  address: row.address,
  userAgent: row.user_agent,
  tokenHash: row.token_hash,
  userId: row.user_id,
  csrfToken: row.csrf_token,
  signedInAt: Number(row.signed_in_at),
  issuedAt: Number(row.issued_at),
  lastSeenAt: Number(row.last_seen_at),
  replacedAt: integerOrNull(row.replaced_at),
});
