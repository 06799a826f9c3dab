/** The sessions of the console in `vexel.db`. */
import type { Database } from "bun:sqlite";
import type { SessionStore, StoredSession } from "../ports/session-store.ts";

interface Row {
  readonly token_hash: string;
  readonly user_id: string;
  readonly csrf_token: string;
  readonly signed_in_at: number;
  readonly issued_at: number;
  readonly last_seen_at: number;
  readonly replaced_at: number | null;
}

export class SqliteSessionStore implements SessionStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async create(session: StoredSession): Promise<void> {
    this.#insert(session);
  }

  async find(tokenHash: string): Promise<StoredSession | undefined> {
    const row = this.#db
      .query<Row, [string]>("SELECT * FROM sessions WHERE token_hash = ?1")
      .get(tokenHash);
    return row ? sessionOf(row) : undefined;
  }

  async touch(tokenHash: string, at: number): Promise<void> {
    this.#db
      .query("UPDATE sessions SET last_seen_at = ?2 WHERE token_hash = ?1")
      .run(tokenHash, at);
  }

  async replace(tokenHash: string, replacement: StoredSession): Promise<boolean> {
    const change = this.#db.transaction((): boolean => {
      const { changes } = this.#db
        .query("UPDATE sessions SET replaced_at = ?2 WHERE token_hash = ?1 AND replaced_at IS NULL")
        .run(tokenHash, replacement.issuedAt);
      if (changes === 0) return false;
      this.#insert(replacement);
      return true;
    });
    return change.immediate();
  }

  async delete(tokenHash: string): Promise<boolean> {
    return this.#db.query("DELETE FROM sessions WHERE token_hash = ?1").run(tokenHash).changes > 0;
  }

  async deleteOfUser(userId: string, except = ""): Promise<void> {
    this.#db
      .query("DELETE FROM sessions WHERE user_id = ?1 AND token_hash <> ?2")
      .run(userId, except);
  }

  async deleteExpired(seenBefore: number, signedInBefore: number): Promise<void> {
    this.#db
      .query("DELETE FROM sessions WHERE last_seen_at < ?1 OR signed_in_at < ?2")
      .run(seenBefore, signedInBefore);
  }

  #insert(session: StoredSession): void {
    this.#db
      .query(
        `INSERT INTO sessions
           (token_hash, user_id, csrf_token, signed_in_at, issued_at, last_seen_at, replaced_at)
         VALUES ($tokenHash, $userId, $csrfToken, $signedInAt, $issuedAt, $lastSeenAt, $replacedAt)`,
      )
      .run({ ...session });
  }
}

const sessionOf = (row: Row): StoredSession => ({
  tokenHash: row.token_hash,
  userId: row.user_id,
  csrfToken: row.csrf_token,
  signedInAt: row.signed_in_at,
  issuedAt: row.issued_at,
  lastSeenAt: row.last_seen_at,
  replacedAt: row.replaced_at,
});
