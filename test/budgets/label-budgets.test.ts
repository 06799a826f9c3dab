/** Budgets of end users and tags whose sums are in a database: they are read before a request needs them. */
import { expect, test } from "bun:test";
import type { BudgetedOwner } from "../../contract/limits-and-budgets.ts";
import { BudgetCounters } from "../../server/budgets/budget-counters.ts";
import { createBudgets } from "../../server/budgets/budgets.ts";
import { budgeted, certain, noon, refusal } from "./budgets-fixture.ts";

function createLoadedBudgets(stored: Readonly<Record<string, number>>) {
  const loads: string[][] = [];
  const known = new Map<string, number>();
  const counters = new BudgetCounters({
    spentBefore: ({ scope, id }, period) => known.get(`${scope} ${id} ${period}`) ?? 0,
    loadLabels: async (sums) => {
      const keys = sums.map(({ scope, id, period }) => `${scope} ${id} ${period}`);
      loads.push(keys);
      for (const key of keys) known.set(key, stored[key] ?? 0);
    },
  });
  const budgets = createBudgets({ counters, emit: () => undefined });
  const reserve = async (owners: readonly BudgetedOwner[], dollars: number) => {
    await budgets.load(owners, noon);
    return budgets.reserve(owners, certain(dollars), noon);
  };
  return { budgets, loads, reserve };
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

test("after a reload of the configuration, the sums are read again", async () => {
  const { loads, reserve } = createLoadedBudgets({});
  await reserve([user], 0.1);
  await reserve([{ ...user, budget: { ...user.budget } }], 0.1);
  expect(loads).toHaveLength(2);
});

test("keys and projects need no sums of a database", () => {
  const { budgets } = createLoadedBudgets({});
  const owners = [budgeted({ day: 1 }), budgeted({ total: 1 }, "project", "shop")];
  expect(budgets.load(owners, noon)).toBeUndefined();
});
