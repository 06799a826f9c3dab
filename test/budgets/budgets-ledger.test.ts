/** Budget sums in the ledger outlive the process, the pruned rows, and a kill at any time. */
import { describe, expect, test } from "bun:test";
import type { BudgetOwner } from "../../contract/limits-and-budgets.ts";
import { OutboxRecovery } from "../../server/storage/files/outbox-recovery.ts";
import { SqliteLedgerStore } from "../../server/storage/sqlite/ledger-store.ts";
import { temporaryFolder } from "../harness.ts";
import { ledgerRow } from "../ledger/ledger-fixture.ts";
import { rowsOf, spentIn } from "../ledger/stored-rows.ts";
import { dayMs, noon } from "./budgets-fixture.ts";

const ci: BudgetOwner = { scope: "key", id: "file:ci" };
const web: BudgetOwner = { scope: "project", id: "web" };
const open = (folder: string) => new SqliteLedgerStore({ folder, maxBytes: 0 });
const sums = (file: SqliteLedgerStore, owner: BudgetOwner, at = noon): number[] => {
  const day = new Date(at).toISOString().slice(0, 10);
  return [day, day.slice(0, 7), "total"].map((period) => spentIn(file, owner, period));
};

test("costs are summed by key and project, and by day, month and in total", () => {
  using folder = temporaryFolder();
  const file = open(folder.path);
  const lastMonth = noon - 20 * dayMs;
  file.write([
    ledgerRow(noon, { cost: 0.5 }),
    ledgerRow(noon, { cost: 0.25, project: "web" }),
    ledgerRow(noon - dayMs, { cost: 1, project: "web" }),
    ledgerRow(lastMonth, { cost: 2 }),
    ledgerRow(noon, { cost: 4, keyId: "key_other", project: "web" }),
  ]);
  expect(sums(file, ci)).toEqual([0.75, 1.75, 3.75]);
  expect(sums(file, web)).toEqual([4.25, 5.25, 5.25]);
  expect(sums(file, ci, lastMonth)).toEqual([2, 2, 3.75]);
  expect(sums(file, { scope: "key", id: "web" })).toEqual([0, 0, 0]);
  file.close();
});

test("the estimate of a request with unknown cost counts, and the cost stays unknown", () => {
  using folder = temporaryFolder();
  const file = open(folder.path);
  file.write([
    ledgerRow(noon, { cost: null, estimatedCost: 0.125 }),
    ledgerRow(noon, { cost: null }),
    ledgerRow(noon, { cost: 0 }),
  ]);
  expect(sums(file, ci)).toEqual([0.125, 0.125, 0.125]);
  expect(rowsOf(file).map(({ cost }) => cost)).toContain(null);
  file.close();
});

test("an estimate beside a known cost counts as well", () => {
  using folder = temporaryFolder();
  const file = open(folder.path);
  file.write([ledgerRow(noon, { cost: 0.5, estimatedCost: 0.25 })]);
  expect(sums(file, ci)).toEqual([0.75, 0.75, 0.75]);
  file.close();
});

test("the sums survive a restart and the pruning of rows", async () => {
  using folder = temporaryFolder();
  const first = open(folder.path);
  first.write(Array.from({ length: 100 }, (_, day) => ledgerRow(noon - day * dayMs, { cost: 1 })));
  const before = sums(first, ci);
  expect(before).toEqual([1, 15, 100]);
  expect(await first.prune(noon - dayMs, 1000)).toBe(false);
  first.close();
  const second = open(folder.path);
  expect(rowsOf(second)).toHaveLength(2);
  expect(sums(second, ci)).toEqual(before);
  // Daily sums of long ago are pruned; monthly sums and the total stay.
  expect(sums(second, ci, noon - 99 * dayMs)).toEqual([0, expect.any(Number), 100]);
  second.close();
});

test("a row that is written again from a journal counts once", () => {
  using folder = temporaryFolder();
  const file = open(folder.path);
  const rows = [ledgerRow(noon, { cost: 1, project: "web" }), ledgerRow(noon, { cost: 2 })];
  file.write(rows);
  // As after a crash between the commit and the truncation of the journal.
  file.write([...rows, ledgerRow(noon, { cost: 4 })]);
  expect(sums(file, ci)).toEqual([7, 7, 7]);
  expect(sums(file, web)).toEqual([1, 1, 1]);
  expect(rowsOf(file)).toHaveLength(3);
  file.close();
});

