/** The users of the console in a SQL database. */
import type { Role } from "../../../contract/admin.ts";
import type { StoredUser, UserStore } from "../ports/user-store.ts";
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
      const columns = columnsOf(changes);
      const assignments = Object.keys(columns).map((name, at) => `${name} = $${at + 2}`);
      try {
        const { count } = await db.query(
          `UPDATE vexel.users SET ${["id = id", ...assignments].join(", ")} WHERE id = $1`,
          [id, ...Object.values(columns)],
        );
        return count > 0;
      } catch (error) {
        if (db.isDuplicate(error)) return false;
        throw error;
      }
    },

    delete: (id) =>
      db.transaction(async (queries) => {
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

/** Users are created one after the other, so that only one of them is the first. The counter does not change. */
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
