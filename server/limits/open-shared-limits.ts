/**
 * Opens the limits and budgets that replicas share through Redis, with the number of replicas. Reports an outage of
 * Redis.
 */
import type { Emit } from "../../contract/events.ts";
import type { Log } from "../lib/log.ts";
import { toDollars } from "../lib/nano-dollars.ts";
import { backgroundTimers, repeat } from "../lib/timers.ts";
import { startFolderEpoch } from "../storage/files/folder-epoch.ts";
import { type RedisConnection, RedisUnavailableError } from "../storage/redis/client.ts";
import { leaseMs } from "../storage/redis/limits-scripts.ts";
import { ReplicaRegistry } from "../storage/redis/replica-registry.ts";
import { SharedLimits } from "../storage/redis/shared-limits.ts";
import { SharedLimiter } from "./shared-limiter.ts";

interface SharedLimitsOptions {
  /** The data folder. */
  readonly folder: string;
  readonly redis: RedisConnection;
  readonly replica: string;
  readonly log: Pick<Log, "warn" | "error">;
  readonly emit: Emit;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
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
  const { folder, redis, replica, log, emit, clock, random, resources } = options;
  const registry = new ReplicaRegistry(redis, replica);
  // While Redis is unavailable, the number stays as it is.
  const stopReports = repeat({ everyMs: reportMs, isImmediate: true }, () => registry.report());
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
    limits: new SharedLimits(redis, startFolderEpoch(folder)),
    replica,
    isReachable: () => redis.isAvailable,
    replicas: () => registry.count,
    clock,
    timers: backgroundTimers,
    random,
    onError,
    onForgotten: ({ replica: of, budget, nanos }) =>
      log.warn("budget-amount-forgotten", { replica: of, budget, dollars: toDollars(nanos) }),
  });
  const stopRenewals = repeat({ everyMs: leaseMs / 3 }, async () => limiter.renew());

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
  });

  resources.defer(async () => {
    await Promise.all([stopReports(), stopRenewals()]);
    stopListening();
    // All requests have ended.
    await limiter.close();
    // Before the connection is closed. Without Redis, the entry of this replica expires.
    await registry.leave().catch(() => undefined);
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
