/** API keys in a SQL database. Several processes may change them at the same time. */
import { VersionConflict } from "../ports/config-entity-store.ts";
import type { KeySettings, KeyStore, NewKey, StoredKey } from "../ports/key-store.ts";
import {
  integerOrNull,
  Parameters,
  type Queries,
  type SqlDatabase,
  type SqlInteger,
  type SqlValue,
} from "./database.ts";
import { pageOf } from "./page-of.ts";
import { nextRevision, readRevision } from "./revisions.ts";

interface Row {
  readonly id: string;
  readonly name: string;
  readonly hash: string;
  readonly hint: string;
  readonly models: string;
  readonly settings: string;
  readonly created_at: SqlInteger;
  readonly revoked_at: SqlInteger | null;
  readonly created_revision: SqlInteger;
  readonly revision: SqlInteger;
}

export const createKeyStore = (db: SqlDatabase): KeyStore => ({
  create: (key) => db.transaction((queries) => insert(queries, key)),

  findActive: (idOrName) => find(db, "revoked_at IS NULL AND (id = $1 OR name = $1)", idOrName),
  findByName: (name) => find(db, "name = $1", name),
  findById: async (id) => (await find(db, "id = $1", id))[0],

  revoke: async (id, at) =>
    (await db.transaction((queries) => revoke(queries, id, at))) !== undefined,
  expire: async (id, at) =>
    (await db.transaction((queries) => expire(queries, id, at))) !== undefined,

  update: (id, { name, models, ...settings }, expected) =>
    db.transaction((queries) => {
      const [modelsJson, settingsJson] = [JSON.stringify(models), JSON.stringify(settings)];
      const columns = { name, models: modelsJson, settings: settingsJson };
      return change(queries, id, () => columns, expected);
    }),

  rotate: (id, successor, end, expected) =>
    db.transaction(async (queries) => {
      const ended =
        "revokeAt" in end
          ? await revoke(queries, id, end.revokeAt, expected)
          : await expire(queries, id, end.expireAt, expected);
      return ended && insert(queries, successor);
    }),

  async list({ cursor, limit }) {
    const [createdAt, id] = cursor === undefined ? [-1, ""] : readCursor(cursor);
    const { rows } = await db.query<Row>(
      `SELECT * FROM vexel.keys WHERE (created_at, id) > ($1, $2)
       ORDER BY created_at, id LIMIT $3`,
      [createdAt, id, limit + 1],
    );
    return pageOf(rows, limit, keyOf, cursorOf);
  },

  async search({ cursor, limit, projects, text }) {
    const parameters = new Parameters();
    const conditions = ["true"];
    if (cursor !== undefined) {
      const [createdAt, id] = readCursor(cursor);
      conditions.push(`(created_at, id) < (${parameters.add(createdAt)}, ${parameters.add(id)})`);
    }
    if (projects) conditions.push(isOfProject(parameters, projects));
    if (text !== undefined) {
      const searched = `lower(${parameters.add(text)})`;
      conditions.push(
        `(lower(id) = ${searched} OR ${contains("lower(name)", searched)}
          OR ${contains("lower(hint)", searched)})`,
      );
    }
    const { rows } = await db.query<Row>(
      `SELECT * FROM vexel.keys WHERE ${conditions.join(" AND ")}
       ORDER BY created_at DESC, id DESC LIMIT ${parameters.add(limit + 1)}`,
      parameters.values,
    );
    return pageOf(rows, limit, keyOf, cursorOf);
  },

  revision: () => readRevision(db, "keys"),

  async changesSince(revision, limit) {
    const { rows } = await db.query<Row>(
      "SELECT * FROM vexel.keys WHERE revision > $1 ORDER BY revision LIMIT $2",
      [revision, limit + 1],
    );
    const page = rows.slice(0, limit);
    return {
      changes: page.map((row) => ({
        key: keyOf(row),
        isNew: Number(row.created_revision) > revision,
      })),
      revision: Number(page.at(-1)?.revision ?? revision),
      hasMore: rows.length > limit,
    };
  },

  close: () => db.close(),
});

