/** A data folder or ledger that cannot be used ends the start with a clear line; an earlier schema is migrated. */
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SqliteLedgerStore } from "../../server/storage/sqlite/ledger-store.ts";
import { readLedger, temporaryFolder } from "../harness.ts";
import { derivedTables } from "./derived-tables.ts";
import { failedStart } from "./unwritable-ledger-fixture.ts";

/** A new ledger without the record of its migrations, as earlier gateways created it. */
function createUnversionedLedger(folder: string): Database {
  new SqliteLedgerStore({ folder, maxBytes: 0 }).close();
  const database = new Database(join(folder, "ledger.db"));
  for (const table of ["schema_migrations", ...derivedTables]) database.run(`DROP TABLE ${table}`);
  for (const column of ["inputs", "timeline"])
    database.run(`ALTER TABLE ledger DROP COLUMN ${column}`);
  return database;
}

describe("an unusable data folder ends the start with exit code 1 and one clear line", () => {
  const expectStartError = ({
    code,
    out,
    err,
  }: Awaited<ReturnType<typeof failedStart>>): string => {
    expect({ code, out }, err).toEqual({ code: 1, out: "" });
    expect(err.trim().split("\n")).toHaveLength(1);
    expect(err).not.toContain("    at ");
    return err;
  };

  test.each([
    ["that is a file", (folder: string) => join(folder, "file")],
    ["below a file", (folder: string) => join(folder, "file", "data")],
    ["where no folder can be created", () => "/proc/nope"],
  ])("%s", async (_, pathIn) => {
    using folder = temporaryFolder();
    writeFileSync(join(folder.path, "file"), "not a folder");
    const data = pathIn(folder.path);
    const err = expectStartError(await failedStart(data, folder.path));
    expect(err).toStartWith(`The folder ${data} (VEXEL_DATA) cannot be used: `);
  });

  test.each([
    ["ledger.db", 10],
    ["ledger.db", 60_000],
    ["vexel.db", 60_000],
  ])("with a %s of %d bytes of garbage, which is not modified", async (name, size) => {
    using folder = temporaryFolder();
    const garbage = crypto.getRandomValues(new Uint8Array(size));
    const path = join(folder.path, name);
    writeFileSync(path, garbage);
    const err = expectStartError(await failedStart(folder.path, folder.path));
    expect(err).toContain(path);
    expect(err).toContain("damaged or not a database");
    expect(err).toContain("move it away");
    expect(readFileSync(path).equals(Buffer.from(garbage))).toBe(true);
  });

  test("with a ledger of another schema, which is not modified", async () => {
    using folder = temporaryFolder();
    const path = join(folder.path, "ledger.db");
    const other = new Database(path, { create: true });
    other.run("CREATE TABLE ledger (something TEXT)");
    other.run("INSERT INTO ledger VALUES ('precious')");
    other.close();
    const err = expectStartError(await failedStart(folder.path, folder.path));
    expect(err).toContain(path);
    const again = new Database(path);
    expect(again.query("SELECT * FROM ledger").all()).toEqual([{ something: "precious" }]);
    again.close();
  });

  test("a ledger of the first version is migrated and gets the new columns", async () => {
    using folder = temporaryFolder();
    const old = createUnversionedLedger(folder.path);
    for (const column of [
      "cached_inputs",
      "upstream_tokens",
      "cost",
      "steps",
      "project",
      "estimated_cost",
    ])
      old.run(`ALTER TABLE ledger DROP COLUMN ${column}`);
    old.run(
      "INSERT INTO ledger VALUES ('precious', 0, 'x', 'x', '', '', '', 0, 0, '', 0, 0, 0, 0, 0, 0)",
    );
    old.close();
    expect(readLedger(folder.path)).toEqual([
      expect.objectContaining({ requestId: "precious", cachedInputs: null, upstreamTokens: null }),
    ]);
  });

  test("a ledger with the earlier column names is migrated and keeps every value", async () => {
    using folder = temporaryFolder();
    const old = createUnversionedLedger(folder.path);
    for (const [now, before] of [
      ["error", "fault"],
      ["cached_inputs", "known_inputs"],
      ["estimated_cost", "estimate"],
    ])
      old.run(`ALTER TABLE ledger RENAME COLUMN ${now} TO ${before}`);
    old.run(
      `INSERT INTO ledger (request_id, at, endpoint, key_id, attempts, status, latency_ms, bytes_in, bytes_out,
         fault, known_inputs, estimate)
       VALUES ('precious', 0, 'embeddings', 'k', 1, 504, 1, 2, 3, 'upstream_timeout', 7, 0.25)`,
    );
    old.close();
    expect(readLedger(folder.path)).toEqual([
      expect.objectContaining({
        requestId: "precious",
        error: "upstream_timeout",
        cachedInputs: 7,
        estimatedCost: 0.25,
      }),
    ]);
  });

  test("with a ledger that is a folder", async () => {
    using folder = temporaryFolder();
    mkdirSync(join(folder.path, "ledger.db"));
    const err = expectStartError(await failedStart(folder.path, folder.path));
    expect(err).toContain(join(folder.path, "ledger.db"));
  });
});