test("a transaction that fails adds nothing to the sums", () => {
  using folder = temporaryFolder();
  const file = open(folder.path);
  const bad = { ...ledgerRow(noon, { cost: 2 }), endpoint: null as unknown as string };
  expect(() => file.write([ledgerRow(noon, { cost: 1 }), bad])).toThrow("NOT NULL");
  expect(sums(file, ci)).toEqual([0, 0, 0]);
  expect(rowsOf(file)).toEqual([]);
  file.close();
});

describe("after a kill at any time", () => {
  const script = (folder: string) => `
    import { createBudgets } from "${import.meta.dir}/../../server/budgets/budgets.ts";
    import { OwnerBudgets } from "${import.meta.dir}/../../server/budgets/owner-budgets.ts";
    import { Accounts } from "${import.meta.dir}/../../server/ledger/accounts.ts";
    import { Ledger } from "${import.meta.dir}/../../server/ledger/ledger.ts";
    import { SqliteLedgerStore } from "${import.meta.dir}/../../server/storage/sqlite/ledger-store.ts";
    import { OutboxFile } from "${import.meta.dir}/../../server/storage/files/outbox.ts";
    import { budgeted, noon, reserveIn } from "${import.meta.dir}/budgets-fixture.ts";
    import { ledgerRow } from "${import.meta.dir}/../ledger/ledger-fixture.ts";
    const folder = ${JSON.stringify(folder)};
    const store = new SqliteLedgerStore({ folder, maxBytes: 0 });
    const outbox = new OutboxFile({ folder, id: "a", onError: console.error });
    const accounts = new Accounts({ readSpent: (key) => store.readSpent(key), clock: () => 0 });
    const ledger = new Ledger({
      store,
      onEnded: (row) => accounts.end(row),
      onStored: (rows, sums) => accounts.store(rows, sums),
      outbox, onError: "refuse", report: () => undefined, groupMs: 1, groupRows: 7,
    });
    const budgets = createBudgets({ owners: new OwnerBudgets({ accounts }), emit: () => undefined });
    const key = budgeted({ total: 1e9 }, "key", "file:ci");
    for (let request = 1; ; request++) {
      reserveIn(budgets, [key], { dollars: 0.5, isCertain: true }, noon).release();
      await ledger.settle({ ...ledgerRow(noon, { cost: 0.25, project: "web" }), requestId: process.pid + "-" + request });
      process.stdout.write(request + "\\n");
      if (request % 10 === 0) await Bun.sleep(0);
    }`;

  test("every settled request counts once, and the sums match the rows", async () => {
    using folder = temporaryFolder();
    let settled = 0;
    for (let round = 0; round < 4; round++) {
      const child = Bun.spawn([process.execPath, "-e", script(folder.path)], {
        stdout: "pipe",
        stderr: "inherit",
      });
      let text = "";
      const reading = (async () => {
        const decoder = new TextDecoder();
        for await (const chunk of child.stdout) text += decoder.decode(chunk, { stream: true });
      })();
      while (!text.includes("\n50\n")) await Bun.sleep(1);
      await Bun.sleep(Math.random() * 20);
      child.kill("SIGKILL");
      await Promise.all([child.exited, reading]);
      settled += Number(text.slice(0, text.lastIndexOf("\n")).split("\n").at(-1));

      const file = open(folder.path);
      const recovery = new OutboxRecovery(folder.path, file);
      // As if this process also crashed, before it could remove the recovered outbox.
      file.write(recovery.rows);
      await recovery.recover();
      const rowCount = rowsOf(file).length;
      expect(rowCount).toBeGreaterThanOrEqual(settled);
      expect(sums(file, ci)).toEqual([rowCount / 4, rowCount / 4, rowCount / 4]);
      expect(sums(file, web)).toEqual(sums(file, ci));
      file.close();
    }
  });
});
