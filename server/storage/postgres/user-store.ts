/** The users of the console in PostgreSQL. */
import type { Role } from "../../../contract/admin.ts";
import type { StoredUser, UserChanges, UserStore } from "../ports/user-store.ts";
import { type PostgresDatabase, sqlState } from "./database.ts";
import type { Queries } from "./queries.ts";

/** PostgreSQL's BIGINT is read as text. */
interface Row {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly projects: string | null;
  readonly password_hash: string | null;
  readonly oidc_subject: string | null;
  readonly created_at: string;
  readonly last_sign_in_at: string | null;
}

const insertion = `INSERT INTO vexel.users
  (id, name, role, projects, password_hash, oidc_subject, created_at, last_sign_in_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`;

const conditions = {
  id: "id = $1",
  name: "lower(name) = lower($1)",
  oidcSubject: "oidc_subject = $1",
} as const;

export class PostgresUserStore implements UserStore {
  readonly #db: PostgresDatabase;

  constructor(db: PostgresDatabase) {
    this.#db = db;
  }

  create(user: StoredUser): Promise<boolean> {
    return whetherUnique(async () => {
      await this.#db.query(insertion, valuesOf(user));
      return true;
    });
  }

  createFirst(user: StoredUser): Promise<boolean> {
    return this.#db.transaction(async (db) => {
      // Two replicas may create the first user at the same time: the second one waits here.
      await db.query("LOCK TABLE vexel.users IN SHARE ROW EXCLUSIVE MODE");
      if (!(await isEmpty(db))) return false;
      await db.query(insertion, valuesOf(user));
      return true;
    });
  }

  findById(id: string): Promise<StoredUser | undefined> {
    return find(this.#db, "id", id);
  }

  findByName(name: string): Promise<StoredUser | undefined> {
    return find(this.#db, "name", name);
  }

  findByOidcSubject(subject: string): Promise<StoredUser | undefined> {
    return find(this.#db, "oidcSubject", subject);
  }

  update(id: string, changes: UserChanges): Promise<boolean> {
    return whetherUnique(() =>
      this.#db.transaction(async (db) => {
        const present = await find(db, "id", id, " FOR UPDATE");
        if (!present) return false;
        const changed = { ...present, ...changes };
        const { name, role, projects, passwordHash, oidcSubject, lastSignInAt } = changed;
        const members = projects && JSON.stringify(projects);
        await db.query(
          `UPDATE vexel.users SET name = $2, role = $3, projects = $4, password_hash = $5,
             oidc_subject = $6, last_sign_in_at = $7 WHERE id = $1`,
          [id, name, role, members, passwordHash, oidcSubject, lastSignInAt],
        );
        return true;
      }),
    );
  }

  delete(id: string): Promise<boolean> {
    return this.#db.transaction(async (db) => {
      await db.query("DELETE FROM vexel.sessions WHERE user_id = $1", [id]);
      return (await db.query("DELETE FROM vexel.users WHERE id = $1", [id])).count > 0;
    });
  }

  async list(): Promise<readonly StoredUser[]> {
    const { rows } = await this.#db.query<Row>("SELECT * FROM vexel.users ORDER BY lower(name)");
    return rows.map(userOf);
  }

  isEmpty(): Promise<boolean> {
    return isEmpty(this.#db);
  }
}

async function isEmpty(db: Queries): Promise<boolean> {
  return (await db.query("SELECT 1 FROM vexel.users LIMIT 1")).rows.length === 0;
}

async function find(
  db: Queries,
  by: keyof typeof conditions,
  value: string,
  lock = "",
): Promise<StoredUser | undefined> {
  const { rows } = await db.query<Row>(`SELECT * FROM vexel.users WHERE ${conditions[by]}${lock}`, [
    value,
  ]);
  return rows[0] && userOf(rows[0]);
}

const uniqueViolation = "23505";

async function whetherUnique(write: () => Promise<boolean>): Promise<boolean> {
  try {
    return await write();
  } catch (error) {
    if (sqlState(error) === uniqueViolation) return false;
    throw error;
  }
}

const valuesOf = (user: StoredUser) => [
  user.id,
  user.name,
  user.role,
  user.projects && JSON.stringify(user.projects),
  user.passwordHash,
  user.oidcSubject,
  user.createdAt,
  user.lastSignInAt,
];

const userOf = (row: Row): StoredUser => ({
  id: row.id,
  name: row.name,
  role: row.role,
  projects: row.projects === null ? null : (JSON.parse(row.projects) as string[]),
  passwordHash: row.password_hash,
  oidcSubject: row.oidc_subject,
  createdAt: Number(row.created_at),
  lastSignInAt: row.last_sign_in_at === null ? null : Number(row.last_sign_in_at),
});
