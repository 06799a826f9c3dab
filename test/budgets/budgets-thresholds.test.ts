/** Budget thresholds: an event when 50, 80 and 100 percent of a budget are spent, once per period. */
import { expect, test } from "bun:test";
import type { BudgetedOwner } from "../../contract/limits-and-budgets.ts";
import { ledgerRow } from "../ledger/ledger-fixture.ts";
import {
  budgeted,
  certain,
  createTestBudgets,
  dayMs,
  noon,
  refusal,
  type TestBudgets,
} from "./budgets-fixture.ts";

const spend = (budgets: TestBudgets, key: BudgetedOwner, dollars: number, at = noon): void =>
  budgets.reserve([key], certain(dollars), at).settle(dollars);

test("each threshold is emitted once, with the amount spent and the budget", () => {
  const { budgets, events } = createTestBudgets();
  const key = budgeted({ day: 10 });
  for (let request = 0; request < 10; request++) spend(budgets, key, 1);
  expect(events.map(({ type, data }) => ({ type, ...data }))).toEqual(
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
  expect(new Set(events.map(({ deduplicationKey }) => deduplicationKey)).size).toBe(3);
});

test("a request that crosses several thresholds emits all of them", () => {
  const { budgets, events } = createTestBudgets();
  spend(budgets, budgeted({ month: 1, total: 2 }, "project", "web"), 0.9);
  expect(events.map(({ data }) => `${data.scope} ${data.period} ${data.percent}`)).toEqual([
    "project month 50",
    "project month 80",
  ]);
});

test("thresholds reset with the day, and a restarted process does not emit them again", () => {
  const first = createTestBudgets();
  const key = budgeted({ day: 1, total: 100 });
  spend(first.budgets, key, 0.6);
  spend(first.budgets, key, 0.6, noon + dayMs);
  expect(first.events.map(({ data }) => data.percent)).toEqual([50, 50]);
  expect(first.events[0]?.deduplicationKey).not.toBe(first.events[1]?.deduplicationKey);

  const second = createTestBudgets({ "key ci 2026-11-15": 0.6, "key ci total": 1.2 });
  spend(second.budgets, key, 0.1);
  expect(second.events).toEqual([]);
  spend(second.budgets, key, 0.1);
  expect(second.events.map(({ data }) => data.percent)).toEqual([80]);
});

test("reservations of requests in flight do not count as spent", () => {
  const { budgets, events } = createTestBudgets();
  const key = budgeted({ day: 1 });
  const reservation = budgets.reserve([key], certain(1), noon);
  expect(events).toEqual([]);
  reservation.settle(0.1);
  expect(events).toEqual([]);
});

test("100 percent is emitted when the remaining budget is too small for the usual request", () => {
  const { budgets, events } = createTestBudgets();
  const key = budgeted({ day: 1 });
  // One large request says nothing about the others.
  expect(refusal(() => budgets.reserve([key], certain(2), noon)).kind).toBe("over_budget");
  for (let request = 0; request < 3; request++) spend(budgets, key, 0.32);
  expect(events.map(({ data }) => data.percent)).toEqual([50, 80]);
  for (let request = 0; request < 3; request++) {
    expect(refusal(() => budgets.reserve([key], certain(0.32), noon)).kind).toBe("over_budget");
  }
  expect(events.map(({ data }) => data.percent)).toEqual([50, 80, 100]);
});

test("thresholds are emitted again for a smaller limit, and for a larger one when they are reached again", () => {
  const ledger: Record<string, number> = {};
  const { budgets, events } = createTestBudgets(ledger);
  const day = (limit: number) => budgeted({ day: limit });
  spend(budgets, day(10), 4);
  ledger["key ci 2026-11-15"] = 4;
  expect(events).toEqual([]);
  // The sum is already above it, and nothing more can be spent.
  expect(refusal(() => budgets.reserve([day(4)], certain(1), noon)).kind).toBe("over_budget");
  expect(events.map(({ data }) => `${data.percent} of ${data.budget}`)).toEqual([
    "50 of 4",
    "80 of 4",
    "100 of 4",
  ]);
  events.length = 0;
  const large = day(100);
  spend(budgets, large, 1);
  expect(events).toEqual([]);
  spend(budgets, large, 45);
  expect(events.map(({ data }) => `${data.percent} of ${data.budget}`)).toEqual(["50 of 100"]);
});

test("a threshold that is reached together with other replicas is emitted, and one that was stored before is not", () => {
  const { budgets, events, accounts } = createTestBudgets({ "key ci total": 4 });
  const key = budgeted({ total: 10 });
  spend(budgets, key, 0.5);
  const stored = { scope: "key", id: "ci", period: "total" } as const;
  accounts.raise([{ ...stored, nanos: 5_000_000_000 }]);
  expect(events.map(({ data }) => data.percent)).toEqual([50]);
  const later = createTestBudgets({ "key ci total": 6 });
  spend(later.budgets, key, 0.5);
  expect(later.events).toEqual([]);
  // Rows that a killed process has left are stored later: it did not report them.
  const restarted = createTestBudgets({ "key ci total": 4 });
  const left = ledgerRow(noon, { keyId: "ci", cost: 2 });
  restarted.accounts.end(left);
  spend(restarted.budgets, key, 0.5);
  expect(restarted.events).toEqual([]);
  restarted.store(left);
  expect(restarted.events.map(({ data }) => data.percent)).toEqual([50]);
});

test("a threshold is not emitted early while a row counts twice", () => {
  const { budgets, events, accounts } = createTestBudgets();
  const key = budgeted({ total: 10 });
  spend(budgets, key, 0.5);
  const row = ledgerRow(noon, { keyId: "ci", cost: 3 });
  accounts.end(row);
  // Another replica has read the row in the database, and this one does not know yet that it is stored.
  const sums = [{ scope: "key", id: "ci", period: "total", nanos: 3_500_000_000 }] as const;
  accounts.raise(sums);
  expect(budgets.status(key, noon)[0]?.spent).toBeGreaterThan(5);
  expect(events).toEqual([]);
  accounts.store([row], sums);
  expect(budgets.status(key, noon)[0]?.spent).toBe(3.5);
  expect(events).toEqual([]);
});

test("a threshold that was reached just before the gateway was killed is emitted after its restart", () => {
  const key = budgeted({ total: 10 });
  const restarted = createTestBudgets({ "key ci total": 6 }, true);
  spend(restarted.budgets, key, 0.5);
  expect(restarted.events.map(({ data }) => data.percent)).toEqual([50]);
});
