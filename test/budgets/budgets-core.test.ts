/** Nobody spends more than allowed: what a call may cost is held before it is made, and settled when it is over. */
import { describe, expect, test } from "bun:test";
import { createBudgets } from "../../server/budgets/budgets.ts";
import type { Reservation } from "../../server/lib/budget.ts";
import { toErrorResponse } from "../../server/request/error-response.ts";
import { arrange, budgeted, dayMs, noon, refusal, sure, unknown } from "./budgets-fixture.ts";

describe("a budget", () => {
  test("for ten calls lets ten of a hundred side by side through, whatever they are worth in binary", () => {
    for (const price of [0.03, 0.1, 1 / 3, 0.000_000_02, 7]) {
      const { budgets } = arrange();
      const key = budgeted({ day: price * 10 });
      const held: Reservation[] = [];
      for (let call = 0; call < 100; call++) {
        if (held.length < 10) held.push(budgets.reserve([key], sure(price), noon));
        else
          expect(refusal(() => budgets.reserve([key], sure(price), noon)).kind).toBe("over_budget");
      }
      for (const reservation of held) reservation.settle(price);
      const [day] = budgets.status(key, noon);
      expect(day?.spent).toBeCloseTo(price * 10, 12);
      expect(day?.reserved).toBe(0);
    }
  });

  test("gets back what a call did not need, and all of it where nothing can have been paid", () => {
    const { budgets } = arrange();
    const key = budgeted({ day: 1 });
    const first = budgets.reserve([key], sure(0.9), noon);
    expect(() => budgets.reserve([key], sure(0.2), noon)).toThrow("exceeded");
    first.settle(0.1);
    const second = budgets.reserve([key], sure(0.9), noon);
    second.release();
    budgets.reserve([key], sure(0.9), noon).settle(0.9);
    expect(budgets.status(key, noon)).toEqual([
      { period: "day", limit: 1, spent: 1, reserved: 0, resetsAt: Date.UTC(2026, 10, 16) },
    ]);
  });

  test("counts a call of unknown cost as what it was estimated at", () => {
    const { budgets } = arrange();
    const key = budgeted({ total: 1 });
    budgets.reserve([key], sure(0.4), noon).settle(undefined);
    budgets.reserve([key], sure(0.4), noon).settle(Number.NaN);
    expect(budgets.status(key, noon)[0]).toMatchObject({ spent: 0.8, reserved: 0 });
  });

  test("counts a call once, however often its end is told", () => {
    const { budgets } = arrange();
    const key = budgeted({ total: 1 });
    const other = budgets.reserve([key], sure(0.25), noon);
    const call = budgets.reserve([key], sure(0.5), noon);
    call.settle(0.5);
    call.settle(0.5);
    call.release();
    expect(budgets.status(key, noon)[0]).toMatchObject({ spent: 0.5, reserved: 0.25 });
    other.release();
  });

  test("of a key and of its project are both asked, and one that is short takes nothing of the other", () => {
    const { budgets } = arrange();
    const key = budgeted({ day: 10 });
    const project = budgeted({ month: 1 }, "project", "web");
    const error = refusal(() => budgets.reserve([key, project], sure(2), noon));
    expect(error.message).toContain('monthly budget of the project "web"');
    expect(budgets.status(key, noon)[0]).toMatchObject({ reserved: 0, spent: 0 });
    budgets.reserve([key, project], sure(0.75), noon).settle(0.75);
    // Another key of the project.
    const other = budgeted({ day: 10 }, "key", "cd");
    expect(refusal(() => budgets.reserve([other, project], sure(0.5), noon)).kind).toBe(
      "over_budget",
    );
    expect(budgets.status(other, noon)[0]).toMatchObject({ reserved: 0, spent: 0 });
  });

  test("serves what costs nothing, however little is left, and nothing else once all is spent", () => {
    const { budgets } = arrange({ "key ci total": 7 });
    const key = budgeted({ total: 5 });
    budgets.reserve([key], sure(0), noon).settle(0);
    for (const estimate of [sure(0.000_001), unknown, { dollars: 0, isCertain: false }]) {
      expect(refusal(() => budgets.reserve([key], estimate, noon)).kind).toBe("over_budget");
    }
  });

  test("of nothing allows what costs nothing", () => {
    const { budgets } = arrange();
    const key = budgeted({ day: 0 });
    budgets.reserve([key], sure(0), noon).settle(0);
    expect(refusal(() => budgets.reserve([key], sure(0.01), noon)).kind).toBe("over_budget");
    expect(refusal(() => budgets.reserve([key], unknown, noon)).kind).toBe("over_budget");
  });

  test("stays what it is through a reload, and takes another limit at once", () => {
    const ledger: Record<string, number> = {};
    const { budgets } = arrange(ledger);
    const held = budgets.reserve([budgeted({ day: 5 })], sure(1), noon);
    budgets.reserve([budgeted({ day: 5 })], sure(3), noon).settle(3);
    ledger["key ci 2026-11-15"] = 3;
    const smaller = budgeted({ day: 4.5 });
    expect(refusal(() => budgets.reserve([smaller], sure(1), noon)).kind).toBe("over_budget");
    expect(budgets.status(smaller, noon)[0]).toMatchObject({ spent: 3, reserved: 1 });
    budgets.reserve([budgeted({ day: 6 })], sure(2), noon).release();
    held.release();
  });

  test("that was taken away and given back knows what was spent in between", () => {
    const ledger: Record<string, number> = {};
    const { budgets } = arrange(ledger);
    budgets.reserve([budgeted({ day: 5 })], sure(1), noon).settle(1);
    // Without a budget nobody asks, and the ledger alone knows.
    ledger["key ci 2026-11-15"] = 4.5;
    expect(refusal(() => budgets.reserve([budgeted({ day: 5 })], sure(1), noon)).kind).toBe(
      "over_budget",
    );
  });
});

