/**
 * Wires what replicas share through Redis: the pools behind limits and budgets, the claims of image requests, the
 * second-level cache of embeddings and the number of replicas. Reports an outage of Redis.
 */
import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ignoreRejection } from "../lib/tasks.ts";
import type { LeasedPool, SharedPools } from "../limits/leased-pool.ts";
import type { Gauge } from "../observe/metrics/gauge.ts";
import type { RequestClaims } from "../storage/ports/request-claims.ts";
import { type RedisConnection, RedisUnavailableError } from "../storage/redis/client.ts";
import { redisLeases, watchSlotNotices } from "../storage/redis/lease-script.ts";
import { ReplicaRegistry } from "../storage/redis/replica-registry.ts";
import { RedisRequestClaims } from "../storage/redis/request-claims.ts";
import { RedisEmbeddings } from "../storage/redis/shared-embeddings.ts";
import type { Runtime } from "./runtime.ts";

export interface Replicas {
  readonly pools: SharedPools;
  readonly claims: RequestClaims;
  /** The embedding cache that replicas share. Undefined: it is off. */
  readonly embeddings: RedisEmbeddings | undefined;
  /** The number of limits and budgets of which this process leases a part. */
  leases(): number;
  /** For `GET /readyz`. */
  health(): { readonly redis: "available" | "unavailable"; readonly replicas: number };
}

const tickMs = 500;
const reportMs = 1000;
/** The shortest time between two lines of the log. */
const reportFailuresMs = 10_000;

export function wireReplicas(runtime: Runtime, redis: RedisConnection): Replicas {
  const { settings, log, emit, clock, resources } = runtime;
  const replica = randomUUID();
  const file = join(settings.VEXEL_DATA, "replicas");
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
    embeddings: sharedEmbeddings(redis, runtime),
    claims: new RedisRequestClaims(redis, { retentionMs: settings.VEXEL_RESPONSE_TTL * 1000 }),
    leases: () => scheduled.size,
    health: () => ({
      redis: redis.isAvailable ? "available" : "unavailable",
      replicas: registry.count,
    }),
  };
}

/** Undefined: replicas share nothing, and the metrics have no values. */
export const replicaGauges = (
  replicas: Pick<Replicas, "health" | "leases" | "embeddings"> | undefined,
): readonly Gauge[] => [
  {
    name: "vexel_redis_available",
    help: "1 while Redis can be used, 0 while each replica applies its share of the limits.",
    merge: "min",
    read: () => replicas && Number(replicas.health().redis === "available"),
  },
  {
    name: "vexel_replicas",
    help: "The number of replicas that share Redis, as last known.",
    merge: "max",
    read: () => replicas?.health().replicas,
  },
  {
    name: "vexel_leases",
    help: "Limits and budgets of which this process leases a part.",
    read: () => replicas?.leases(),
  },
  {
    name: "vexel_shared_cache_rejected",
    help: "Vectors in Redis whose keyed checksum was wrong.",
    type: "counter",
    read: () => replicas?.embeddings?.rejected,
  },
];

function sharedEmbeddings(
  redis: RedisConnection,
  { settings, now, resources }: Runtime,
): RedisEmbeddings | undefined {
  const { VEXEL_CACHE_REDIS_TTL: sharedTtl, VEXEL_CACHE_TTL: localTtl } = settings;
  const { VEXEL_SECRET: secret } = settings;
  if (sharedTtl === 0) return undefined;
  const ttlMs = (localTtl === 0 ? sharedTtl : Math.min(sharedTtl, localTtl)) * 1000;
  const embeddings = new RedisEmbeddings(redis, { secret, ttlMs, now });
  resources.defer(() => embeddings.close());
  return embeddings;
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
