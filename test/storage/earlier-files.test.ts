/** Opens a copy of a real database of each earlier state: it is migrated with all its rows, or refused unchanged. */
import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { createAuditLog } from "../../server/storage/sql/audit-log.ts";
import { createConfigEntityStore } from "../../server/storage/sql/config-entity-store.ts";
import { createEventStore } from "../../server/storage/sql/event-store.ts";
import { createKeyStore } from "../../server/storage/sql/key-store.ts";
import { createUserStore } from "../../server/storage/sql/user-store.ts";
import { EmbeddingCacheFile } from "../../server/storage/sqlite/embedding-cache-file.ts";
import { openEventFile } from "../../server/storage/sqlite/event-database.ts";
import { openGatewayFile } from "../../server/storage/sqlite/gateway-database.ts";
import { LastKnownConfig } from "../../server/storage/sqlite/last-known-config.ts";
import { SqliteLedgerStore } from "../../server/storage/sqlite/ledger-store.ts";
import type { Migration } from "../../server/storage/sqlite/migrate.ts";
import { eventMigrations } from "../../server/storage/sqlite/migrations/events.ts";
import { gatewayMigrations } from "../../server/storage/sqlite/migrations/gateway.ts";
import { lastKnownMigrations } from "../../server/storage/sqlite/migrations/last-known.ts";
import { ledgerMigrations } from "../../server/storage/sqlite/migrations/ledger.ts";
import { vectorMigrations } from "../../server/storage/sqlite/migrations/vectors.ts";
import { readUsage } from "../../server/storage/sqlite/read-ledger.ts";
import { SqliteDatabase } from "../../server/storage/sqlite/sqlite-database.ts";
import { temporaryFolder } from "../harness.ts";
import { ledgerRow } from "../ledger/ledger-fixture.ts";

const earlierFiles = join(import.meta.dir, "earlier-files");

interface SqliteFile {
  readonly migrations: readonly Migration[];
  /** Opens the file in this folder as the gateway does. */
  readonly open: (folder: string) => { close(): unknown };
}

const files: Readonly<Record<string, SqliteFile>> = {
  vexel: { migrations: gatewayMigrations, open: (folder) => openGatewayFile(folder, () => 1) },
  events: { migrations: eventMigrations, open: openEventFile },
  ledger: {
    migrations: ledgerMigrations,
    open: (folder) => new SqliteLedgerStore({ folder, maxBytes: 0, now: 1 }),
  },
  vectors: { migrations: vectorMigrations, open: openVectors },
  "last-known": {
    migrations: lastKnownMigrations,
    open: (folder) => new LastKnownConfig(folder, () => 1),
  },
};

function openVectors(folder: string): EmbeddingCacheFile {
  return new EmbeddingCacheFile({
    folder,
    maxBytes: 1024 * 1024,
    keyFormat: 1,
    now: () => 1,
    report: (reason) => {
      throw new Error(reason);
    },
  });
}

const folders: Disposable[] = [];
afterAll(() => {
  for (const folder of folders) folder[Symbol.dispose]();
});

function newFolder(): string {
  const folder = temporaryFolder();
  folders.push(folder);
  return folder.path;
}

/** `last-known` for `last-known-1-unnumbered`. */
const nameOf = (state: string): string => state.replace(/-\d.*$/, "");

function fileOf(state: string): SqliteFile {
  const file = files[nameOf(state)];
  if (!file) throw new Error(`There is no file ${nameOf(state)}.db`);
  return file;
}

/** A folder with a database of this earlier state. */
function copyOf(state: string): { folder: string; path: string; file: SqliteFile } {
  const name = nameOf(state);
  const file = fileOf(state);
  const folder = newFolder();
  const path = join(folder, `${name}.db`);
  using db = new Database(path, { create: true });
  db.run(readFileSync(join(earlierFiles, `${state}.sql`), "utf8"));
  return { folder, path, file };
}

type Row = Readonly<Record<string, unknown>>;

const tablesOf = (db: Database): string[] =>
  db
    .query<{ name: string }, []>("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1")
    .all()
    .map(({ name }) => name);