describe("days and months are those of UTC", () => {
  const night = Date.UTC(2026, 11, 31, 23, 59, 59, 999);

  test("a day and a month begin anew, all of time does not", () => {
    const { budgets } = arrange();
    const key = budgeted({ day: 1, month: 1.5, total: 2 });
    budgets.reserve([key], sure(1), night).settle(1);
    expect(refusal(() => budgets.reserve([key], sure(0.25), night)).message).toContain(
      "daily budget",
    );
    budgets.reserve([key], sure(1), night + 1).settle(1);
    const error = refusal(() => budgets.reserve([key], sure(0.25), night + 1));
    expect(error.message).toContain("The budget does not reset.");
    expect(toErrorResponse(error).headers["retry-after"]).toBeUndefined();
  });

  test("a call counts for the day in which it arrived, however long it takes", () => {
    const { budgets } = arrange();
    const key = budgeted({ day: 1 });
    const late = budgets.reserve([key], sure(1), night);
    budgets.reserve([key], sure(1), night + 1).settle(1);
    late.settle(0.5);
    expect(budgets.status(key, night)[0]?.spent).toBe(0.5);
    expect(budgets.status(key, night + 1)[0]?.spent).toBe(1);
  });

  test("a clock that was wrong for a while costs nobody a day's budget", () => {
    const { budgets } = arrange();
    const key = budgeted({ day: 1 });
    budgets.reserve([key], sure(0.75), noon).settle(0.75);
    budgets.reserve([key], sure(1), noon + 4000 * dayMs).settle(1);
    // Back where it was: what was spent is still spent, and no more than that.
    expect(refusal(() => budgets.reserve([key], sure(0.5), noon)).kind).toBe("over_budget");
    budgets.reserve([key], sure(0.25), noon).settle(0.25);
  });
});

