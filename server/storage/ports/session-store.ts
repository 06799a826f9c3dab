/** Port: the sessions of the console. Only the hash of a session token is stored. */

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

/** Every method rejects once the store is closed. */
export interface SessionStore {
  create(session: StoredSession): Promise<void>;
  find(tokenHash: string): Promise<StoredSession | undefined>;
  touch(tokenHash: string, at: number): Promise<void>;
  /** Stores the new token and marks the old one as replaced. False: another request has replaced it already. */
  replace(tokenHash: string, replacement: StoredSession): Promise<boolean>;
  /** The current token of each session of a user. The session with the latest request is first. */
  listOfUser(userId: string): Promise<readonly StoredSession[]>;
  /** Ends one session of a user. False: the user has no such session. */
  deleteById(userId: string, id: string): Promise<boolean>;
  /** Ends all sessions of a user, except the one with the hash `except`. */
  deleteOfUser(userId: string, except?: string): Promise<void>;
  /**
   * Deletes at most `limit` tokens that were seen last before `seenBefore`, or whose sign-in was before
   * `signedInBefore`.
   */
  deleteExpired(seenBefore: number, signedInBefore: number, limit: number): Promise<void>;
}