function rowsOf(path: string): Map<string, Row[]> {
  using db = new Database(path, { readonly: true });
  return new Map(
    tablesOf(db).map((name) => [name, db.query<Row, []>(`SELECT * FROM ${name}`).all()]),
  );
}

/** Columns, keys, indexes and options of every table. The SQL text differs after ALTER TABLE, so it is not compared. */
function schemaOf(path: string): unknown[] {
  using db = new Database(path, { readonly: true });
  return tablesOf(db).map((name) => ({
    options: db.query("SELECT * FROM pragma_table_list WHERE name = ?1").get(name),
    hasAutoincrement: db
      .query("SELECT sql LIKE '%AUTOINCREMENT%' AS it FROM sqlite_master WHERE name = ?1")
      .get(name),
    columns: db.query("SELECT * FROM pragma_table_xinfo(?1)").all(name),
    indexes: db
      .query<{ name: string }, [string]>(
        `SELECT list.name, "unique", origin, partial, sql FROM pragma_index_list(?1) AS list
         JOIN sqlite_master AS master ON master.name = list.name ORDER BY list.name`,
      )
      .all(name)
      .map((index) => [index, db.query("SELECT * FROM pragma_index_xinfo(?1)").all(index.name)]),
  }));
}

const states = readdirSync(earlierFiles)
  .filter((name) => name.endsWith(".sql"))
  .map((name) => name.slice(0, -".sql".length))
  .sort();
const numberOf = (state: string): number => Number(/-(\d+)/.exec(state)?.[1]);
const firstOf = (state: string): number =>
  Number.parseInt(fileOf(state).migrations[0]?.name ?? "", 10);
const isIncomplete = (state: string): boolean => state === "ledger-6-without-day-sums";
/** Cached vectors without a known age are deleted. */
const isEmptied = (state: string): boolean => state.startsWith("vectors-1");

const migrated = states.filter(
  (state) => numberOf(state) >= firstOf(state) && !isIncomplete(state) && !isEmptied(state),
);
const emptied = states.filter(isEmptied);
const refused = states.filter((state) => numberOf(state) < firstOf(state));

test("there is a file for every number before the current one, and for every migration before the newest", () => {
  for (const [name, { migrations }] of Object.entries(files)) {
    const found = states.filter((state) => state.startsWith(`${name}-`));
    const last = Number.parseInt(migrations.at(-1)?.name ?? "", 10);
    const numbers = Array.from({ length: last - 1 }, (_, at) => at + 1);
    expect(found.map(numberOf)).toEqual(expect.arrayContaining(numbers));
    const recorded = found.flatMap((state) =>
      (rowsOf(copyOf(state).path).get("schema_migrations") ?? []).map((row) => row.name),
    );
    const before = migrations.slice(0, -1).map((migration) => migration.name);
    expect(recorded).toEqual(expect.arrayContaining(before));
  }
});

/** Opens a copy of the state twice: the second opening changes nothing. The copy then has the schema of a new file. */
async function migrate(state: string) {
  const { folder, path, file } = copyOf(state);
  const before = rowsOf(path);
  for (let opening = 0; opening < 2; opening++) await file.open(folder).close();
  const fresh = newFolder();
  await file.open(fresh).close();
  expect(schemaOf(path)).toEqual(schemaOf(join(fresh, basename(path))));
  return { before, after: rowsOf(path), file };
}

test.each(migrated)(
  "%s is migrated to the schema of a new file, and keeps every row with its values",
  async (state) => {
    const { before, after, file } = await migrate(state);
    for (const [table, rows] of before) {
      // Migrations append rows of their own to `schema_migrations`, and columns to other tables.
      const kept = after.get(table)?.slice(0, rows.length) ?? [];
      expect(kept).toMatchObject(rows);
      if (table !== "schema_migrations") expect(after.get(table)).toHaveLength(rows.length);
    }
    const last = Number.parseInt(file.migrations.at(-1)?.name ?? "", 10);
    expect(after.get("schema_migrations")?.at(-1)).toMatchObject({ number: last });
  },
);

