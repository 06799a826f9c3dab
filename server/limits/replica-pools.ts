/**
 * What replicas share through Redis to apply limits and budgets together: the pools behind them, and the number of
 * replicas. Reports an outage of Redis.
 */
import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Emit } from "../../contract/events.ts";
import type { Log } from "../lib/log.ts";
import { ignoreRejection } from "../lib/tasks.ts";
import { type RedisConnection, RedisUnavailableError } from "../storage/redis/client.ts";
import { redisLeases, watchSlotNotices } from "../storage/redis/lease-script.ts";
import { ReplicaRegistry } from "../storage/redis/replica-registry.ts";
import type { LeasedPool, SharedPools } from "./leased-pool.ts";

interface ReplicaPoolsOptions {
  readonly redis: RedisConnection;
  /** The data folder. */
  readonly folder: string;
  readonly log: Pick<Log, "warn" | "error">;
  readonly emit: Emit;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  readonly resources: AsyncDisposableStack;
}

interface ReplicaPools {
  readonly pools: SharedPools;
  /** The number of limits and budgets of which this process leases a part. */
  leases(): number;
  /** For `GET /readyz`. */
  health(): { readonly redis: "available" | "unavailable"; readonly replicas: number };
}

const tickMs = 500;
const reportMs = 1000;
/** The shortest time between two lines of the log. */
const reportFailuresMs = 10_000;

export function openReplicaPools(options: ReplicaPoolsOptions): ReplicaPools {
  const { redis, folder, log, emit, clock, resources } = options;
  const replica = randomUUID();
  const file = join(folder, "replicas");
  const registry = new ReplicaRegistry(redis, replica, readCount(file));
  const report = async (): Promise<void> => {
    const before = registry.count;
    await registry.report();
    if (registry.count !== before) writeCount(file, registry.count);
  };
  // While Redis is unavailable, the number stays as it is.
  const reportInBackground = (): void => ignoreRejection(report());
  const reporting = setInterval(reportInBackground, reportMs);
  reportInBackground();
  const scheduled = new Set<LeasedPool>();
  const ticking = setInterval(() => {
    const now = clock();
    for (const pool of scheduled) if (!pool.tick(now)) scheduled.delete(pool);
  }, tickMs);

  const stopNotices = watchSlotNotices(redis, replica, (name) => {
    for (const pool of scheduled) if (pool.name === name) pool.notice(clock());
  });

  const leases = redisLeases(redis);
  let reportedAt = Number.NEGATIVE_INFINITY;
  /**
   * Logs why a lease failed, except for an outage of Redis, which `reportUnavailable` logs. Requests are refused after
   * any other error, such as a Redis key that another program wrote.
   */
  const reportFailedLease = (error: unknown): void => {
    if (error instanceof RedisUnavailableError || clock() - reportedAt < reportFailuresMs) return;
    reportedAt = clock();
    log.error("lease-failed", { reason: String(error) });
  };

  const reportUnavailable = (reason: string): void => {
    log.error("redis-unavailable", { reason, replicas: registry.count });
    emit({ type: "redis.unavailable", data: { reason, replicas: registry.count } });
  };
  if (!redis.state.isAvailable) reportUnavailable(redis.state.reason);
  const stopListening = redis.onChange((state) => {
    if (!state.isAvailable) return reportUnavailable(state.reason);
    log.warn("redis-recovered", { replicas: registry.count });
    emit({ type: "redis.recovered", data: { replicas: registry.count } });
    reportInBackground();
  });

  resources.defer(async () => {
    clearInterval(reporting);
    clearInterval(ticking);
    stopListening();
    stopNotices();
    // All requests have ended: each pool reports its spending and gives its lease back.
    await Promise.all([...scheduled].map((pool) => pool.giveBack()));
    ignoreRejection(registry.leave());
  });
  return {
    pools: {
      replica,
      lease: (request) =>
        leases.lease(request).catch((error: unknown) => {
          reportFailedLease(error);
          throw error;
        }),
      isReachable: () => redis.isAvailable,
      replicas: () => registry.count,
      clock,
      schedule: (pool) => scheduled.add(pool),
    },
    leases: () => scheduled.size,
    health: () => ({
      redis: redis.isAvailable ? "available" : "unavailable",
      replicas: registry.count,
    }),
  };
}

function readCount(file: string): number {
  try {
    return Math.max(1, Math.floor(Number(readFileSync(file, "utf8"))) || 1);
  } catch {
    return 1;
  }
}

/** Without the file, a start while Redis is unavailable assumes one replica. */
function writeCount(file: string, count: number): void {
  try {
    writeFileSync(file, `${count}\n`, { mode: 0o600 });
  } catch {
    // A full disk is reported by the ledger.
  }
}
