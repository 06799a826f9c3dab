/** Rows are moved from the outbox to the store in groups, and requests are served between two of them. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Accounts } from "../../server/ledger/accounts.ts";
import { Ledger } from "../../server/ledger/ledger.ts";
import { OutboxFile, rowsRecord } from "../../server/storage/files/outbox.ts";
import { OutboxRecovery } from "../../server/storage/files/outbox-recovery.ts";
import type { LedgerRow } from "../../server/storage/ports/ledger-row.ts";
import { SqliteLedgerStore } from "../../server/storage/sqlite/ledger-store.ts";
import { temporaryFolder } from "../harness.ts";
import { until } from "../until.ts";
import { ledgerRow } from "./ledger-fixture.ts";

const rows = Array.from({ length: 1200 }, (_, at) => ledgerRow(at));

/** A store like SQLite's: its promises settle without a turn of the event loop. Counts the turns before each group. */
function countTurns() {
  let turn = 0;
  const count = (): void => {
    turn++;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  const turns: number[] = [];
  const stored: LedgerRow[] = [];
  return {
    turns,
    stored,
    append: async (group: readonly LedgerRow[]) => {
      turns.push(turn);
      stored.push(...group);
      return [];
    },
    [Symbol.dispose]: () => {
      clearImmediate(next);
    },
  };
}

const openOutbox = (folder: string) =>
  new OutboxFile({ folder, id: "a", onError: () => undefined });

test("a backlog is stored in several turns of the event loop", async () => {
  using folder = temporaryFolder();
  using store = countTurns();
  const outbox = openOutbox(folder.path);
  outbox.append(rows);
  const ledger = new Ledger({ store, outbox, onError: "refuse", report: () => undefined });
  await ledger.settle(ledgerRow(5000));
  await until(() => store.stored.length === 1201);
  expect(new Set(store.turns).size).toBe(3);
  await ledger.close();
  outbox.close();
});

test("the outbox of an earlier process is recovered in several turns, and later rows are stored after it", async () => {
  using folder = temporaryFolder();
  using store = countTurns();
  writeFileSync(join(folder.path, "outbox-999999999-a.log"), rowsRecord(rows));
  const recovery = new OutboxRecovery(folder.path, store);
  const outbox = openOutbox(folder.path);
  const ledger = new Ledger({
    store,
    outbox,
    recovery,
    onError: "refuse",
    report: () => undefined,
  });
  const late = ledgerRow(5000);
  await ledger.settle(late);
  await until(() => store.stored.at(-1) === late);
  expect(store.stored).toHaveLength(1201);
  expect(new Set(store.turns.slice(0, 3)).size).toBe(3);
  await ledger.close();
  outbox.close();
});

test("a cost counts once if the ledger's file was away after a write, and is there again", async () => {
  using folder = temporaryFolder();
  const store = new SqliteLedgerStore({ folder: folder.path, maxBytes: 0 });
  const accounts = new Accounts({ readSpent: (key) => store.readSpent(key), clock: () => 0 });
  const outbox = openOutbox(folder.path);
  let writes = 0;
  const ledger = new Ledger({
    store: {
      append: (group) => {
        writes++;
        return store.append(group);
      },
    },
    outbox,
    onEnded: (row) => accounts.end(row),
    onStored: (group, sums) => accounts.store(group, sums),
    verify: () => {
      if (writes === 1 && outbox.rows.length > 0) {
        writes++;
        throw new Error("the file was removed");
      }
    },
    onError: "refuse",
    report: () => undefined,
    groupMs: 1,
    retryMs: 1,
  });
  const account = accounts.of({ scope: "key", id: "file:ci", period: "total" });
  await ledger.settle(ledgerRow(0, { cost: 0.5 }));
  await until(() => ledger.pendingCount === 0 && ledger.writable);
  expect(writes).toBe(3);
  expect([account.spent, account.ended, account.used]).toEqual([5e8, 0, 5e8]);
  await ledger.close();
  outbox.close();
  await store.close();
});
