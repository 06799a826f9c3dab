/** Rows are moved from the outbox to the store in groups, and requests are served between two of them. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Ledger } from "../../server/ledger/ledger.ts";
import { OutboxFile, rowsRecord } from "../../server/storage/files/outbox.ts";
import { OutboxRecovery } from "../../server/storage/files/outbox-recovery.ts";
import type { LedgerRow } from "../../server/storage/ports/ledger-row.ts";
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
