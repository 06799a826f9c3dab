/** The roll-ups and sums of SQLite are pruned in small steps, and no read scans the rows. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { periodNames } from "../../contract/budget-periods.ts";
import type { BudgetOwner } from "../../contract/limits-and-budgets.ts";
import type { LedgerRow } from "../../server/storage/ports/ledger-row.ts";
import { chargedTo, sumDollars } from "../../server/storage/sql/spend-tally.ts";
import { SqliteLedgerStore } from "../../server/storage/sqlite/ledger-store.ts";
import { temporaryFolder } from "../harness.ts";
import { ledgerRow } from "../ledger/ledger-fixture.ts";

test("the sums of unforwarded rows follow writes, removals and pruning, and examine no rows", async () => {
  using folder = temporaryFolder();
  const store = new SqliteLedgerStore({ folder: folder.path, maxBytes: 0 });
  const day = 86_400_000;
  const start = Date.UTC(2026, 9, 28);
  const rowAt = (at: number, index: number) =>
    ledgerRow(at, {
      keyId: `key_${index % 3}`,
      project: index % 2 === 0 ? "p" : null,
      cost: index % 5 === 0 ? null : index / 8,
      estimatedCost: index % 7 === 0 ? index / 16 : null,
    });
  const rows = Array.from({ length: 120 }, (_, index) =>
    rowAt(start + (index % 10) * day + index, index),
  ).sort((a, b) => a.at - b.at);
  store.write(rows.slice(0, 50));
  const sums = store.sumUnforwarded();
  const owners: BudgetOwner[] = [
    ...[0, 1, 2, 3].map((index) => ({ scope: "key", id: `key_${index}` }) as const),
    { scope: "project", id: "p" },
  ];
  const days = Array.from({ length: 11 }, (_, at) => periodNames(start + at * day).day);
  const expectSumsOf = (stored: readonly LedgerRow[]): void => {
    expect(sums.rows).toBe(stored.length);
    for (const owner of owners) {
      for (const period of [...days, "2026-10", "2026-11", "total"]) {
        const expected = sumDollars(chargedTo(owner, period, stored));
        expect(sums.read(owner, period), `${owner.id} ${period}`).toBeCloseTo(expected, 9);
      }
    }
  };
  expectSumsOf(rows.slice(0, 50));
  store.write(rows.slice(40));
  expectSumsOf(rows);
  const forwarded = rows.slice(0, 30).map(({ requestId }) => requestId);
  store.remove(forwarded);
  // An acknowledgment may arrive twice.
  store.remove(forwarded);
  expectSumsOf(rows.slice(30));
  while (await store.prune(rows[60]!.at, 7));
  expectSumsOf(rows.slice(60));
  using db = new Database(store.path);
  db.run(
    "CREATE TRIGGER fail BEFORE INSERT ON ledger WHEN NEW.key_id = 'key_3' BEGIN SELECT raise(ABORT, 'no'); END",
  );
  expect(() => store.write([rowAt(start, 1), ledgerRow(start, { keyId: "key_3" })])).toThrow("no");
  expectSumsOf(rows.slice(60));
  await store.close();
  // Readable without the file: a read is no scan.
  expectSumsOf(rows.slice(60));
});
