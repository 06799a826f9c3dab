/** Port: the users of the console. Passwords are stored as argon2id hashes only. */
import type { Role } from "../../../contract/admin.ts";

export interface StoredUser {
  readonly id: string;
  /** Unique, without regard to case. */
  readonly name: string;
  readonly role: Role;
  /** The projects that the user may see. `null`: all projects. */
  readonly projects: readonly string[] | null;
  /** `null`: the user signs in with OpenID Connect. */
  readonly passwordHash: string | null;
  /** Issuer and subject of OpenID Connect. `null`: the user signs in with a password only. */
  readonly oidcSubject: string | null;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly lastSignInAt: number | null;
}

export type UserChanges = Partial<
  Pick<StoredUser, "name" | "role" | "projects" | "passwordHash" | "oidcSubject" | "lastSignInAt">
>;

/** The change would remove the last administrator: no user could create users then. */
export class LastAdministrator extends Error {
  override readonly name = "LastAdministrator";
}

/**
 * Every method rejects once the store is closed. A store that has an administrator keeps one: a change that would
 * remove the last one rejects with LastAdministrator.
 */
export interface UserStore {
  /** False: another user has the name or the subject. */
  create(user: StoredUser): Promise<boolean>;
  /** Creates the user only if there is no user at all. False: there is one. */
  createFirst(user: StoredUser): Promise<boolean>;
  findById(id: string): Promise<StoredUser | undefined>;
  findByName(name: string): Promise<StoredUser | undefined>;
  findByOidcSubject(subject: string): Promise<StoredUser | undefined>;
  /** False: there is no such user, or another user has the new name or subject. */
  update(id: string, changes: UserChanges): Promise<boolean>;
  /** Also ends the sessions of the user. False: there is no such user. */
  delete(id: string): Promise<boolean>;
  /** All users by name. */
  list(): Promise<readonly StoredUser[]>;
  isEmpty(): Promise<boolean>;
}