test.each(emptied)(
  "%s is migrated to the schema of a new file, without its rows",
  async (state) => {
    const { before, after } = await migrate(state);
    expect(before.get("vectors")).toHaveLength(2);
    expect(after.get("vectors")).toEqual([]);
    expect(after.get("schema_migrations")).toMatchObject(
      vectorMigrations.map(({ name }) => ({ name })),
    );
  },
);

test("every file of the gateway has numbered migrations, and no state is of another file", () => {
  const folder = join(import.meta.dir, "../../server/storage/sqlite/migrations");
  expect(readdirSync(folder)).toHaveLength(Object.keys(files).length);
  for (const state of states) expect(Object.keys(files)).toContain(nameOf(state));
});

test.each(refused)(
  "%s is refused unchanged, and the message names the file, its number and the fix",
  (state) => {
    const { folder, path, file } = copyOf(state);
    const before = [rowsOf(path), schemaOf(path)];
    expect(() => file.open(folder)).toThrow(
      `${path} cannot be opened: it has no schema that this version of Vexel reads: an earlier state of Vexel, before its first release, or another program has written it (schema ${numberOf(state)}, and the first that is read is ${firstOf(state)}). Move it away to start with an empty one`,
    );
    expect([rowsOf(path), schemaOf(path)]).toEqual(before);
  },
);

test("a ledger that lacks a table is refused unchanged, and the message names the file, the table and the fix", () => {
  const { folder, path, file } = copyOf("ledger-6-without-day-sums");
  const before = [rowsOf(path), schemaOf(path)];
  expect(() => file.open(folder)).toThrow(
    `${path} cannot be opened: its tables are not those of this version of Vexel (no such table: usage_by_day_without_key). Restore a copy of it, or move it away to start with an empty one.`,
  );
  expect([rowsOf(path), schemaOf(path)]).toEqual(before);
});

const of = (name: string): string[] => migrated.filter((state) => state.startsWith(`${name}-`));
const page = { limit: 10 };

test.each(of("vexel"))(
  "the stores read the keys, entities, users and audit log of %s",
  async (state) => {
    const db = new SqliteDatabase(openGatewayFile(copyOf(state).folder, () => 1));
    const keys = createKeyStore(db);
    const isUpgraded = state.endsWith("-upgraded");
    const settings = { project: "web", expiresAt: 1_900_000_000_000 };
    expect(
      (await keys.list(page)).entries.toSorted((a, b) => a.createdAt - b.createdAt),
    ).toMatchObject([
      {
        id: "key_0000000000000001",
        name: "ci-1",
        models: ["text-embedding-3-small", "gpt-image-1"],
        revokedAt: null,
        // Keys of the first state have no settings.
        ...(isUpgraded ? {} : settings),
      },
      {
        id: "key_0000000000000002",
        name: "größer – 大",
        models: ["*"],
        revokedAt: 1_794_817_260_000,
      },
      ...(isUpgraded ? [{ id: "key_0000000000000003", ...settings }] : []),
    ]);
    expect(await keys.revision()).toBe(3);
    expect((await keys.changesSince(2, 10)).changes).toHaveLength(1);
    expect((await createConfigEntityStore(db).list(page)).entries).toMatchObject([
      { kind: "model", id: "small", version: 2 },
      { kind: "upstream", id: "openai", value: { provider: "openai" }, version: 1 },
    ]);
    expect(await createUserStore(db).findByName("ADA")).toMatchObject({
      id: "user_1",
      role: "admin",
    });
    expect((await createAuditLog(db).list({}, page)).entries).toMatchObject([
      { id: "audit_1", actor: "Ada", before: null, after: { name: "ci-1" } },
    ]);
    await keys.close();
  },
);

test.each(of("events"))("the event store reads the events and deliveries of %s", async (state) => {
  const db = new SqliteDatabase(openEventFile(copyOf(state).folder));
  const listed = (await createEventStore(db).list({ limit: 2 })) ?? [];
  expect(
    listed.map(({ type, deliveries }) => [type, deliveries.map((each) => each.state)]),
  ).toEqual([
    ["target.drifted", ["waiting"]],
    ["key.created", ["delivered", "abandoned"]],
  ]);
  await db.close();
});

