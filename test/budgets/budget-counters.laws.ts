/** Laws (contract tests) of `BudgetCounters`, for every implementation: local counters, and slices of shared ones. */
import { describe, expect, type Test, test } from "bun:test";
import type { BudgetOwner } from "../../contract/limits-and-budgets.ts";
import type { BudgetCounter, BudgetCounters } from "../../server/budgets/budget-counters.ts";
import { budgeted } from "./budgets-fixture.ts";

type SpentBefore = (owner: BudgetOwner, period: string) => number;

const today = "2026-11-15";

/** `create`: counters over a ledger in which an owner has spent this much in a period. */
export function budgetCounterLaws(
  name: string,
  create: (spentBefore: SpentBefore) => BudgetCounters,
  law: Test<[]> = test,
): void {
  /** Whether the counter refuses a request of this cost, after the lease of the cost was requested. */
  const refuses = async (counter: BudgetCounter, dollars: number, limit: number) => {
    await counter.lease?.(dollars, dollars, limit);
    return counter.wouldExceed(dollars, limit);
  };

  describe(`${name} budget counters`, () => {
    law("a counter starts with the spending in the ledger", () => {
      const counters = create(({ id }, period) => (id === "ci" && period === today ? 2.5 : 0));
      const key = budgeted({ day: 10 });
      const { spent, reserved } = counters.counterOf(key, today);
      expect([spent, reserved]).toEqual([2.5, 0]);
      expect(counters.counterOf(key, "2026-11-16").spent).toBe(0);
      expect(counters.counterOf(budgeted({ day: 10 }, "key", "other"), today).spent).toBe(0);
    });

    law("reservations count until they are released, and spending stays", async () => {
      const counter = create(() => 0).counterOf(budgeted({ day: 1 }), today);
      expect(await refuses(counter, 0.75, 1)).toBe(false);
      counter.reserve(0.75, false);
      expect(await refuses(counter, 0.25, 1)).toBe(false);
      expect(await refuses(counter, 0.5, 1)).toBe(true);
      expect(counter.isExhaustedFor(0.5, 1)).toBe(false);
      counter.release(0.75, false);
      counter.spend(0.5);
      expect([counter.spent, counter.reserved]).toEqual([0.5, 0]);
      expect(await refuses(counter, 0.5, 1)).toBe(false);
      expect(counter.isExhaustedFor(0.75, 1)).toBe(true);
    });

    law("a request of unknown cost fits until the limit is reached", () => {
      const counter = create(() => 0).counterOf(budgeted({ day: 1 }), today);
      expect(counter.wouldExceed(undefined, 1)).toBe(false);
      counter.watch(1);
      counter.spend(1);
      expect(counter.wouldExceed(undefined, 1)).toBe(true);
    });

    law("ten tenths fit into one dollar", async () => {
      const counter = create(() => 0).counterOf(budgeted({ day: 1 }), today);
      for (let request = 0; request < 10; request++) {
        expect(await refuses(counter, 0.1, 1)).toBe(false);
        counter.spend(0.1);
      }
      expect(await refuses(counter, 0.1, 1)).toBe(true);
    });

    law("a request that may cost more than it reserves is marked until it is released", () => {
      const counter = create(() => 0).counterOf(budgeted({ day: 1 }), today);
      counter.reserve(0.5, true);
      expect(counter.hasUnderReserved).toBe(true);
      counter.release(0.5, true);
      expect(counter.hasUnderReserved).toBe(false);
    });

    law("each threshold is reported once, and thresholds reached before are not", () => {
      const counter = create(() => 0.6).counterOf(budgeted({ day: 1 }), today);
      counter.watch(1);
      expect(counter.newThresholds(1)).toEqual([]);
      counter.spend(0.5);
      expect(counter.newThresholds(1)).toEqual([80, 100]);
      expect(counter.newThresholds(1)).toEqual([]);
    });

    law("a counter with reservations is not evicted", () => {
      const counters = create(() => 0);
      const key = budgeted({ day: 1 });
      const counter = counters.counterOf(key, today);
      counter.reserve(0.5, false);
      for (let other = 0; other < 100; other++) {
        counters.evictIdle();
        counters.counterOf(budgeted({ day: 1 }, "key", `other ${other}`), today);
      }
      expect(counters.counterOf(key, today)).toBe(counter);
    });

    law(
      "after a change of the configured budget, the ledger is read again, and reservations stay",
      () => {
        let spent = 1;
        const counters = create(() => spent);
        const counter = counters.counterOf(budgeted({ day: 10 }), today);
        counter.reserve(2, false);
        spent = 4;
        const changed = budgeted({ day: 20 });
        const { spent: total, reserved } = counters.counterOf(changed, today);
        expect([total, reserved]).toEqual([4, 2]);
      },
    );

    law("a ledger that cannot be read is an error, not an empty budget", () => {
      const counters = create(() => {
        throw new Error("the disk failed");
      });
      expect(() => counters.counterOf(budgeted({ day: 1 }), today)).toThrow("the disk failed");
    });
  });
}
