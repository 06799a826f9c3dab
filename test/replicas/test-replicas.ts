/** Replicas in one process that share limits and budgets in one Redis. */
import { randomUUID } from "node:crypto";
import { SharedLimiter } from "../../server/limits/shared-limiter.ts";
import { type RedisConnection, RedisUnavailableError } from "../../server/storage/redis/client.ts";
import { SharedLimits, watchSlotNotices } from "../../server/storage/redis/shared-limits.ts";

export interface TestReplica {
  readonly limiter: SharedLimiter;
  /** The number of calls of Redis so far. */
  readonly calls: number;
  /** Waits for the calls that were sent so far. */
  settle(): Promise<void>;
  /** `onFreeSlot`: another replica has released a slot. Returns a function that ends the notices. */
  watchNotices(onFreeSlot: () => void): () => void;
}

interface TestReplicasOptions {
  readonly redis: RedisConnection;
  /** Milliseconds, of the replicas and of Redis. */
  readonly now: () => number;
  readonly isReachable?: () => boolean;
}

interface Named {
  readonly name: string;
}

/** Replicas that share limits with each other, and with no others. */
export function testReplicas(count: number, options: TestReplicasOptions): TestReplica[] {
  const { redis, now, isReachable = () => true } = options;
  const group = randomUUID();
  const limits = new SharedLimits(redis, () => Math.floor(now()));
  const own = <T extends Named>(items: readonly T[]): T[] =>
    items.map((item) => ({ ...item, name: `${group}:${item.name}` }));
  const allOwn = <R extends Named, S extends Named, B extends Named>(all: {
    readonly rates: readonly R[];
    readonly slots: readonly S[];
    readonly budgets: readonly B[];
  }) => ({ rates: own(all.rates), slots: own(all.slots), budgets: own(all.budgets) });
  return Array.from({ length: count }, (_, number): TestReplica => {
    const replica = `${group}-${number}`;
    const calls = new Set<Promise<unknown>>();
    let sent = 0;
    const counted = <T>(start: () => Promise<T>): Promise<T> => {
      if (!isReachable()) return Promise.reject(new RedisUnavailableError("not reachable"));
      const call = start();
      sent++;
      calls.add(call);
      return call;
    };
    const ofGroup: Pick<SharedLimits, "take" | "settle" | "renew"> = {
      take: (demand, settlement) =>
        counted(() =>
          limits.take({ ...demand, ...allOwn(demand) }, settlement && allOwn(settlement)),
        ),
      settle: (settlement) => counted(() => limits.settle(allOwn(settlement))),
      renew: (slots, reservations) => counted(() => limits.renew(own(slots), own(reservations))),
    };
    const limiter = new SharedLimiter({
      limits: ofGroup,
      replica,
      isReachable,
      replicas: () => count,
      clock: now,
      timers: { start: (_, fire) => queueMicrotask(fire), stop: () => undefined },
      onError: (error) => {
        if (!(error instanceof RedisUnavailableError)) throw error;
      },
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
      watchNotices: (onFreeSlot) => {
        limiter.onFreeSlot = onFreeSlot;
        return watchSlotNotices(redis, replica, (name) =>
          limiter.onReleased(name.slice(group.length + 1)),
        );
      },
    };
  });
}
