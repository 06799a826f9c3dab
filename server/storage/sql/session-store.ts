/** The sessions of the console in a SQL database: valid on every replica that shares it. */
import type { SessionStore, StoredSession } from "../ports/session-store.ts";
import { integerOrNull, type Queries, type SqlDatabase, type SqlInteger } from "./database.ts";

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

export const createSessionStore = (db: SqlDatabase): SessionStore => ({
  create: (session) => insert(db, session),

  async find(tokenHash) {
    const { rows } = await db.query<Row>("SELECT * FROM vexel.sessions WHERE token_hash = $1", [
      tokenHash,
    ]);
    return rows[0] && sessionOf(rows[0]);
  },

  async touch(tokenHash, at) {
    await db.query("UPDATE vexel.sessions SET last_seen_at = $2 WHERE token_hash = $1", [
      tokenHash,
      at,
    ]);
  },

  replace: (tokenHash, replacement) =>
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

  async listOfUser(userId) {
    const { rows } = await db.query<Row>(
      `SELECT * FROM vexel.sessions WHERE user_id = $1 AND replaced_at IS NULL
       ORDER BY last_seen_at DESC, id`,
      [userId],
    );
    return rows.map(sessionOf);
  },

  async deleteById(userId, id) {
    const { count } = await db.query("DELETE FROM vexel.sessions WHERE user_id = $1 AND id = $2", [
      userId,
      id,
    ]);
    return count > 0;
  },

  async deleteOfUser(userId, except = "") {
    await db.query("DELETE FROM vexel.sessions WHERE user_id = $1 AND token_hash <> $2", [
      userId,
      except,
    ]);
  },

  async deleteExpired(seenBefore, signedInBefore, limit) {
    await db.query(
      `DELETE FROM vexel.sessions WHERE token_hash IN (
         SELECT token_hash FROM vexel.sessions
         WHERE last_seen_at < $1 OR signed_in_at < $2 LIMIT $3
       )`,
      [seenBefore, signedInBefore, limit],
    );
  },
});

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
