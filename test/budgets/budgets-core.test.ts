/** Budgets: the estimated cost is reserved before a request is sent, and settled when the request ends. */
import { describe, expect, test } from "bun:test";
import type { BudgetedOwner } from "../../contract/limits-and-budgets.ts";
import { createBudgets } from "../../server/budgets/budgets.ts";
import { OwnerBudgets } from "../../server/budgets/owner-budgets.ts";
import { Accounts } from "../../server/ledger/accounts.ts";
import { toNanos } from "../../server/lib/nano-dollars.ts";
import { toErrorResponse } from "../../server/request/error-response.ts";
import type { SpendKey } from "../../server/storage/ports/ledger-store.ts";
import { spendKeysOf } from "../../server/storage/sql/spend-tally.ts";
import { ledgerRow } from "../ledger/ledger-fixture.ts";
import {
  budgeted,
  certain,
  createTestBudgets,
  dayMs,
  noon,
  refusal,
  reserveIn,
  unknownCost,
} from "./budgets-fixture.ts";

describe("a budget", () => {
  test("is charged once for a request, however often it is settled", () => {
    const { budgets } = createTestBudgets();
    const key = budgeted({ total: 1 });
    const other = budgets.reserve([key], certain(0.25), noon);
    const reservation = budgets.reserve([key], certain(0.5), noon);
    reservation.settle(0.5);
    reservation.settle(0.5);
    reservation.release();
    expect(budgets.status(key, noon)[0]).toMatchObject({ spent: 0.5, reserved: 0.25 });
    other.release();
  });

  test("of a key and a budget of its project both apply, and a refusal by one reserves nothing of the other", () => {
    const { budgets } = createTestBudgets();
    const key = budgeted({ day: 10 });
    const project = budgeted({ month: 1 }, "project", "web");
    const error = refusal(() => budgets.reserve([key, project], certain(2), noon));
    expect(error.message).toContain('monthly budget of the project "web"');
    expect(budgets.status(key, noon)[0]).toMatchObject({ reserved: 0, spent: 0 });
    budgets.reserve([key, project], certain(0.75), noon).settle(0.75);
    // Another key of the project.
    const other = budgeted({ day: 10 }, "key", "cd");
    expect(refusal(() => budgets.reserve([other, project], certain(0.5), noon)).kind).toBe(
      "over_budget",
    );
    expect(budgets.status(other, noon)[0]).toMatchObject({ reserved: 0, spent: 0 });
  });

  test("keeps its account through a reload, and a new limit applies at once", () => {
    const ledger: Record<string, number> = {};
    const { budgets } = createTestBudgets(ledger);
    const reserved = budgets.reserve([budgeted({ day: 5 })], certain(1), noon);
    budgets.reserve([budgeted({ day: 5 })], certain(3), noon).settle(3);
    ledger["key ci 2026-11-15"] = 3;
    const smaller = budgeted({ day: 4.5 });
    expect(refusal(() => budgets.reserve([smaller], certain(1), noon)).kind).toBe("over_budget");
    expect(budgets.status(smaller, noon)[0]).toMatchObject({ spent: 3, reserved: 1 });
    budgets.reserve([budgeted({ day: 6 })], certain(2), noon).release();
    reserved.release();
  });

  test("that is removed and added again includes the spending in between", () => {
    const { budgets, accounts } = createTestBudgets();
    budgets.reserve([budgeted({ day: 5 })], certain(1), noon).settle(1);
    // Without a budget, nothing is reserved.
    accounts.end(ledgerRow(noon, { keyId: "ci", cost: 3.5 }));
    expect(refusal(() => budgets.reserve([budgeted({ day: 5 })], certain(1), noon)).kind).toBe(
      "over_budget",
    );
  });
});

describe("budget periods follow UTC:", () => {
  const night = Date.UTC(2026, 11, 31, 23, 59, 59, 999);

  test("days and months reset, and the total does not", () => {
    const { budgets } = createTestBudgets();
    const key = budgeted({ day: 1, month: 1.5, total: 2 });
    budgets.reserve([key], certain(1), night).settle(1);
    expect(refusal(() => budgets.reserve([key], certain(0.25), night)).message).toContain(
      "daily budget",
    );
    budgets.reserve([key], certain(1), night + 1).settle(1);
    const error = refusal(() => budgets.reserve([key], certain(0.25), night + 1));
    expect(error.message).toContain("The budget does not reset.");
    expect(toErrorResponse(error).headers["retry-after"]).toBeUndefined();
  });

  test("a request counts for the day in which it arrived, however long it takes", () => {
    const { budgets } = createTestBudgets();
    const key = budgeted({ day: 1 });
    const late = budgets.reserve([key], certain(1), night);
    budgets.reserve([key], certain(1), night + 1).settle(1);
    late.settle(0.5);
    expect(budgets.status(key, night)[0]?.spent).toBe(0.5);
    expect(budgets.status(key, night + 1)[0]?.spent).toBe(1);
  });

  test("a clock that was wrong for some time does not use up the budget of another day", () => {
    const { budgets } = createTestBudgets();
    const key = budgeted({ day: 1 });
    budgets.reserve([key], certain(0.75), noon).settle(0.75);
    budgets.reserve([key], certain(1), noon + 4000 * dayMs).settle(1);
    // The clock is right again: the spending of that day is unchanged.
    expect(refusal(() => budgets.reserve([key], certain(0.5), noon)).kind).toBe("over_budget");
    budgets.reserve([key], certain(0.25), noon).settle(0.25);
  });
});

