/** Port: the users' own tokens of the admin API. Only the hash of a token is stored. */

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

/** Every method rejects once the store is closed. */
export interface AdminTokenStore {
  /** False: the user has `max` tokens already. */
  create(token: StoredAdminToken, max: number): Promise<boolean>;
  findByHash(hash: string): Promise<StoredAdminToken | undefined>;
  touch(id: string, at: number): Promise<void>;
  /** The newest first. */
  listOfUser(userId: string): Promise<readonly StoredAdminToken[]>;
  /** The token, which is no longer valid. Undefined: the user has no such token. */
  delete(userId: string, id: string): Promise<StoredAdminToken | undefined>;
  deleteOfUser(userId: string): Promise<void>;
}
