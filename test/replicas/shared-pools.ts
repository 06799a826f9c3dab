/** Replicas in one process whose limits are pools in one Redis. */
import { randomUUID } from "node:crypto";
import type { LeasedPool, SharedPools } from "../../server/limits/leased-pool.ts";
import type { RedisConnection } from "../../server/storage/redis/client.ts";
import { redisLeases, watchSlotNotices } from "../../server/storage/redis/lease-script.ts";

export interface TestReplica extends SharedPools {
  /** The number of calls of Redis so far. */
  readonly calls: number;
  /** Waits for the calls that were sent so far. */
  settle(): Promise<void>;
  /** Receives notices of slots until the returned function is called. */
  watchNotices(): () => void;
  /** Runs the interval of the replica once, and waits for its calls. */
  tick(): Promise<void>;
}

export interface TestReplicasOptions {
  readonly redis: RedisConnection;
  /** Milliseconds, of the replicas and of the pools. */
  readonly now: () => number;
  readonly isReachable?: () => boolean;
}

/** Replicas that share pools with each other, and with no others. */
export function testReplicas(count: number, options: TestReplicasOptions): TestReplica[] {
  const { redis, now, isReachable = () => true } = options;
  const group = randomUUID();
  const leases = redisLeases(redis, () => Math.floor(now()));
  return Array.from({ length: count }, (_, number): TestReplica => {
    const scheduled = new Set<LeasedPool>();
    const calls = new Set<Promise<unknown>>();
    let sent = 0;
    const settle = async (): Promise<void> => {
      await Promise.allSettled(calls);
      calls.clear();
    };
    return {
      get calls() {
        return sent;
      },
      replica: `${group}-${number}`,
      lease: (request) => {
        sent++;
        const call = leases.lease({ ...request, pool: `${group}:${request.pool}` });
        calls.add(call);
        return call;
      },
      isReachable,
      replicas: () => count,
      clock: now,
      schedule: (pool) => scheduled.add(pool),
      tick: async () => {
        for (const pool of scheduled) if (!pool.tick(now())) scheduled.delete(pool);
        await Bun.sleep(0);
        await settle();
      },
      settle,
      watchNotices: () =>
        watchSlotNotices(redis, `${group}-${number}`, (name) => {
          for (const pool of scheduled) {
            if (name === `${group}:${pool.name}`) pool.notice(now());
          }
        }),
    };
  });
}
