/** Laws (contract tests) of `BudgetCounters`: those of one process, and those that replicas share. */
import { describe, expect, type Test, test } from "bun:test";
import { BudgetCounters } from "../../server/budgets/budget-counters.ts";
import { Spend } from "../../server/ledger/spend.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { toNanos } from "../../server/lib/nano-dollars.ts";
import { noDemand } from "../../server/limits/limiter.ts";
import type { SharedLimiter } from "../../server/limits/shared-limiter.ts";
import type { BudgetDemand, BudgetState } from "../../server/storage/redis/shared-limits.ts";
import { budgeted, noon } from "./budgets-fixture.ts";

const noLimits = { scopes: [], demand: noDemand };

/** `createLimiter`: of shared counters. `law`: skips the laws if a program is missing. */
export function budgetCounterLaws(
  name: string,
  createLimiter: () => SharedLimiter | undefined,
  law: Test<[]> = test,
): void {
  const create = (spentBefore: (id: string, period: string) => number = () => 0) => {
    const limiter = createLimiter();
    const spend = new Spend({
      readSpent: ({ id, period }) => toNanos(spentBefore(id, period)),
      clock: () => 0,
    });
    return { limiter, counters: new BudgetCounters({ spend, limiter, maxCounters: 8 }) };
  };

  /** A counter of a budget per day. */
  const counterOf = (counters: BudgetCounters, limit: number, id = "ci", at = noon) => {
    const [budget] = counters.budgetsOf(budgeted({ day: limit }, "key", id), at);
    if (!budget) throw new Error("no budget");
    return budget.counter;
  };

  /** A counter, and a request on it: reserves its cost, and returns its end. Undefined if the request is refused. */
  const setUp = (dollarLimit: number) => {
    const { counters, limiter } = create();
    const counter = counterOf(counters, dollarLimit);
    const limit = toNanos(dollarLimit);
    const send = async (
      dollars: number | undefined,
    ): Promise<((cost: number) => void) | undefined> => {
      const nanos = toNanos(dollars ?? 0);
      let id: string | undefined;
      if (limiter) {
        const budgets = {
          demands: () => [counter.demand(limit, nanos, nanos)],
          onReserved: (given: string) => {
            id = given;
            if (nanos > 0) counter.open({ id, nanos, isLikely: false, version: 0 }, true);
          },
          refusal: ([demand]: readonly BudgetDemand[], [state]: readonly BudgetState[]) => {
            if (demand && state) counter.accept(demand, state);
            return new GatewayError("over_budget", "refused");
          },
        };
        await limiter.take({ ...noLimits, budgets }).catch(() => undefined);
        if (id === undefined) return undefined;
      } else {
        if (counter.wouldExceed(nanos || undefined, limit)) return undefined;
        id = counters.newEntryId();
        counter.open({ id, nanos, isLikely: false, version: 0 });
      }
      return (cost) => {
        counter.close(id ?? "");
        counter.owner.end(toNanos(cost));
      };
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
      const { counters } = create((id, period) =>
        id === "ci" && period === "2026-11-15" ? 2.5 : 0,
      );
      const { used, reserved } = counterOf(counters, 10);
      expect([used, reserved]).toEqual([toNanos(2.5), 0]);
      expect(counterOf(counters, 10, "ci", noon + 86_400_000).used).toBe(0);
      expect(counterOf(counters, 10, "other").used).toBe(0);
    });

    law("reservations count until they are closed, and spending stays", async () => {
      const { counter, send, refuses } = setUp(1);
      const end = await send(0.75);
      expect(await refuses(0.25)).toBe(false);
      expect(await refuses(0.5)).toBe(true);
      expect(counter.isExhaustedFor(toNanos(0.5), toNanos(1))).toBe(false);
      end?.(0.5);
      expect([counter.used, counter.reserved]).toEqual([toNanos(0.5), 0]);
      expect(await refuses(0.5)).toBe(false);
      expect(counter.isExhaustedFor(toNanos(0.75), toNanos(1))).toBe(true);
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
      expect(await refuses(undefined)).toBe(true);
    });

    law("a request that may cost more than it reserves is marked until it ends", () => {
      const counter = counterOf(create().counters, 1);
      counter.open({ id: "one", nanos: 5, isLikely: true, version: 0 });
      expect(counter.hasUnderReserved).toBe(true);
      counter.close("one");
      counter.close("one");
      expect([counter.hasUnderReserved, counter.reserved]).toEqual([false, 0]);
    });

    law("each threshold is reported once, and thresholds reached before are not", () => {
      const counter = counterOf(create(() => 0.6).counters, 1);
      expect(counter.newThresholds(toNanos(1), false)).toEqual([]);
      counter.owner.end(toNanos(0.5));
      // Until the row is stored, another replica may count it twice.
      expect(counter.newThresholds(toNanos(1), false)).toEqual([]);
      counter.owner.raise(toNanos(1.1), toNanos(0.5));
      expect(counter.newThresholds(toNanos(1), false)).toEqual([80, 100]);
      expect(counter.newThresholds(toNanos(1), false)).toEqual([]);
    });

    law("the entries of jobs count until the next ones replace them", async () => {
      const { counters, counter, refuses } = setUp(1);
      const set = (version: number, ...dollars: number[]) =>
        counters.setJobEntries(
          new Map([
            [
              counter,
              dollars.map((each, at) => ({
                id: `batch-${at}`,
                nanos: toNanos(each),
                isLikely: false,
                version,
              })),
            ],
          ]),
        );
      set(1, 0.25, 0.5);
      expect(counter.reserved).toBe(toNanos(0.75));
      expect([await refuses(0.5), await refuses(0.25)]).toEqual([true, false]);
      set(2, 0.25, 0.25);
      expect([await refuses(0.75), await refuses(0.5)]).toEqual([true, false]);
      set(2, 0.25);
      expect([await refuses(1), await refuses(0.75)]).toEqual([true, false]);
      expect(counter.isIdle).toBe(false);
      counters.setJobEntries(new Map());
      expect([counter.reserved, counter.isIdle, await refuses(1)]).toEqual([0, true, false]);
    });

    law("a counter with reservations is not evicted", () => {
      const { counters } = create();
      const counter = counterOf(counters, 1);
      counter.open({ id: "one", nanos: 5, isLikely: false, version: 0 });
      for (let other = 0; other < 100; other++) {
        counters.evictIdle();
        counterOf(counters, 1, `other ${other}`);
      }
      expect(counterOf(counters, 1)).toBe(counter);
    });

    law("a budget that is configured anew goes on with what is spent and reserved", () => {
      const { counters } = create(() => 1);
      const counter = counterOf(counters, 10);
      counter.open({ id: "one", nanos: 5, isLikely: false, version: 0 });
      counter.owner.end(3);
      const { used, reserved } = counterOf(counters, 20);
      expect([used, reserved]).toEqual([toNanos(1) + 3, 5]);
    });

    law("a ledger that cannot be read is an error, not an empty budget", () => {
      const { counters } = create(() => {
        throw new Error("the disk failed");
      });
      expect(() => counterOf(counters, 1)).toThrow("the disk failed");
    });
  });
}
