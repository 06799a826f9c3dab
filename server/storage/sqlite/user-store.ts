/** The users of the console in `vexel.db`. */
import type { Database } from "bun:sqlite";
import type { Role } from "../../../contract/admin.ts";
import { errorCode } from "../../lib/error-code.ts";
import type { StoredUser, UserChanges, UserStore } from "../ports/user-store.ts";

interface Row {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly projects: string | null;
  readonly password_hash: string | null;
  readonly oidc_subject: string | null;
  readonly created_at: number;
  readonly last_sign_in_at: number | null;
}

const insertion = `
  INSERT INTO users (id, name, role, projects, password_hash, oidc_subject, created_at, last_sign_in_at)
  SELECT $id, $name, $role, $projects, $passwordHash, $oidcSubject, $createdAt, $lastSignInAt`;

export class SqliteUserStore implements UserStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async create(user: StoredUser): Promise<boolean> {
    return whetherUnique(() => this.#db.query(insertion).run(valuesOf(user)).changes > 0);
  }

  async createFirst(user: StoredUser): Promise<boolean> {
    const statement = this.#db.query(`${insertion} WHERE NOT EXISTS (SELECT 1 FROM users)`);
    return statement.run(valuesOf(user)).changes > 0;
  }

  async findById(id: string): Promise<StoredUser | undefined> {
    return this.#find("id", id);
  }

  async findByName(name: string): Promise<StoredUser | undefined> {
    return this.#find("name", name);
  }

  async findByOidcSubject(subject: string): Promise<StoredUser | undefined> {
    return this.#find("oidc_subject", subject);
  }

  async update(id: string, changes: UserChanges): Promise<boolean> {
    const change = this.#db.transaction((): boolean => {
      const present = this.#find("id", id);
      if (!present) return false;
      const { createdAt, ...values } = valuesOf({ ...present, ...changes });
      this.#db
        .query(
          `UPDATE users SET name = $name, role = $role, projects = $projects,
             password_hash = $passwordHash, oidc_subject = $oidcSubject, last_sign_in_at = $lastSignInAt WHERE id = $id`,
        )
        .run(values);
      return true;
    });
    return whetherUnique(() => change.immediate());
  }

  async delete(id: string): Promise<boolean> {
    const remove = this.#db.transaction((): boolean => {
      this.#db.query("DELETE FROM sessions WHERE user_id = ?1").run(id);
      return this.#db.query("DELETE FROM users WHERE id = ?1").run(id).changes > 0;
    });
    return remove.immediate();
  }

  async list(): Promise<readonly StoredUser[]> {
    return this.#db.query<Row, []>("SELECT * FROM users ORDER BY name").all().map(userOf);
  }

  async isEmpty(): Promise<boolean> {
    return this.#db.query("SELECT 1 FROM users LIMIT 1").get() === null;
  }

  #find(column: "id" | "name" | "oidc_subject", value: string): StoredUser | undefined {
    const row = this.#db
      .query<Row, [string]>(`SELECT * FROM users WHERE ${column} = ?1`)
      .get(value);
    return row ? userOf(row) : undefined;
  }
}

function whetherUnique(write: () => boolean): boolean {
  try {
    return write();
  } catch (error) {
    if (errorCode(error) === "SQLITE_CONSTRAINT_UNIQUE") return false;
    throw error;
  }
}

const valuesOf = ({ projects, ...user }: StoredUser) => ({
  ...user,
  projects: projects === null ? null : JSON.stringify(projects),
});

const userOf = (row: Row): StoredUser => ({
  id: row.id,
  name: row.name,
  role: row.role,
  projects: row.projects === null ? null : (JSON.parse(row.projects) as string[]),
  passwordHash: row.password_hash,
  oidcSubject: row.oidc_subject,
  createdAt: row.created_at,
  lastSignInAt: row.last_sign_in_at,
});
