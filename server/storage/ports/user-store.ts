/**
 * Port: the users of the console. Passwords are stored as argon2id hashes, invitations and recovery codes as SHA-256
 * hashes, and the secret of the second factor is encrypted.
 */
import type { Role } from "../../../contract/admin.ts";

export interface StoredUser {
  readonly id: string;
  /** Unique, without regard to case. */
  readonly name: string;
  readonly role: Role;
  /** The projects that the user may see. `null`: all projects. */
  readonly projects: readonly string[] | null;
  /** `null`: the user signs in with OpenID Connect, or has not accepted the invitation yet. */
  readonly passwordHash: string | null;
  /** The user may only change the password until that is done. */
  readonly mustChangePassword: boolean;
  /** The user cannot sign in. `null`: the user can. */
  readonly disabledAt: number | null;
  /** Of the one-time link with which the user chooses a password. `null`: there is none. */
  readonly invite: StoredInvite | null;
  /** The second factor. `null`: the password is enough. */
  readonly totp: StoredTotp | null;
  /** Issuer and subject of OpenID Connect. `null`: the user signs in with a password only. */
  readonly oidcSubject: string | null;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly lastSignInAt: number | null;
}

export interface StoredInvite {
  /** SHA-256 of the token in hex. */
  readonly hash: string;
  readonly expiresAt: number;
}

export interface StoredTotp {
  /** Encrypted. */
  readonly secret: string;
  /** The time step of the last code that was used: a code is used once. */
  readonly step: number;
  /** SHA-256 of each recovery code that was not used. */
  readonly recoveryHashes: readonly string[];
}

export type UserChanges = Partial<Omit<StoredUser, "id" | "createdAt">>;

/** The change would remove the last administrator: no user could create users then. */
export class LastAdministrator extends Error {
  override readonly name = "LastAdministrator";
}

/**
 * Every method rejects once the store is closed. A store that has an administrator who can sign in keeps one: a change
 * that would remove or disable the last one rejects with LastAdministrator.
 */
export interface UserStore {
  /** False: another user has the name or the subject. */
  create(user: StoredUser): Promise<boolean>;
  /** Creates the user only if there is no user at all. False: there is one. */
  createFirst(user: StoredUser): Promise<boolean>;
  findById(id: string): Promise<StoredUser | undefined>;
  findByName(name: string): Promise<StoredUser | undefined>;
  findByOidcSubject(subject: string): Promise<StoredUser | undefined>;
  /** The user with this invitation, also if it has expired. */
  findByInvite(hash: string): Promise<StoredUser | undefined>;
  /** Sets the password and removes the invitation. False: another request has used the invitation. */
  acceptInvite(id: string, hash: string, passwordHash: string): Promise<boolean>;
  /** Replaces the state of the second factor. False: another request has changed it since `before` was read. */
  replaceTotp(id: string, before: StoredTotp, after: StoredTotp): Promise<boolean>;
  /** False: there is no such user, or another user has the new name or subject. */
  update(id: string, changes: UserChanges): Promise<boolean>;
  /** Also ends the sessions and the tokens of the user. False: there is no such user. */
  delete(id: string): Promise<boolean>;
  /** All users by name. */
  list(): Promise<readonly StoredUser[]>;
  isEmpty(): Promise<boolean>;
}
