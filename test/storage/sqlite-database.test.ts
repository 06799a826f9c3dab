/** The SQLite driver of the stores: transactions are isolated, and locks of other processes do not block the thread. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { openDatabase } from "../../server/storage/sqlite/open-database.ts";
import { SqliteDatabase } from "../../server/storage/sqlite/sqlite-database.ts";
import { temporaryFolder } from "../harness.ts";

async function withDatabase(
  work: (db: SqliteDatabase, path: string) => Promise<void>,
): Promise<void> {
  using folder = temporaryFolder();
  const path = join(folder.path, "a.db");
  const migrations = [{ name: "0001-t", statements: ["CREATE TABLE t (value INTEGER UNIQUE)"] }];
  const db = new SqliteDatabase(openDatabase({ path, busyMs: 50, migrations }));
  await work(db, path);
  await db.close();
}

const valuesIn = async (db: SqliteDatabase) =>
  (await db.query<{ value: number }>("SELECT value FROM vexel.t ORDER BY value")).rows.map(
    ({ value }) => value,
  );

test("a write beside a transaction that is rolled back is kept, and the transaction leaves nothing", () =>
  withDatabase(async (db) => {
    const failing = db.transaction(async ({ query }) => {
      await query("INSERT INTO vexel.t VALUES ($1)", [1]);
      await Bun.sleep(1);
      throw new Error("rolled back");
    });
    const write = db.query("INSERT INTO vexel.t VALUES ($1)", [2]);
    expect(failing).rejects.toThrow("rolled back");
    expect(await write).toEqual({ rows: [], count: 1 });
    expect(await valuesIn(db)).toEqual([2]);
  }));

test("a write waits for the lock of another process, and the thread goes on meanwhile", () =>
  withDatabase(async (db, path) => {
    // SQLite itself does not wait, which would block the thread.
    expect((await db.query("PRAGMA busy_timeout")).rows).toEqual([{ timeout: 0 }]);
    using other = new Database(path);
    other.run("BEGIN IMMEDIATE");
    const writes = [
      db.query("INSERT INTO vexel.t VALUES ($1)", [1]),
      db.transaction(({ query }) => query("INSERT INTO vexel.t VALUES ($1)", [2])),
    ];
    setTimeout(() => other.run("COMMIT"), 20);
    await Promise.all(writes);
    expect(await valuesIn(db)).toEqual([1, 2]);
  }));

test("placeholders are numbered, and may repeat in any order", () =>
  withDatabase(async (db) => {
    const { rows } = await db.query("SELECT $2 AS b, $1 AS a, $2 AS again", [1, 2]);
    expect(rows).toEqual([{ b: 2, a: 1, again: 2 }]);
  }));
