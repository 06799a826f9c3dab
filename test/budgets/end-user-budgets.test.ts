/** Budgets of end users and tags whose sums are in a database: they are read before a request needs them. */
import { expect, test } from "bun:test";
import type { BudgetedOwner } from "../../contract/limits-and-budgets.ts";
import { BudgetCounters } from "../../server/budgets/budget-counters.ts";
import { createBudgets } from "../../server/budgets/budgets.ts";
import { Spend } from "../../server/ledger/spend.ts";
import { toNanos } from "../../server/lib/nano-dollars.ts";
import { budgeted, certain, noon, refusal, withRow } from "./budgets-fixture.ts";

function createLoadedBudgets(stored: Readonly<Record<string, number>>) {
  const loads: string[][] = [];
  const spend = new Spend({
    readSpent: ({ scope }) => (scope === "key" || scope === "project" ? 0 : undefined),
    clock: () => 0,
  });
  const counters = new BudgetCounters({
    spend,
    loadEndUsersAndTags: async (owners) => {
      const names = owners.map(({ scope, id, period }) => `${scope} ${id} ${period}`);
      loads.push(names);
      spend.raise(
        owners.map(({ scope, id, period }, at) => {
          const nanos = toNanos(stored[names[at] as string] ?? 0);
          return { scope, id, period, nanos };
        }),
      );
    },
  });
  const budgets = createBudgets({ counters, emit: () => undefined });
  const reserve = async (owners: readonly BudgetedOwner[], dollars: number) => {
    await budgets.load(owners, noon);
    const reservation = budgets.reserve(owners, certain(dollars), noon);
    return withRow(reservation, spend, owners, noon);
  };
  return { budgets, loads, reserve, spend };
}

const user = budgeted({ day: 1, month: 5 }, "end_user", "shop\teu_1");

test("the sums of an end user are read once, and what was spent before counts", async () => {
  const { budgets, loads, reserve } = createLoadedBudgets({
    "end_user shop\teu_1 2026-11": 4.5,
  });
  (await reserve([user], 0.25)).settle(0.25);
  expect(loads).toEqual([["end_user shop\teu_1 2026-11-15", "end_user shop\teu_1 2026-11"]]);
  (await reserve([user], 0.25)).settle(0.25);
  expect(budgets.load([user], noon)).toBeUndefined();
  expect(loads).toHaveLength(1);
  expect(refusal(() => budgets.reserve([user], certain(0.25), noon)).message).toContain(
    "the monthly budget of the end user",
  );
});

test("a sum that has not been needed for a minute is read again", async () => {
  const { loads, reserve, spend } = createLoadedBudgets({});
  await reserve([user], 0.1);
  for (const owner of spend.owners) owner.isRead = false;
  await reserve([user], 0.1);
  expect(loads).toHaveLength(2);
});

test("keys and projects need no sums of a database", () => {
  const { budgets } = createLoadedBudgets({});
  const owners = [budgeted({ day: 1 }), budgeted({ total: 1 }, "project", "shop")];
  expect(budgets.load(owners, noon)).toBeUndefined();
});
