/** The roll-ups of SQLite are made in small steps. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { SqliteLedgerStore } from "../../server/storage/sqlite/ledger-store.ts";
import { readUsage } from "../../server/storage/sqlite/read-ledger.ts";
import { temporaryFolder } from "../harness.ts";
import { ledgerRow } from "../ledger/ledger-fixture.ts";

test("an hour of 1,000 keys is added up in steps of 256, and usage by key is exact after each", async () => {
  using folder = temporaryFolder();
  const store = new SqliteLedgerStore({ folder: folder.path, maxBytes: 0 });
  using db = new Database(store.path, { readonly: true, strict: true });
  const hour = 3_600_000;
  const start = Date.UTC(2026, 10, 2);
  const keys = Array.from({ length: 1000 }, (_, at) => `key_${String(at).padStart(4, "0")}`);
  const rowsAt = (at: number, ids: readonly string[]) =>
    ids.map((keyId, index) => ledgerRow(at + index, { keyId, cost: 1 }));
  const addedUp = (): number =>
    Number(db.query<{ n: number }, []>("SELECT count(*) AS n FROM usage_by_key").get()?.n);
  store.write(rowsAt(start, keys));
  expect(addedUp()).toBe(0);
  const steps: number[] = [];
  for (let step = 1; step <= 5; step++) {
    // A row of the new hour, and late rows of keys that are added up already, and are not yet.
    store.write([
      ...rowsAt(start + hour + step, ["key_0000"]),
      ...rowsAt(start + hour - step, ["key_0003", "key_0999"]),
    ]);
    steps.push(addedUp());
    const total = { from: start, to: start + 48 * hour, interval: "total", limit: 5000 } as const;
    const { groups } = readUsage(db, { ...total, groupBy: ["keyId"] });
    expect(groups.reduce((sum, { cost }) => sum + cost, 0)).toBe(1000 + 3 * step);
    const of = (id: string) => groups.find(({ keyId }) => keyId === id)?.requests;
    expect([of("key_0003"), of("key_0999"), of("key_0500")]).toEqual([1 + step, 1 + step, 1]);
  }
  expect(steps).toEqual([256, 512, 768, 1000, 1000]);
  await store.close();
});
