/** Laws (contract tests) of `BudgetCounters`, for every implementation: local counters, and shared ones. */
import { describe, expect, type Test, test } from "bun:test";
import type { BudgetOwner } from "../../contract/limits-and-budgets.ts";
import type { BudgetCounters } from "../../server/budgets/budget-counters.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { noDemand } from "../../server/limits/limiter.ts";
import type { SharedLimiter } from "../../server/limits/shared-limiter.ts";
import type { BudgetState } from "../../server/storage/redis/limits-demand.ts";
import { budgeted } from "./budgets-fixture.ts";

type SpentBefore = (owner: BudgetOwner, period: string) => number;

const today = "2026-11-15";
const noLimits = { scopes: [], demand: noDemand, slots: [] };

/** The counters, and with shared ones the limiter that takes from them. */
interface TestCounters {
  readonly counters: BudgetCounters;
  readonly limiter?: SharedLimiter;
}

/** `create`: counters over a ledger in which an owner has spent this much in a period. */
export function budgetCounterLaws(
  name: string,
  createAll: (spentBefore: SpentBefore) => TestCounters,
  law: Test<[]> = test,
): void {
  const create = (spentBefore: SpentBefore): BudgetCounters => createAll(spentBefore).counters;

  /** A counter, and a request on it: reserves its cost, and returns its end. Undefined: the request is refused. */
  const setUp = (limit: number, spentBefore: SpentBefore = () => 0) => {
    const { counters, limiter } = createAll(spentBefore);
    const counter = counters.counterOf(budgeted({ day: limit }), today);
    const send = async (
      dollars: number | undefined,
    ): Promise<((cost: number) => void) | undefined> => {
      const amount = { reserved: dollars ?? 0, mayExceedReservation: false };
      const { shared } = counter;
      let hold: string | undefined;
      if (limiter && shared) {
        const budgets = {
          demands: [shared.demand(limit, amount.reserved, amount.reserved)],
          keep: (name: string) => {
            hold = name;
            shared.keep(amount, name);
          },
          refusal: ([state]: readonly BudgetState[]) => {
            if (state) shared.accept(state);
            return new GatewayError("over_budget", "refused");
          },
        };
        await limiter.take({ ...noLimits, budgets }).catch(() => undefined);
        if (hold === undefined) return undefined;
      } else if (counter.wouldExceed(dollars, limit)) return undefined;
      counter.reserve(amount.reserved, false);
      return (cost) => counter.settle(amount, cost, hold);
    };
    const refuses = async (dollars: number | undefined): Promise<boolean> => {
      const end = await send(dollars);
      end?.(0);
      return end === undefined;
    };
    return { counters, counter, send, refuses };
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
      const { counter, send, refuses } = setUp(1);
      const end = await send(0.75);
      expect(await refuses(0.25)).toBe(false);
      expect(await refuses(0.5)).toBe(true);
      expect(counter.isExhaustedFor(0.5, 1)).toBe(false);
      end?.(0.5);
      expect([counter.spent, counter.reserved]).toEqual([0.5, 0]);
      expect(await refuses(0.5)).toBe(false);
      expect(counter.isExhaustedFor(0.75, 1)).toBe(true);
    });

    law("a request of unknown cost fits until the limit is reached", async () => {
      const { send, refuses } = setUp(1);
      expect(await refuses(undefined)).toBe(false);
      (await send(undefined))?.(1);
      expect(await refuses(undefined)).toBe(true);
    });

    law("ten tenths fit into one dollar", async () => {
      const { send, refuses } = setUp(1);
      for (let request = 0; request < 10; request++) {
        const end = await send(0.1);
        expect(end).toBeDefined();
        end?.(0.1);
      }
      expect(await refuses(0.1)).toBe(true);
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

    law("a standing reservation counts until the next ones replace it", async () => {
      const { counters, counter, refuses } = setUp(1);
      const hold = (...dollars: number[]) =>
        counters.setStanding(
          new Map([[counter, dollars.map((each, at) => ({ hold: `batch-${at}`, dollars: each }))]]),
        );
      hold(0.25, 0.5);
      expect(counter.reserved).toBe(0.75);
      expect([await refuses(0.5), await refuses(0.25)]).toEqual([true, false]);
      hold(0.25);
      expect([await refuses(1), await refuses(0.75)]).toEqual([true, false]);
      expect(counter.isIdle).toBe(false);
      counters.setStanding(new Map());
      expect([counter.reserved, counter.isIdle, await refuses(1)]).toEqual([0, true, false]);
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
