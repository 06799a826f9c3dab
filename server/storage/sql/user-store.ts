/**
 * The users of the console in a SQL database. Passwords are stored as argon2id hashes, invitations and recovery codes as
 * SHA-256 hashes, and the secret of the second factor is encrypted.
 */
import { maxUsers } from "../../../contract/admin/list-bounds.ts";
import { can, type Role, rolesWith } from "../../../contract/admin.ts";
import { message } from "../../../contract/messages/message.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import {
  integerOrNull,
  Parameters,
  type Queries,
  type SqlDatabase,
  type SqlInteger,
  type SqlValue,
} from "./database.ts";

export interface StoredUser {
  readonly id: string;
  /** Unique, without regard to case. */
  readonly name: string;
  readonly role: Role;
  /** The projects that the user may see. `null`: all projects. */
  readonly projects: readonly string[] | null;
  /** The roles in single ones of these projects, instead of the general one. */
  readonly projectRoles: Readonly<Record<string, Role>>;
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

interface Row {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly projects: string | null;
  readonly project_roles: string | null;
  readonly password_hash: string | null;
  readonly must_change_password: SqlInteger;
  readonly disabled_at: SqlInteger | null;
  readonly invite_hash: string | null;
  readonly invite_expires_at: SqlInteger | null;
  readonly totp_secret: string | null;
  readonly totp_step: SqlInteger | null;
  readonly recovery_codes: string | null;
  readonly oidc_subject: string | null;
  readonly created_at: SqlInteger;
  readonly last_sign_in_at: SqlInteger | null;
}

/**
 * Every method rejects once the store is closed. A store that has an administrator who can sign in keeps one: a change
 * that would remove or disable the last one rejects with LastAdministrator.
 */
export function createUserStore(db: SqlDatabase) {
  const find = async (condition: string, value: string): Promise<StoredUser | undefined> => {
    const { rows } = await db.query<Row>(`SELECT * FROM vexel.users WHERE ${condition}`, [value]);
    return rows[0] && userOf(rows[0]);
  };
  return {
    /** False: another user has the name or the subject. Rejects with GatewayError: there are too many users. */
    create: (user: StoredUser, max = maxUsers): Promise<boolean> =>
      db.transaction(async (queries) => {
        await lockUsers(queries);
        const { rows } = await queries.query("SELECT 1 FROM vexel.users LIMIT 1 OFFSET $1", [
          max - 1,
        ]);
        if (rows.length > 0) {
          throw new GatewayError("invalid_value", message("too_many_users", { max }));
        }
        return insert(queries, user);
      }),

    /** Creates the user only if there is no user at all. False: there is one. */
    createFirst: (user: StoredUser): Promise<boolean> =>
      db.transaction(async (queries) => {
        await lockUsers(queries);
        return (await isEmpty(queries)) && insert(queries, user);
      }),

    findById: (id: string): Promise<StoredUser | undefined> => find("id = $1", id),
    findByName: (name: string): Promise<StoredUser | undefined> =>
      find("lower(name) = lower($1)", name),
    findByOidcSubject: (subject: string): Promise<StoredUser | undefined> =>
      find("oidc_subject = $1", subject),
    /** The user with this invitation, also if it has expired. */
    findByInvite: (hash: string): Promise<StoredUser | undefined> => find("invite_hash = $1", hash),

    /** Sets the password and removes the invitation. False: another request has used the invitation. */
    async acceptInvite(id: string, hash: string, passwordHash: string): Promise<boolean> {
      const { count } = await db.query(
        `UPDATE vexel.users SET password_hash = $3, must_change_password = 0,
           invite_hash = NULL, invite_expires_at = NULL
         WHERE id = $1 AND invite_hash = $2`,
        [id, hash, passwordHash],
      );
      return count > 0;
    },

    /** Replaces the state of the second factor. False: another request has changed it since `before` was read. */
    async replaceTotp(id: string, before: StoredTotp, after: StoredTotp): Promise<boolean> {
      const { count } = await db.query(
        `UPDATE vexel.users SET totp_secret = $2, totp_step = $3, recovery_codes = $4
         WHERE id = $1 AND totp_secret = $5 AND totp_step = $6 AND recovery_codes = $7`,
        [id, ...totpValues(after), ...totpValues(before)],
      );
      return count > 0;
    },

    /** False: there is no such user, or another user has the new name or subject. */
    async update(id: string, changes: UserChanges): Promise<boolean> {
      try {
        const isDemoted = changes.role !== undefined && !can(changes.role, "administer");
        const isDisabled = changes.disabledAt !== undefined && changes.disabledAt !== null;
        if (!isDemoted && !isDisabled) return await update(db, id, changes);
        return await db.transaction(async (queries) => {
          await refuseLastAdministrator(queries, id);
          return update(queries, id, changes);
        });
      } catch (error) {
        if (db.isDuplicate(error)) return false;
        throw error;
      }
    },

    /** Also ends the sessions and the tokens of the user. False: there is no such user. */
    delete: (id: string): Promise<boolean> =>
      db.transaction(async (queries) => {
        await refuseLastAdministrator(queries, id);
        await queries.query("DELETE FROM vexel.sessions WHERE user_id = $1", [id]);
        await queries.query("DELETE FROM vexel.admin_tokens WHERE user_id = $1", [id]);
        return (await queries.query("DELETE FROM vexel.users WHERE id = $1", [id])).count > 0;
      }),

    /** All users by name. */
    async list(): Promise<readonly StoredUser[]> {
      const { rows } = await db.query<Row>("SELECT * FROM vexel.users ORDER BY lower(name)");
      return rows.map(userOf);
    },

    isEmpty: (): Promise<boolean> => isEmpty(db),
  };
}

export type UserStore = ReturnType<typeof createUserStore>;

/**
 * Refuses to take access from the last administrator who can sign in. Locked, because another replica may do it at the
 * same time.
 */
async function refuseLastAdministrator(db: Queries, id: string): Promise<void> {
  await lockUsers(db);
  const parameters = new Parameters();
  const { rows } = await db.query<Pick<Row, "id">>(
    `SELECT id FROM vexel.users
     WHERE ${parameters.inList("role", rolesWith("administer"))} AND disabled_at IS NULL
       AND (password_hash IS NOT NULL OR oidc_subject IS NOT NULL) LIMIT 2`,
    parameters.values,
  );
  if (rows.length === 1 && rows[0]?.id === id) throw new LastAdministrator();
}

async function update(db: Queries, id: string, changes: UserChanges): Promise<boolean> {
  const columns = columnsOf(changes);
  const assignments = Object.keys(columns).map((name, at) => `${name} = $${at + 2}`);
  const { count } = await db.query(
    `UPDATE vexel.users SET ${["id = id", ...assignments].join(", ")} WHERE id = $1`,
    [id, ...Object.values(columns)],
  );
  return count > 0;
}

/**
 * Locks the users until the end of the transaction: only one of them is the first, and one administrator is the last.
 * The counter does not change.
 */
async function lockUsers(db: Queries): Promise<void> {
  await db.query("UPDATE vexel.revisions SET value = value WHERE name = 'config'");
}

/** False: another user has the name or the subject. */
async function insert(db: Queries, user: StoredUser): Promise<boolean> {
  const columns = { id: user.id, created_at: user.createdAt, ...columnsOf(user) };
  const placeholders = Object.keys(columns).map((_, at) => `$${at + 1}`);
  const { count } = await db.query(
    `INSERT INTO vexel.users (${Object.keys(columns).join(", ")})
     VALUES (${placeholders.join(", ")}) ON CONFLICT DO NOTHING`,
    Object.values(columns),
  );
  return count > 0;
}

async function isEmpty(db: Queries): Promise<boolean> {
  return (await db.query("SELECT 1 FROM vexel.users LIMIT 1")).rows.length === 0;
}

/** The roles in these projects: a user who leaves a project and returns does not have the former role. */
export const rolesWithin = (
  roles: StoredUser["projectRoles"],
  projects: StoredUser["projects"],
): StoredUser["projectRoles"] =>
  Object.fromEntries(Object.entries(roles).filter(([project]) => projects?.includes(project)));

/** The columns of the values that are given. */
function columnsOf(user: Partial<StoredUser>): Record<string, SqlValue> {
  const columns = {
    name: user.name,
    role: user.role,
    projects: user.projects && JSON.stringify(user.projects),
    project_roles: user.projectRoles && JSON.stringify(user.projectRoles),
    password_hash: user.passwordHash,
    must_change_password:
      user.mustChangePassword === undefined ? undefined : Number(user.mustChangePassword),
    disabled_at: user.disabledAt,
    ...(user.invite !== undefined && {
      invite_hash: user.invite?.hash ?? null,
      invite_expires_at: user.invite?.expiresAt ?? null,
    }),
    ...(user.totp !== undefined && {
      totp_secret: user.totp?.secret ?? null,
      totp_step: user.totp?.step ?? null,
      recovery_codes: user.totp ? JSON.stringify(user.totp.recoveryHashes) : null,
    }),
    oidc_subject: user.oidcSubject,
    last_sign_in_at: user.lastSignInAt,
  };
  return Object.fromEntries(
    Object.entries(columns).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    ),
  );
}

const totpValues = ({ secret, step, recoveryHashes }: StoredTotp): readonly SqlValue[] => [
  secret,
  step,
  JSON.stringify(recoveryHashes),
];

const userOf = (row: Row): StoredUser => ({
  id: row.id,
  name: row.name,
  role: row.role,
  projects: row.projects === null ? null : (JSON.parse(row.projects) as string[]),
  projectRoles: JSON.parse(row.project_roles ?? "{}") as Record<string, Role>,
  passwordHash: row.password_hash,
  mustChangePassword: Number(row.must_change_password) === 1,
  disabledAt: integerOrNull(row.disabled_at),
  invite:
    row.invite_hash === null
      ? null
      : { hash: row.invite_hash, expiresAt: Number(row.invite_expires_at) },
  totp:
    row.totp_secret === null
      ? null
      : {
          secret: row.totp_secret,
          step: Number(row.totp_step),
          recoveryHashes: JSON.parse(row.recovery_codes ?? "[]") as string[],
        },
  oidcSubject: row.oidc_subject,
  createdAt: Number(row.created_at),
  lastSignInAt: integerOrNull(row.last_sign_in_at),
});
