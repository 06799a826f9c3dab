/**
 * API keys that are created at runtime, in a SQL database. Only hashes are stored. Every change has a revision, a
 * number that grows with each change of any process, so that a reader with 100,000 keys reads only what changed.
 */
import { VersionConflict } from "./config-entity-store.ts";
import {
  integerOrNull,
  Parameters,
  type Queries,
  type SqlDatabase,
  type SqlInteger,
  type SqlValue,
} from "./database.ts";
import { type PageRequest, pageOf, type StoredPage } from "./page.ts";
import { nextRevision, readRevision } from "./revisions.ts";
import type {
  KeyChanges,
  KeySearch,
  KeySettings,
  KeyUpdate,
  NewKey,
  StoredKey,
} from "./stored-key.ts";

/** The end of a key that is rotated. Unix milliseconds. */
type RotatedKeyEnd = { readonly revokeAt: number } | { readonly expireAt: number };

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

/** A statement has at most 32,766 parameters in SQLite. */
const rowsOfInsert = 500;

/** Every method rejects once the store is closed. */
export const createKeyStore = (db: SqlDatabase) => ({
  /** Rejects if the id or the hash exists. */
  create: (key: NewKey): Promise<StoredKey> => db.transaction((queries) => insert(queries, key)),

  /** All keys or none. Rejects if an id or a hash exists. */
  createAll: (keys: readonly NewKey[]): Promise<void> =>
    db.transaction((queries) => insertAll(queries, keys)),

  /** Active keys with this id or this name. */
  findActive: (idOrName: string): Promise<readonly StoredKey[]> =>
    find(db, "revoked_at IS NULL AND (id = $1 OR name = $1)", idOrName),
  /** Keys with this name, revoked ones included, in the order of their creation. */
  findByName: (name: string): Promise<readonly StoredKey[]> => find(db, "name = $1", name),
  /** The key with this id, revoked ones included. */
  findById: async (id: string): Promise<StoredKey | undefined> =>
    (await find(db, "id = $1", id))[0],

  /** False: there is no active key with this id. `at`: Unix milliseconds. */
  revoke: async (id: string, at: number): Promise<boolean> =>
    (await db.transaction((queries) => revoke(queries, id, at))) !== undefined,
  /**
   * Ends the key at `at`, unless it ends earlier. False: there is no active key with this id. `at`: Unix milliseconds.
   */
  expire: async (id: string, at: number): Promise<boolean> =>
    (await db.transaction((queries) => expire(queries, id, at))) !== undefined,

  /**
   * Replaces name, models and settings. Undefined if there is no active key with this id. `expected`: the version that
   * the change is based on; rejects with VersionConflict if the key has another one.
   */
  update: (
    id: string,
    { name, models, ...settings }: KeyUpdate,
    expected?: number,
  ): Promise<StoredKey | undefined> =>
    db.transaction((queries) => {
      const [modelsJson, settingsJson] = [JSON.stringify(models), JSON.stringify(settings)];
      const columns = { name, models: modelsJson, settings: settingsJson };
      return change(queries, id, () => columns, expected);
    }),

  /**
   * Creates the successor and ends the key, both or neither. Undefined if there is no active key with this id. Rejects
   * with VersionConflict: of two concurrent rotations, one creates a successor.
   */
  rotate: (
    id: string,
    successor: NewKey,
    end: RotatedKeyEnd,
    expected: number,
  ): Promise<StoredKey | undefined> =>
    db.transaction(async (queries) => {
      const ended =
        "revokeAt" in end
          ? await revoke(queries, id, end.revokeAt, expected)
          : await expire(queries, id, end.expireAt, expected);
      return ended && insert(queries, successor);
    }),

  /** All keys, revoked ones included, in the order of their creation. */
  async list({ cursor, limit }: PageRequest): Promise<StoredPage<StoredKey>> {
    const [createdAt, id] = cursor === undefined ? [-1, ""] : readCursor(cursor);
    const { rows } = await db.query<Row>(
      `SELECT * FROM vexel.keys WHERE (created_at, id) > ($1, $2)
       ORDER BY created_at, id LIMIT $3`,
      [createdAt, id, limit + 1],
    );
    return pageOf(rows, limit, keyOf, cursorOf);
  },

  /** The keys that match, revoked ones included, newest first. */
  async search(search: KeySearch): Promise<StoredPage<StoredKey>> {
    const { cursor, limit, projects, createdBy, text } = search;
    const parameters = new Parameters();
    const conditions = ["true"];
    if (cursor !== undefined) {
      const [createdAt, id] = readCursor(cursor);
      conditions.push(`(created_at, id) < (${parameters.add(createdAt)}, ${parameters.add(id)})`);
    }
    if (projects) conditions.push(hasSetting(parameters, "project", projects));
    if (createdBy !== undefined) {
      conditions.push(hasSetting(parameters, "createdById", [createdBy]));
    }
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

  /** The ids of the latest keys that the user created, revoked ones included. */
  async idsCreatedBy(userId: string, limit: number): Promise<readonly string[]> {
    const parameters = new Parameters();
    const condition = hasSetting(parameters, "createdById", [userId]);
    const { rows } = await db.query<Pick<Row, "id">>(
      `SELECT id FROM vexel.keys WHERE ${condition}
       ORDER BY created_at DESC, id DESC LIMIT ${parameters.add(limit)}`,
      parameters.values,
    );
    return rows.map(({ id }) => id);
  },

  /** The revision of the latest change. 0: there was none. */
  revision: (): Promise<number> => readRevision(db, "keys"),

  /** The keys that changed after `revision`, at most `limit` of them. */
  async changesSince(revision: number, limit: number): Promise<KeyChanges> {
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

  close: (): Promise<void> => db.close(),
});

export type KeyStore = ReturnType<typeof createKeyStore>;

/**
 * Whether a member of the settings has one of the values. The settings are JSON that `create` and `update` have
 * written. No other value can contain the text of the member, because quotation marks in values are escaped.
 */
function hasSetting(
  parameters: Parameters,
  name: "project" | "createdById",
  values: readonly string[],
): string {
  const alternatives = values.map((value) =>
    contains("settings", parameters.add(`"${name}":${JSON.stringify(value)}`)),
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
  const version = await nextRevision(db, "keys");
  await insertRows(db, [key], version);
  return { ...key, revokedAt: null, version };
}

async function insertAll(db: Queries, keys: readonly NewKey[]): Promise<void> {
  // Each key has a revision of its own: readers of changes continue after a revision.
  const last = await nextRevision(db, "keys", keys.length);
  for (let at = 0; at < keys.length; at += rowsOfInsert) {
    const rows = keys.slice(at, at + rowsOfInsert);
    await insertRows(db, rows, last - keys.length + at + 1);
  }
}

/** `firstRevision`: of the first key. */
async function insertRows(
  db: Queries,
  keys: readonly NewKey[],
  firstRevision: number,
): Promise<void> {
  const parameters = new Parameters();
  const rows = keys.map(({ id, name, hash, hint, models, createdAt, ...settings }, at) => {
    const texts = [id, name, hash, hint, JSON.stringify(models), JSON.stringify(settings)];
    const values = [...texts, createdAt].map((value) => parameters.add(value));
    const revision = parameters.add(firstRevision + at);
    return `(${values.join(", ")}, ${revision}, ${revision})`;
  });
  await db.query(
    `INSERT INTO vexel.keys
       (id, name, hash, hint, models, settings, created_at, created_revision, revision)
     VALUES ${rows.join(", ")}`,
    parameters.values,
  );
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
 * Changes columns of an active key, in a transaction. Undefined if there is none with this id. Rejects with
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

const cursorOf = ({ created_at, id }: Pick<Row, "created_at" | "id">): string =>
  `${created_at} ${id}`;

/** The cursor of the page after this key. */
export const keyCursor = ({ createdAt, id }: Pick<StoredKey, "createdAt" | "id">): string =>
  cursorOf({ created_at: createdAt, id });

function readCursor(cursor: string): [createdAt: number, id: string] {
  const space = cursor.indexOf(" ");
  return [Number(cursor.slice(0, space)), cursor.slice(space + 1)];
}
