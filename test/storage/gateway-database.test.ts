/** `vexel.db` of earlier versions: its keys work, and are numbered in the order of their creation. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { openKeyStore } from "../../server/storage/sqlite/gateway-database.ts";
import { temporaryFolder } from "../harness.ts";

const columns = `
  id TEXT PRIMARY KEY, name TEXT NOT NULL, hash TEXT NOT NULL UNIQUE, hint TEXT NOT NULL,
  models TEXT NOT NULL, created_at INTEGER NOT NULL, revoked_at INTEGER`;

/** The schemas that earlier versions wrote, oldest first. */
const earlier = {
  "without settings": columns,
  "with settings": `${columns}, settings TEXT`,
};

for (const [name, schema] of Object.entries(earlier)) {
  test(`a file ${name} is migrated, and keeps its keys`, async () => {
    using folder = temporaryFolder();
    const db = new Database(join(folder.path, "vexel.db"), { create: true });
    db.run(`CREATE TABLE keys (${schema})`);
    const insert = db.prepare(
      "INSERT INTO keys (id, name, hash, hint, models, created_at, revoked_at) VALUES (?,?,?,?,?,?,?)",
    );
    insert.run("b", "second", "h2", "sk-vx-2", '["*"]', 2, 5);
    insert.run("a", "first", "h1", "sk-vx-1", '["text-*"]', 1, null);
    db.close();

    const store = openKeyStore(folder.path, Date.now);
    const { changes, revision } = await store.changesSince(0, 10);
    expect(changes.map(({ key, isNew }) => [key.id, key.models, key.revokedAt, isNew])).toEqual([
      ["a", ["text-*"], null, true],
      ["b", ["*"], 5, true],
    ]);
    expect(revision).toBe(2);
    expect(await store.revoke("a", 9)).toBe(true);
    expect(await store.revision()).toBe(3);
    await store.close();
  });
}

test("a file that is not a database is refused with its name and the fix", async () => {
  using folder = temporaryFolder();
  await Bun.write(join(folder.path, "vexel.db"), "no database at all, but long enough".repeat(100));
  expect(() => openKeyStore(folder.path, Date.now)).toThrow("is damaged or not a database");
});