/**
 * The project is a member of the settings, JSON that `create` and `update` have written. No other value can contain the
 * text of the member, because quotation marks in values are escaped.
 */
function isOfProject(parameters: Parameters, projects: readonly string[]): string {
  const alternatives = projects.map((project) =>
    contains("settings", parameters.add(`"project":${JSON.stringify(project)}`)),
  );
  return alternatives.length === 0 ? "false" : `(${alternatives.join(" OR ")})`;
}

/** SQLite and PostgreSQL have no other function in common that finds a text and has no wildcards. */
const contains = (column: string, text: string): string =>
  `replace(${column}, ${text}, '') <> ${column}`;

/** In the order of creation. */
async function find(db: Queries, condition: string, value: string): Promise<StoredKey[]> {
  const { rows } = await db.query<Row>(
    `SELECT * FROM vexel.keys WHERE ${condition} ORDER BY created_at, id`,
    [value],
  );
  return rows.map(keyOf);
}

async function insert(db: Queries, key: NewKey): Promise<StoredKey> {
  const { id, name, hash, hint, models, createdAt, ...settings } = key;
  const version = await nextRevision(db, "keys");
  await db.query(
    `INSERT INTO vexel.keys
       (id, name, hash, hint, models, settings, created_at, created_revision, revision)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)`,
    [id, name, hash, hint, JSON.stringify(models), JSON.stringify(settings), createdAt, version],
  );
  return { ...key, revokedAt: null, version };
}

const revoke = (db: Queries, id: string, at: number, expected?: number) =>
  change(db, id, () => ({ revoked_at: at }), expected);

const expire = (db: Queries, id: string, at: number, expected?: number) =>
  change(
    db,
    id,
    (row) => {
      const settings = settingsOf(row);
      const expiresAt = Math.min(at, settings.expiresAt ?? at);
      return { settings: JSON.stringify({ ...settings, expiresAt }) };
    },
    expected,
  );

/**
 * Changes columns of an active key, in a transaction. Undefined: there is none with this id. Rejects with
 * VersionConflict if it does not have the expected version.
 */
async function change(
  db: Queries,
  id: string,
  changesOf: (current: Row) => Readonly<Record<string, SqlValue>>,
  expected: number | undefined,
): Promise<StoredKey | undefined> {
  const current = await lockActive(db, id);
  if (!current) return undefined;
  const version = Number(current.revision);
  if (expected !== undefined && expected !== version) {
    throw new VersionConflict({ kind: "API key", id }, version);
  }
  const columns = { ...changesOf(current), revision: await nextRevision(db, "keys") };
  const assignments = Object.keys(columns).map((name, at) => `${name} = $${at + 2}`);
  const { rows } = await db.query<Row>(
    `UPDATE vexel.keys SET ${assignments.join(", ")} WHERE id = $1 RETURNING *`,
    [id, ...Object.values(columns)],
  );
  return rows[0] && keyOf(rows[0]);
}

/** The update changes nothing: it locks the row until the end of the transaction. */
async function lockActive(db: Queries, id: string): Promise<Row | undefined> {
  const { rows } = await db.query<Row>(
    "UPDATE vexel.keys SET id = id WHERE id = $1 AND revoked_at IS NULL RETURNING *",
    [id],
  );
  return rows[0];
}

const settingsOf = ({ settings }: Row): KeySettings => JSON.parse(settings) as KeySettings;

const keyOf = (row: Row): StoredKey => ({
  id: row.id,
  name: row.name,
  hash: row.hash,
  hint: row.hint,
  models: JSON.parse(row.models) as string[],
  ...settingsOf(row),
  createdAt: Number(row.created_at),
  revokedAt: integerOrNull(row.revoked_at),
  version: Number(row.revision),
});

const cursorOf = ({ created_at, id }: Row): string => `${created_at} ${id}`;

function readCursor(cursor: string): [createdAt: number, id: string] {
  const space = cursor.indexOf(" ");
  return [Number(cursor.slice(0, space)), cursor.slice(space + 1)];
}