describe("a budget refusal", () => {
  test("says which budget is exceeded, how much of it is left, and when it resets", () => {
    const { budgets } = createTestBudgets({ "key ci 2026-11-15": 4.98 });
    const key = budgeted({ day: 5, month: 100 });
    const reserved = budgets.reserve([key], certain(0.0125), noon);
    const error = refusal(() => budgets.reserve([key], certain(0.04), noon));
    expect(error.message).toBe(
      'You exceeded your current quota: the daily budget of the key "ci" is $5.00; $4.98 is spent, $0.0125 is reserved for requests in flight, and this request is estimated at $0.04. The budget resets at 2026-11-16T00:00:00.000Z.',
    );
    const { status, headers, body } = toErrorResponse(error);
    expect(status).toBe(429);
    expect(headers).toMatchObject({ "x-should-retry": "false", "retry-after": "43200" });
    expect(JSON.parse(body).error).toEqual({
      message: error.message,
      type: "insufficient_quota",
      param: null,
      code: "insufficient_quota",
      budget: {
        scope: "key",
        name: "ci",
        period: "day",
        limit: 5,
        spent: 4.98,
        reserved: 0.0125,
        estimate: 0.04,
        resets_at: "2026-11-16T00:00:00.000Z",
      },
    });
    reserved.release();
  });

  test("names the budget that resets last, and has no earlier retry-after", () => {
    const { budgets } = createTestBudgets({ "key ci 2026-11-15": 5, "key ci 2026-11": 100 });
    const error = refusal(() =>
      budgets.reserve([budgeted({ day: 5, month: 100 })], certain(1), noon),
    );
    expect(error.message).toContain("monthly budget");
    expect(error.message).toContain("2026-12-01T00:00:00.000Z");
    expect(toErrorResponse(error).headers["retry-after"]).toBeUndefined();
    const last = Date.UTC(2026, 10, 30, 23, 59);
    const soon = refusal(() => budgets.reserve([budgeted({ month: 100 })], certain(1), last));
    expect(toErrorResponse(soon).headers["retry-after"]).toBe("60");
  });

  test("shows tiny amounts in decimal notation", () => {
    const { budgets } = createTestBudgets();
    const error = refusal(() => budgets.reserve([budgeted({ day: 1e-8 })], certain(2e-8), noon));
    expect(error.message).toContain(
      "$0.00000001; $0.00 is spent, and this request is estimated at $0.00000002",
    );
  });
});

describe("a request of unknown price", () => {
  test("is refused if a budget requires known prices, before anything is reserved", () => {
    const { budgets, read } = createTestBudgets();
    const project = budgeted({ day: 1, unknownPrice: "refuse" }, "project", "web");
    for (const estimate of [unknownCost, { dollars: 0.1, isCertain: false }]) {
      const error = refusal(() => budgets.reserve([budgeted({ day: 1 }), project], estimate, noon));
      expect(error.kind).toBe("price_unknown");
      expect(error.message).toContain('project "web"');
      expect(toErrorResponse(error)).toMatchObject({ status: 403 });
    }
    expect(read).toEqual([]);
    budgets.reserve([project], certain(0.1), noon).settle(0.1);
  });

  test("is otherwise admitted while budget is left, and charged when its cost is known", () => {
    const { budgets } = createTestBudgets();
    const key = budgeted({ day: 1 });
    budgets.reserve([key], unknownCost, noon).settle(0.6);
    budgets.reserve([key], unknownCost, noon).settle(0);
    budgets.reserve([key], unknownCost, noon).settle(0.6);
    expect(refusal(() => budgets.reserve([key], unknownCost, noon)).message).toContain(
      "the cost of this request is unknown",
    );
  });
});

describe("the accounts of budgets", () => {
  test("read the spending once per period", () => {
    const { budgets, read } = createTestBudgets({ "key ci 2026-11-15": 1 });
    const key = budgeted({ day: 5, total: 50 });
    for (let reservation = 0; reservation < 10; reservation++)
      budgets.reserve([key], certain(0.01), noon).settle(0.01);
    expect(read).toEqual(["key ci 2026-11-15", "key ci total"]);
    expect(budgets.status(key, noon)[0]?.spent).toBeCloseTo(1.1, 12);
  });

  test("are bounded: idle accounts are evicted and read again, accounts with reservations are kept", () => {
    const ledger = new Map<string, number>();
    let read = 0;
    const stored = (key: SpendKey): number => ledger.get(`${key.id} ${key.period}`) ?? 0;
    const accounts = new Accounts({
      readSpent: (key) => {
        read++;
        return stored(key);
      },
      clock: () => 0,
      max: 8,
    });
    const owners = new OwnerBudgets({ accounts });
    const all = createBudgets({ owners, emit: () => undefined });
    const reserve = (key: BudgetedOwner, dollars: number) =>
      reserveIn(all, [key], certain(dollars), noon);
    const busy = budgeted({ total: 1 }, "key", "busy");
    const reserved = reserve(busy, 0.75);
    for (let reservation = 0; reservation < 200; reservation++) {
      const id = `key ${reservation % 50}`;
      const key = budgeted({ day: 1, total: 100 }, "key", id);
      reserve(key, 0.25).release();
      const row = ledgerRow(noon, { keyId: id, cost: 0.25 });
      accounts.end(row);
      for (const each of spendKeysOf(row))
        ledger.set(`${id} ${each.period}`, stored(each) + toNanos(0.25));
      const sums = spendKeysOf(row).map((each) => ({ ...each, nanos: stored(each) }));
      accounts.store([row], sums);
    }
    expect(read).toBeGreaterThan(200);
    const first = budgeted({ day: 1 }, "key", "key 0");
    expect(refusal(() => reserve(first, 0.25)).kind).toBe("over_budget");
    expect(refusal(() => reserve(busy, 0.5)).kind).toBe("over_budget");
    reserved.release();
    reserve(busy, 0.5).release();
  });
});
