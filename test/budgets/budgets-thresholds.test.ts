/** People are told when half, four fifths and all of a budget is spent: once in each period. */
import { expect, test } from "bun:test";
import type { Budgets } from "../../server/budgets/budgets.ts";
import type { BudgetedOwner } from "../../server/lib/budget.ts";
import { arrange, budgeted, dayMs, noon, refusal, sure } from "./budgets-fixture.ts";

const spend = (budgets: Budgets, key: BudgetedOwner, dollars: number, at = noon): void =>
  budgets.reserve([key], sure(dollars), at).settle(dollars);

test("each threshold is told once, with what was spent and of how much", () => {
  const { budgets, told } = arrange();
  const key = budgeted({ day: 10 });
  for (let call = 0; call < 10; call++) spend(budgets, key, 1);
  expect(told.map(({ type, data }) => ({ type, ...data }))).toEqual(
    [50, 80, 100].map((percent) => ({
      type: "budget.threshold",
      scope: "key",
      id: "ci",
      name: "ci",
      period: "day",
      percent: percent as 50,
      spent: percent / 10,
      budget: 10,
    })),
  );
  expect(new Set(told.map(({ once }) => once)).size).toBe(3);
});

test("a call that passes several at once tells of all of them", () => {
  const { budgets, told } = arrange();
  spend(budgets, budgeted({ month: 1, total: 2 }, "project", "web"), 0.9);
  expect(told.map(({ data }) => `${data.scope} ${data.period} ${data.percent}`)).toEqual([
    "project month 50",
    "project month 80",
  ]);
});

test("a new day begins anew; what one process told the next does not tell again", () => {
  const first = arrange();
  const key = budgeted({ day: 1, total: 100 });
  spend(first.budgets, key, 0.6);
  spend(first.budgets, key, 0.6, noon + dayMs);
  expect(first.told.map(({ data }) => data.percent)).toEqual([50, 50]);
  expect(first.told[0]?.once).not.toBe(first.told[1]?.once);

  const second = arrange({ "key ci 2026-11-15": 0.6, "key ci total": 1.2 });
  spend(second.budgets, key, 0.1);
  expect(second.told).toEqual([]);
  spend(second.budgets, key, 0.1);
  expect(second.told.map(({ data }) => data.percent)).toEqual([80]);
});

test("what is held for calls under way is not spent yet", () => {
  const { budgets, told } = arrange();
  const key = budgeted({ day: 1 });
  const held = budgets.reserve([key], sure(1), noon);
  expect(told).toEqual([]);
  held.settle(0.1);
  expect(told).toEqual([]);
});

test("when what is left is too little for a call, all is told as spent, though it never will be", () => {
  const { budgets, told } = arrange();
  const key = budgeted({ day: 1 });
  // One large call says nothing about the others.
  expect(refusal(() => budgets.reserve([key], sure(2), noon)).kind).toBe("over_budget");
  for (let call = 0; call < 3; call++) spend(budgets, key, 0.32);
  expect(told.map(({ data }) => data.percent)).toEqual([50, 80]);
  for (let call = 0; call < 3; call++) {
    expect(refusal(() => budgets.reserve([key], sure(0.32), noon)).kind).toBe("over_budget");
  }
  expect(told.map(({ data }) => data.percent)).toEqual([50, 80, 100]);
});

test("a smaller limit is news, and so is what is reached again of a larger one", () => {
  const ledger: Record<string, number> = {};
  const { budgets, told } = arrange(ledger);
  const day = (limit: number) => budgeted({ day: limit });
  spend(budgets, day(10), 4);
  ledger["key ci 2026-11-15"] = 4;
  expect(told).toEqual([]);
  // Already above it, and nothing more can be spent.
  expect(refusal(() => budgets.reserve([day(4)], sure(1), noon)).kind).toBe("over_budget");
  expect(told.map(({ data }) => `${data.percent} of ${data.budget}`)).toEqual([
    "50 of 4",
    "80 of 4",
    "100 of 4",
  ]);
  told.length = 0;
  const large = day(100);
  spend(budgets, large, 1);
  expect(told).toEqual([]);
  spend(budgets, large, 45);
  expect(told.map(({ data }) => `${data.percent} of ${data.budget}`)).toEqual(["50 of 100"]);
});
