/** The sums of SQLite follow its rows. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { SqliteLedgerStore } from "../../server/storage/sqlite/ledger-store.ts";
import { temporaryFolder } from "../harness.ts";
import { ledgerRow } from "../ledger/ledger-fixture.ts";
import { rowsOf, spentIn } from "../ledger/stored-rows.ts";

test("a transaction that fails stores neither rows nor sums, and returns none", async () => {
  using folder = temporaryFolder();
  const store = new SqliteLedgerStore({ folder: folder.path, maxBytes: 0 });
  store.write([ledgerRow(1000, { cost: 1 })]);
  using db = new Database(store.path);
  db.run(
    "CREATE TRIGGER fail BEFORE INSERT ON ledger WHEN NEW.key_id = 'key_3' BEGIN SELECT raise(ABORT, 'no'); END",
  );
  const rows = [ledgerRow(2000, { cost: 2 }), ledgerRow(3000, { keyId: "key_3", cost: 4 })];
  await expect(store.append(rows)).rejects.toThrow("no");
  expect(rowsOf(store)).toHaveLength(1);
  expect(spentIn(store, { scope: "key", id: "file:ci" }, "total")).toBe(1);
  await store.close();
});
