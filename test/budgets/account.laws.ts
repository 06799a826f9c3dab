/** Laws (contract tests) of the accounts of budgets: those of one process, and those that replicas share. */
import { describe, expect, type Test, test } from "bun:test";
import { type BudgetInPeriod, OwnerBudgets } from "../../server/budgets/owner-budgets.ts";
import type { Account } from "../../server/ledger/account.ts";
import { Accounts } from "../../server/ledger/accounts.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { toNanos } from "../../server/lib/nano-dollars.ts";
import { noDemand } from "../../server/limits/limiter.ts";
import type { SharedLimiter } from "../../server/limits/shared-limiter.ts";
import type { BudgetDemand, BudgetState } from "../../server/storage/redis/shared-limits.ts";
import { budgeted, noon } from "./budgets-fixture.ts";

const noLimits = { scopes: [], demand: noDemand };

/** `createLimiter`: of shared accounts. `law`: skips the laws if a program is missing. */
export function accountLaws(
  name: string,
  createLimiter: () => SharedLimiter | undefined,
  law: Test<[]> = test,
): void {
  const create = (spentBefore: (id: string, period: string) => number = () => 0) => {
    const limiter = createLimiter();
    const accounts = new Accounts({
      readSpent: ({ id, period }) => toNanos(spentBefore(id, period)),
      clock: () => 0,
      max: 8,
    });
    if (limiter) accounts.share(limiter.accounts);
    return { limiter, accounts, owners: new OwnerBudgets({ accounts }) };
  };

  /** A budget per day. */
  const budgetOf = (owners: OwnerBudgets, limit: number, id = "ci", at = noon): BudgetInPeriod => {
    const [budget] = owners.of([budgeted({ day: limit }, "key", id)], at);
    if (!budget) throw new Error("no budget");
    return budget;
  };
  const accountOf = (...budget: Parameters<typeof budgetOf>): Account =>
    budgetOf(...budget).account;

  /** An account, and a request on it: reserves its cost, and returns its end. Undefined if the request is refused. */
  const setUp = (dollarLimit: number) => {
    const { owners, limiter } = create();
    const account = accountOf(owners, dollarLimit);
    const limit = toNanos(dollarLimit);
    const send = async (
      dollars: number | undefined,
    ): Promise<((cost: number) => void) | undefined> => {
      const nanos = toNanos(dollars ?? 0);
      let id: string | undefined;
      if (limiter) {
        const budgets = {
          demands: () => [account.demand({ limit, most: nanos, likely: nanos })],
          onReserved: (given: string) => {
            id = given;
            if (nanos > 0) account.open({ id, nanos, isLikely: false, version: 0 }, true);
          },
          refusal: ([demand]: readonly BudgetDemand[], [state]: readonly BudgetState[]) => {
            if (demand && state) account.accept(demand, state);
            return new GatewayError("over_budget", "refused");
          },
        };
        await limiter.take({ ...noLimits, budgets }).catch(() => undefined);
        if (id === undefined) return undefined;
      } else {
        if (account.reservable({ limit, most: nanos, likely: nanos }) === "nothing")
          return undefined;
        id = String(Math.random());
        account.open({ id, nanos, isLikely: false, version: 0 });
      }
      return (cost) => {
        account.close(id ?? "");
        account.end(toNanos(cost));
      };
    };
    const refuses = async (dollars: number | undefined): Promise<boolean> => {
      const end = await send(dollars);
      end?.(0);
      return end === undefined;
    };
    return { owners, account, send, refuses };
  };

  describe(`${name} accounts`, () => {
    law("an account starts with the spending in the ledger", () => {
      const { owners } = create((id, period) => (id === "ci" && period === "2026-11-15" ? 2.5 : 0));
      const { used, reserved } = accountOf(owners, 10);
      expect([used, reserved]).toEqual([toNanos(2.5), 0]);
      expect(accountOf(owners, 10, "ci", noon + 86_400_000).used).toBe(0);
      expect(accountOf(owners, 10, "other").used).toBe(0);
    });

    law("reservations count until they are closed, and spending stays", async () => {
      const { account, send, refuses } = setUp(1);
      const end = await send(0.75);
      expect(await refuses(0.25)).toBe(false);
      expect(await refuses(0.5)).toBe(true);
      expect(account.isExhaustedFor(toNanos(0.5), toNanos(1))).toBe(false);
      end?.(0.5);
      expect([account.used, account.reserved]).toEqual([toNanos(0.5), 0]);
      expect(await refuses(0.5)).toBe(false);
      expect(account.isExhaustedFor(toNanos(0.75), toNanos(1))).toBe(true);
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
      const account = accountOf(create().owners, 1);
      const request = { limit: toNanos(1), most: toNanos(2), likely: 1 };
      expect(account.reservable(request)).toBe("likely");
      account.open({ id: "one", nanos: 5, isLikely: true, version: 0 });
      expect(account.reservable(request)).toBe("nothing");
      account.close("one");
      account.close("one");
      expect([account.reservable(request), account.reserved]).toEqual(["likely", 0]);
    });

    law("each threshold is reported once, and thresholds reached before are not", () => {
      const budget = budgetOf(create(() => 0.6).owners, 1);
      expect(budget.newThresholds(false)).toEqual([]);
      budget.account.end(toNanos(0.5));
      // Until the row is stored, another replica may count it twice.
      expect(budget.newThresholds(false)).toEqual([]);
      budget.account.raise(toNanos(1.1), toNanos(0.5));
      expect(budget.newThresholds(false)).toEqual([80, 100]);
      expect(budget.newThresholds(false)).toEqual([]);
    });

    law("the entries of jobs count until the next ones replace them", async () => {
      const { owners, account, refuses } = setUp(1);
      const set = (version: number, ...dollars: number[]) =>
        owners.setJobs(
          dollars.map((each, at) => ({
            account,
            entry: { id: `batch-${at}`, nanos: toNanos(each), isLikely: false, version },
          })),
        );
      set(1, 0.25, 0.5);
      expect(account.reserved).toBe(toNanos(0.75));
      expect([await refuses(0.5), await refuses(0.25)]).toEqual([true, false]);
      set(2, 0.25, 0.25);
      expect([await refuses(0.75), await refuses(0.5)]).toEqual([true, false]);
      set(2, 0.25);
      expect([await refuses(1), await refuses(0.75)]).toEqual([true, false]);
      expect(account.isIdle).toBe(false);
      owners.setJobs([]);
      expect([account.reserved, account.isIdle, await refuses(1)]).toEqual([0, true, false]);
    });

    law("an account with reservations is not evicted", () => {
      const { owners } = create();
      const account = accountOf(owners, 1);
      account.open({ id: "one", nanos: 5, isLikely: false, version: 0 });
      for (let other = 0; other < 100; other++) {
        owners.evictIdle();
        accountOf(owners, 1, `other ${other}`);
      }
      expect(accountOf(owners, 1)).toBe(account);
    });

    law("a budget that is configured anew goes on with what is spent and reserved", () => {
      const { owners } = create(() => 1);
      const account = accountOf(owners, 10);
      account.open({ id: "one", nanos: 5, isLikely: false, version: 0 });
      account.end(3);
      const { used, reserved } = accountOf(owners, 20);
      expect([used, reserved]).toEqual([toNanos(1) + 3, 5]);
    });

    law("a ledger that cannot be read is an error, not an empty budget", () => {
      const { owners } = create(() => {
        throw new Error("the disk failed");
      });
      expect(() => accountOf(owners, 1)).toThrow("the disk failed");
    });
  });
}
