/** The sessions of the console in PostgreSQL: valid on every replica. */
import type { SessionStore, StoredSession } from "../ports/session-store.ts";
import type { PostgresDatabase } from "./database.ts";
import type { Queries } from "./queries.ts";

/** PostgreSQL's BIGINT is read as text. */
interface Row {
  readonly token_hash: string;
  readonly user_id: string;
  readonly csrf_token: string;
  readonly signed_in_at: string;
  readonly issued_at: string;
  readonly last_seen_at: string;
  readonly replaced_at: string | null;
}

export class PostgresSessionStore implements SessionStore {
  readonly #db: PostgresDatabase;

  constructor(db: PostgresDatabase) {
    this.#db = db;
  }

  create(session: StoredSession): Promise<void> {
    return insert(this.#db, session);
  }

  async find(tokenHash: string): Promise<StoredSession | undefined> {
    const { rows } = await this.#db.query<Row>(
      "SELECT * FROM vexel.sessions WHERE token_hash = $1",
      [tokenHash],
    );
    return rows[0] && sessionOf(rows[0]);
  }

  async touch(tokenHash: string, at: number): Promise<void> {
    await this.#db.query("UPDATE vexel.sessions SET last_seen_at = $2 WHERE token_hash = $1", [
      tokenHash,
      at,
    ]);
  }

  replace(tokenHash: string, replacement: StoredSession): Promise<boolean> {
    return this.#db.transaction(async (db) => {
      const { count } = await db.query(
        `UPDATE vexel.sessions SET replaced_at = $2
         WHERE token_hash = $1 AND replaced_at IS NULL`,
        [tokenHash, replacement.issuedAt],
      );
      if (count === 0) return false;
      await insert(db, replacement);
      return true;
    });
  }

  async delete(tokenHash: string): Promise<boolean> {
    const { count } = await this.#db.query("DELETE FROM vexel.sessions WHERE token_hash = $1", [
      tokenHash,
    ]);
    return count > 0;
  }

  async deleteOfUser(userId: string, except = ""): Promise<void> {
    await this.#db.query("DELETE FROM vexel.sessions WHERE user_id = $1 AND token_hash <> $2", [
      userId,
      except,
    ]);
  }

  async deleteExpired(seenBefore: number, signedInBefore: number): Promise<void> {
    await this.#db.query(
      "DELETE FROM vexel.sessions WHERE last_seen_at < $1 OR signed_in_at < $2",
      [seenBefore, signedInBefore],
    );
  }
}

async function insert(db: Queries, session: StoredSession): Promise<void> {
  await db.query(
    `INSERT INTO vexel.sessions
       (token_hash, user_id, csrf_token, signed_in_at, issued_at, last_seen_at, replaced_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [
      session.tokenHash,
      session.userId,
      session.csrfToken,
      session.signedInAt,
      session.issuedAt,
      session.lastSeenAt,
      session.replacedAt,
    ],
  );
}

const sessionOf = (row: Row): StoredSession => ({
  tokenHash: row.token_hash,
  userId: row.user_id,
  csrfToken: row.csrf_token,
  signedInAt: Number(row.signed_in_at),
  issuedAt: Number(row.issued_at),
  lastSeenAt: Number(row.last_seen_at),
  replacedAt: row.replaced_at === null ? null : Number(row.replaced_at),
});
