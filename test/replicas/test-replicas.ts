/** Replicas in one process that share limits and budgets in one Redis. */
import { randomUUID } from "node:crypto";
import { createBudgets } from "../../server/budgets/budgets.ts";
import { OwnerBudgets } from "../../server/budgets/owner-budgets.ts";
import { Accounts } from "../../server/ledger/accounts.ts";
import { toDollars, toNanos } from "../../server/lib/nano-dollars.ts";
import { SharedLimiter } from "../../server/limits/shared-limiter.ts";
import { type RedisConnection, RedisUnavailableError } from "../../server/storage/redis/client.ts";
import type { LimitsUpdate } from "../../server/storage/redis/shared-limits.ts";
import { SharedLimits } from "../../server/storage/redis/shared-limits.ts";
import { randomFrom } from "../fuzz/routing-simulation.ts";

export interface TestReplica {
  readonly limiter: SharedLimiter;
  /** The number of calls of Redis so far. */
  readonly calls: number;
  /** Waits for the calls that were sent so far. */
  settle(): Promise<void>;
}

interface TestReplicasOptions {
  readonly redis: RedisConnection;
  /** Milliseconds, of the replicas and of Redis. */
  readonly now: () => number;
  readonly isReachable?: () => boolean;
  /** `replica`: its number. */
  readonly onForgotten?: (amount: { readonly replica: string; readonly dollars: number }) => void;
}

interface Named {
  readonly name: string;
}

/** Replicas that share limits with each other, and with no others. */
export function testReplicas(count: number, options: TestReplicasOptions): TestReplica[] {
  const { redis, now, isReachable = () => true, onForgotten = () => undefined } = options;
  const group = randomUUID();
  const own = <T extends Named>(items: readonly T[]): T[] =>
    items.map((item) => ({ ...item, name: `${group}:${item.name}` }));
  return Array.from({ length: count }, (_, number): TestReplica => {
    const replica = `${group}-${number}`;
    const limits = new SharedLimits(redis, { name: replica, epoch: 1 }, () => Math.floor(now()));
    const calls = new Set<Promise<unknown>>();
    let sent = 0;
    const counted = <T>(start: () => Promise<T>): Promise<T> => {
      if (!isReachable()) return Promise.reject(new RedisUnavailableError("not reachable"));
      const call = start();
      sent++;
      calls.add(call);
      return call;
    };
    const ownUpdate = ({ rates, released, renewed, budgets, ...rest }: LimitsUpdate) => ({
      ...rest,
      rates: own(rates),
      released: own(released),
      renewed: own(renewed),
      budgets: own(budgets),
    });
    const ofGroup: Pick<SharedLimits, "take" | "update"> = {
      take: ({ rates, slots, budgets, ...demand }, update) =>
        counted(() =>
          limits.take(
            { ...demand, rates: own(rates), slots: own(slots), budgets: own(budgets) },
            update && ownUpdate(update),
          ),
        ),
      update: (update) => counted(() => limits.update(ownUpdate(update))),
    };
    const limiter = new SharedLimiter({
      limits: ofGroup,
      replica,
      isReachable,
      replicas: () => count,
      clock: now,
      timers: { start: (_, fire) => queueMicrotask(fire), stop: () => undefined },
      random: randomFrom(number),
      onError: (error) => {
        if (!(error instanceof RedisUnavailableError)) throw error;
      },
      onForgotten: ({ replica: of, nanos }) =>
        onForgotten({ replica: of.slice(group.length + 1), dollars: toDollars(nanos) }),
    });
    return {
      limiter,
      get calls() {
        return sent;
      },
      settle: async () => {
        await Promise.allSettled(calls);
        calls.clear();
      },
    };
  });
}

/** The budgets of one replica. `spentBefore`: US dollars. */
export function replicaBudgets(
  { limiter }: Pick<TestReplica, "limiter">,
  spentBefore: () => number = () => 0,
) {
  const accounts = new Accounts({ readSpent: () => toNanos(spentBefore()), clock: () => 0 });
  accounts.share(limiter.accounts);
  const owners = new OwnerBudgets({ accounts });
  return { accounts, budgets: createBudgets({ owners, shared: limiter, emit: () => undefined }) };
}