describe("a refusal", () => {
  test("says which budget, how much of it is left, and when it begins anew", () => {
    const { budgets } = arrange({ "key ci 2026-11-15": 4.98 });
    const key = budgeted({ day: 5, month: 100 });
    const held = budgets.reserve([key], sure(0.0125), noon);
    const error = refusal(() => budgets.reserve([key], sure(0.04), noon));
    expect(error.message).toBe(
      'You exceeded your current quota: of the daily budget of the key "ci", $5.00, $4.98 are spent and $0.0125 reserved for requests in flight, and this request is estimated at $0.04. The budget resets at 2026-11-16T00:00:00.000Z.',
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
        ...{ scope: "key", name: "ci", period: "day", limit: 5, spent: 4.98, reserved: 0.0125 },
        ...{ estimate: 0.04, resets_at: "2026-11-16T00:00:00.000Z" },
      },
    });
    held.release();
  });

  test("names the budget that stays short longest, and promises nothing before its end", () => {
    const { budgets } = arrange({ "key ci 2026-11-15": 5, "key ci 2026-11": 100 });
    const error = refusal(() => budgets.reserve([budgeted({ day: 5, month: 100 })], sure(1), noon));
    expect(error.message).toContain("monthly budget");
    expect(error.message).toContain("2026-12-01T00:00:00.000Z");
    expect(toErrorResponse(error).headers["retry-after"]).toBeUndefined();
    const last = Date.UTC(2026, 10, 30, 23, 59);
    const soon = refusal(() => budgets.reserve([budgeted({ month: 100 })], sure(1), last));
    expect(toErrorResponse(soon).headers["retry-after"]).toBe("60");
  });

  test("shows the smallest amounts as people write them", () => {
    const { budgets } = arrange();
    const error = refusal(() => budgets.reserve([budgeted({ day: 1e-8 })], sure(2e-8), noon));
    expect(error.message).toContain(
      "$0.00000001, $0.00 are spent, and this request is estimated at $0.00000002",
    );
  });
});

describe("what has no known price", () => {
  test("is refused where a budget says so, before anything is held", () => {
    const { budgets, read } = arrange();
    const project = budgeted({ day: 1, unknownPrice: "refuse" }, "project", "web");
    for (const estimate of [unknown, { dollars: 0.1, isCertain: false }]) {
      const error = refusal(() => budgets.reserve([budgeted({ day: 1 }), project], estimate, noon));
      expect(error.kind).toBe("price_unknown");
      expect(error.message).toContain('project "web"');
      expect(toErrorResponse(error)).toMatchObject({ status: 403 });
    }
    expect(read).toEqual([]);
    budgets.reserve([project], sure(0.1), noon).settle(0.1);
  });

  test("is allowed elsewhere as long as something is left, and counts once it is known", () => {
    const { budgets } = arrange();
    const key = budgeted({ day: 1 });
    budgets.reserve([key], unknown, noon).settle(0.6);
    budgets.reserve([key], unknown, noon).settle(undefined);
    budgets.reserve([key], unknown, noon).settle(0.6);
    expect(refusal(() => budgets.reserve([key], unknown, noon)).message).toContain(
      "the cost of this request is unknown",
    );
  });
});

describe("memory", () => {
  test("what was spent is read once for each period", () => {
    const { budgets, read } = arrange({ "key ci 2026-11-15": 1 });
    const key = budgeted({ day: 5, total: 50 });
    for (let call = 0; call < 10; call++) budgets.reserve([key], sure(0.01), noon).settle(0.01);
    expect(read).toEqual(["key ci 2026-11-15", "key ci total"]);
    expect(budgets.status(key, noon)[0]?.spent).toBeCloseTo(1.1, 12);
  });

  test("is bounded: who has no call under way is read again, who has is never forgotten", () => {
    const ledger = new Map<string, number>();
    let read = 0;
    const budgets = createBudgets({
      spentBefore: ({ id }, period) => {
        read++;
        return ledger.get(`${id} ${period}`) ?? 0;
      },
      emit: () => undefined,
      maxCounters: 8,
    });
    const busy = budgeted({ total: 1 }, "key", "busy");
    const held = budgets.reserve([busy], sure(0.75), noon);
    for (let call = 0; call < 200; call++) {
      const key = budgeted({ day: 1, total: 100 }, "key", `key ${call % 50}`);
      budgets.reserve([key], sure(0.25), noon).settle(0.25);
      for (const period of ["2026-11-15", "total"]) {
        const id = `key ${call % 50} ${period}`;
        ledger.set(id, (ledger.get(id) ?? 0) + 0.25);
      }
    }
    expect(read).toBeGreaterThan(200);
    const first = budgeted({ day: 1 }, "key", "key 0");
    expect(refusal(() => budgets.reserve([first], sure(0.25), noon)).kind).toBe("over_budget");
    expect(refusal(() => budgets.reserve([busy], sure(0.5), noon)).kind).toBe("over_budget");
    held.release();
    budgets.reserve([busy], sure(0.5), noon).release();
  });
});
