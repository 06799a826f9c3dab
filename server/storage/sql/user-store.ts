/** The users of the console in a SQL database. */
import type { Role } from "../../../contract/admin.ts";
import {
  LastAdministrator,
  type StoredUser,
  type UserChanges,
  type UserStore,
} from "../ports/user-store.ts";
import {
  integerOrNull,
  type Queries,
  type SqlDatabase,
  type SqlInteger,
  type SqlValue,
} from "./database.ts";

interface Row {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly projects: string | null;
  readonly password_hash: string | null;
  readonly oidc_subject: string | null;
  readonly created_at: SqlInteger;
  readonly last_sign_in_at: SqlInteger | null;
}

export function createUserStore(db: SqlDatabase): UserStore {
  const find = async (condition: string, value: string): Promise<StoredUser | undefined> => {
    const { rows } = await db.query<Row>(`SELECT * FROM vexel.users WHERE ${condition}`, [value]);
    return rows[0] && userOf(rows[0]);
  };
  return {
    create: (user) =>
      db.transaction(async (queries) => {
        await lockUsers(queries);
        return insert(queries, user);
      }),

    createFirst: (user) =>
      db.transaction(async (queries) => {
        await lockUsers(queries);
        return (await isEmpty(queries)) && insert(queries, user);
      }),

    findById: (id) => find("id = $1", id),
    findByName: (name) => find("lower(name) = lower($1)", name),
    findByOidcSubject: (subject) => find("oidc_subject = $1", subject),

    async update(id, changes) {
      try {
        if (changes.role === undefined || changes.role === "admin")
          return await update(db, id, changes);
        return await db.transaction(async (queries) => {
          await keepAdministrator(queries, id);
          return update(queries, id, changes);
        });
      } catch (error) {
        if (db.isDuplicate(error)) return false;
        throw error;
      }
    },

    delete: (id) =>
      db.transaction(async (queries) => {
        await keepAdministrator(queries, id);
        await queries.query("DELETE FROM vexel.sessions WHERE user_id = $1", [id]);
        return (await queries.query("DELETE FROM vexel.users WHERE id = $1", [id])).count > 0;
      }),

    async list() {
      const { rows } = await db.query<Row>("SELECT * FROM vexel.users ORDER BY lower(name)");
      return rows.map(userOf);
    },

    isEmpty: () => isEmpty(db),
  };
}

/** Refuses to take the role from the last administrator. Locked, because another replica may do it at the same time. */
async function keepAdministrator(db: Queries, id: string): Promise<void> {
  await lockUsers(db);
  const { rows } = await db.query<Pick<Row, "id">>(
    "SELECT id FROM vexel.users WHERE role = 'admin' LIMIT 2",
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

/** The columns of the values that are given. */
function columnsOf(user: Partial<StoredUser>): Record<string, SqlValue> {
  const columns = {
    name: user.name,
    role: user.role,
    projects: user.projects && JSON.stringify(user.projects),
    password_hash: user.passwordHash,
    oidc_subject: user.oidcSubject,
    last_sign_in_at: user.lastSignInAt,
  };
  return Object.fromEntries(
    Object.entries(columns).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    ),
  );
}

const userOf = (row: Row): StoredUser => ({
  id: row.id,
  name: row.name,
  role: row.role,
  projects: row.projects === null ? null : (JSON.parse(row.projects) as string[]),
  passwordHash: row.password_hash,
  oidcSubject: row.oidc_subject,
  createdAt: Number(row.created_at),
  lastSignInAt: integerOrNull(row.last_sign_in_at),
});
