/**
 * Opens the limits and budgets that replicas share through Redis, with the number of replicas. Reports an outage of
 * Redis.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Emit } from "../../contract/events.ts";
import type { Log } from "../lib/log.ts";
import { ignoreRejection } from "../lib/tasks.ts";
import { backgroundTimers } from "../lib/timers.ts";
import { type RedisConnection, RedisUnavailableError } from "../storage/redis/client.ts";
import { leaseMs } from "../storage/redis/limits-demand.ts";
import { ReplicaRegistry } from "../storage/redis/replica-registry.ts";
import { SharedLimits, watchSlotNotices } from "../storage/redis/shared-limits.ts";
import { SharedLimiter } from "./shared-limiter.ts";

interface SharedLimitsOptions {
  readonly redis: RedisConnection;
  readonly replica: string;
  /** The data folder. */
  readonly folder: string;
  readonly log: Pick<Log, "warn" | "error">;
  readonly emit: Emit;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  readonly resources: AsyncDisposableStack;
}

interface OpenedSharedLimits {
  readonly limiter: SharedLimiter;
  /** The replicas and their reports. */
  readonly registry: Pick<ReplicaRegistry, "publish" | "others">;
  /** For `GET /readyz`. */
  health(): { readonly redis: "available" | "unavailable"; readonly replicas: number };
}

const reportMs = 1000;
/** The shortest time between two lines of the log. */
const reportFailuresMs = 10_000;

export function openSharedLimits(options: SharedLimitsOptions): OpenedSharedLimits {
  const { redis, replica, folder, log, emit, clock, resources } = options;
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
  let reportedAt = Number.NEGATIVE_INFINITY;
  /**
   * Logs why a call failed, except for an outage of Redis, which `reportUnavailable` logs. Any other error is one such
   * as a Redis key that another program wrote.
   */
  const onError = (error: unknown): void => {
    if (error instanceof RedisUnavailableError || clock() - reportedAt < reportFailuresMs) return;
    reportedAt = clock();
    log.error("shared-limits-failed", { reason: String(error) });
  };
  const limiter = new SharedLimiter({
    limits: new SharedLimits(redis),
    replica,
    isReachable: () => redis.isAvailable,
    replicas: () => registry.count,
    clock,
    timers: backgroundTimers,
    onError,
  });
  const renewing = setInterval(() => limiter.renew(), leaseMs / 3);
  const stopNotices = watchSlotNotices(redis, replica, (name) => limiter.onReleased(name));

  const reportUnavailable = (reason: string): void => {
    log.error("redis-unavailable", { reason, replicas: registry.count });
    emit({ type: "redis.unavailable", data: { reason, replicas: registry.count } });
  };
  if (!redis.state.isAvailable) reportUnavailable(redis.state.reason);
  const stopListening = redis.onChange((state) => {
    if (!state.isAvailable) return reportUnavailable(state.reason);
    log.warn("redis-recovered", { replicas: registry.count });
    emit({ type: "redis.recovered", data: { replicas: registry.count } });
    limiter.recover();
    reportInBackground();
  });

  resources.defer(async () => {
    clearInterval(reporting);
    clearInterval(renewing);
    stopListening();
    stopNotices();
    // All requests have ended.
    await limiter.close();
    ignoreRejection(registry.leave());
  });
  return {
    limiter,
    registry,
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