test.each(of("ledger"))(
  "the ledger store reads the rows, spend and usage of %s, and adds to them",
  async (state) => {
    const { folder, path } = copyOf(state);
    const [spent, count] = state.endsWith("-upgraded") ? [2.25, 12] : [0.75, 3];
    const store = new SqliteLedgerStore({ folder, maxBytes: 0 });
    const owner = { scope: "key", id: "key_0000000000000001" } as const;
    expect(store.sumSpent(owner, "total")).toBe(spent);
    expect(store.oldest(100)).toHaveLength(count);
    expect(store.oldest(100).at(-1)).toMatchObject({ images: 1, latencyMs: 70_000, inputs: null });
    const at = Date.UTC(2026, 11, 1);
    await store.append([ledgerRow(at, { keyId: owner.id, cost: 0.5 })]);
    expect(store.sumSpent(owner, "total")).toBe(spent + 0.5);
    await store.close();
    using db = new Database(path, { readonly: true });
    for (const groupBy of [[], ["keyId"], ["model"]] as const) {
      const { groups } = readUsage(db, {
        from: Date.UTC(2026, 10, 1),
        to: Date.UTC(2027, 0, 1),
        interval: "total",
        groupBy,
        limit: 10,
      });
      expect(groups.reduce((sum, { requests }) => sum + requests, 0)).toBe(count + 1);
    }
  },
);

test.each(of("vectors"))(
  "the embedding cache reads the vectors of %s, and adds to them",
  async (state) => {
    const { folder, path } = copyOf(state);
    const keyOf = (number: number): string => Bun.SHA256.hash(`text ${number}`, "base64");
    const load = async (cache: EmbeddingCacheFile) => {
      const loaded: [string, number[], number | undefined, number][] = [];
      await cache.load((key, vector, tokens, madeAt) => {
        loaded.push([key, [...vector], tokens, madeAt]);
        return true;
      });
      return loaded.toSorted(([, [a = 0]], [, [b = 0]]) => a - b);
    };
    const expected = [
      [keyOf(1), [1, 1.125, 1.25, 1.375], 7, 1_794_817_200_000],
      [keyOf(2), [2, 2.125, 2.25, 2.375], undefined, 1_794_817_200_000],
    ];
    const cache = openVectors(folder);
    expect<unknown>(await load(cache)).toEqual(expected);
    cache.add(keyOf(3), { vector: Float32Array.of(3), tokens: 1 });
    await cache.close();
    const again = openVectors(folder);
    expect<unknown>(await load(again)).toEqual([...expected, [keyOf(3), [3], 1, 1]]);
    await again.close();
    using db = new Database(path, { readonly: true });
    expect(db.query("PRAGMA auto_vacuum").get()).toEqual({ auto_vacuum: 2 });
  },
);

test.each(of("last-known"))("the copy of the configuration reads %s, and is replaced", (state) => {
  const { folder } = copyOf(state);
  const copy = new LastKnownConfig(folder, () => 1);
  expect([copy.revision("keys"), copy.revision("config")]).toEqual([3, 2]);
  const keys = copy.keys();
  expect(keys).toMatchObject([
    { id: "key_0000000000000001", name: "ci-1", project: "web", revokedAt: null },
    { id: "key_0000000000000002", name: "größer – 大", revokedAt: 1_794_817_260_000 },
  ]);
  expect(copy.entities()).toMatchObject([
    { kind: "model", id: "small", version: 2 },
    { kind: "upstream", id: "openai", value: { provider: "openai" } },
  ]);
  copy.saveKeys([{ ...keys[0]!, name: "renamed" }], 4);
  copy.saveEntities([], 3);
  copy.close();
  const again = new LastKnownConfig(folder, () => 1);
  expect([again.revision("keys"), again.revision("config")]).toEqual([4, 3]);
  expect(again.keys()).toMatchObject([{ name: "renamed" }, { name: "größer – 大" }]);
  expect(again.entities()).toEqual([]);
  again.close();
});
