/** Wires the embeddings pipeline: cache and cache invalidation, single-flight, micro-batching, drift canary. */

import type { Statistics } from "../../contract/admin.ts";
import { cacheKeyFormat } from "../embeddings/cache/cache-key.ts";
import { type CachePersistence, EmbeddingCache } from "../embeddings/cache/embedding-cache.ts";
import { type CanaryReport, createCanary } from "../embeddings/drift-canary.ts";
import { scheduleDriftChecks } from "../embeddings/drift-checks.ts";
import { SingleFlight } from "../embeddings/single-flight.ts";
import { newRequestId } from "../http/received-request.ts";
import { backgroundTimers } from "../lib/timers.ts";
import type { TargetLimitOptions } from "../limits/target-limits.ts";
import type { Execute } from "../pipeline/handle-request.ts";
import { createCanaryRequest } from "../pipeline/internal-requests.ts";
import { embeddingsStages, type StageLists } from "../pipeline/stages.ts";
import type { TargetRegistry } from "../routing/target-registry.ts";
import type { EmbeddingCacheStore } from "../storage/ports/embedding-cache-store.ts";
import type { SharedEmbeddings } from "../storage/ports/shared-embeddings.ts";
import { EmbeddingCacheFile } from "../storage/sqlite/embedding-cache-file.ts";
import type { UpstreamClient } from "../upstream/client.ts";
import type { BuiltInModel } from "../upstream/contract.ts";
import { reportImplausibleUsage } from "./report-implausible-usage.ts";
import type { Runtime } from "./runtime.ts";

export interface EmbeddingsWiringOptions {
  readonly upstreamClient: UpstreamClient;
  readonly builtInModels: ReadonlyMap<string, BuiltInModel>;
  readonly registry: TargetRegistry;
  readonly limits: TargetLimitOptions;
  /** Called with the number of requests of each micro-batch of at least two. */
  readonly onBatch?: ((requests: number) => void) | undefined;
  /** The cache that replicas share. Absent: there is none. */
  readonly shared?: SharedEmbeddings | undefined;
  /** Called only after `startDriftChecks`. */
  readonly execute: Execute;
}

export interface EmbeddingsWiring {
  readonly send: StageLists["embeddings"];
  startDriftChecks(): void;
  /** Cancels the drift checks in flight, and starts no more. */
  stopDriftChecks(): void;
  statistics(): Pick<Statistics, "cache" | "batching">;
  /** Evicts every cached vector. */
  clearCache(): void;
}

/** How long the first target serves alone while the others are compared with it. */
const graceMs = 2000;
const canaryTimeoutMs = 30_000;

export function wireEmbeddings(
  runtime: Runtime,
  options: EmbeddingsWiringOptions,
): EmbeddingsWiring {
  const { settings, snapshot, log, clock } = runtime;
  const { upstreamClient, builtInModels, registry, limits, execute, onBatch, shared } = options;
  const { cache, clearLocal } = createCache(runtime, shared);
  /** The number of checks in progress that began because another replica has cleared the shared cache. */
  let checksAfterClear = 0;

  const canary = createCanary({
    snapshot,
    embed: createCanaryRequest({
      execute,
      embeddings: upstreamClient.embeddings,
      limits,
      snapshot,
      newRequestId,
      timeoutMs: canaryTimeoutMs,
      onImplausibleUsage: reportImplausibleUsage(log),
    }),
    graceMs: settings.VEXEL_CANARY_HOURS > 0 ? graceMs : 0,
    clock,
    onUnchecked: () => driftChecks?.onNewTarget(),
    onResponding: () => driftChecks?.onResponding(),
    report: (result) => {
      reportDrift(runtime, result);
      if (result.status !== "drifted") return;
      // Vectors of the drifted target may be in the cache, and it is unknown which. After another replica has cleared
      // the shared cache, this one has added nothing to it: to clear it again would start the checks of all replicas.
      void (checksAfterClear > 0 ? clearLocal() : cache.clear());
    },
  });
  const hours = settings.VEXEL_CANARY_HOURS;
  /** Undefined: targets are never checked. */
  const driftChecks =
    hours === 0
      ? undefined
      : scheduleDriftChecks({
          hours,
          check: (all) => canary.check(all),
          timers: backgroundTimers,
          clock,
        });
  // Another replica has found wrong vectors. If they came from a target that has drifted, this replica finds that out
  // before it adds vectors to the shared cache again.
  shared?.onCleared(async () => {
    checksAfterClear++;
    try {
      await clearLocal();
      await driftChecks?.checkAll();
    } finally {
      checksAfterClear--;
    }
  });

  const batched = { batches: 0, requests: 0 };
  const isCacheOn = settings.VEXEL_CACHE_BYTES > 0;
  const isBatchingOn = settings.VEXEL_BATCH_WAIT_MS > 0;
  const send = embeddingsStages(upstreamClient.embeddings, {
    capabilities: upstreamClient.embeddingCapabilities,
    cache: {
      cache,
      singleFlight: new SingleFlight(),
      shared,
      enabled: (model) => isCacheOn && !model.uncached,
      taskTypesTranslated: (model) =>
        model.targets.every(
          (target) => typeof upstreamClient.embeddingCapabilities(target).taskTypes === "object",
        ),
    },
    batch: {
      enabled: (model) => isBatchingOn && !model.unbatched,
      selfBatching: builtInModels,
      maxWaitMs: settings.VEXEL_BATCH_WAIT_MS,
      onBatch: (requests) => {
        batched.batches++;
        batched.requests += requests;
        onBatch?.(requests);
      },
      clock,
    },
    registry,
    limits,
    hasDrifted: canary.hasDrifted,
    isExcluded: canary.isExcluded,
    onImplausibleUsage: reportImplausibleUsage(log),
  });
  return {
    send,
    startDriftChecks: () => driftChecks?.start(),
    stopDriftChecks: () => {
      driftChecks?.close();
      canary.close();
    },
    statistics: () => ({
      cache: {
        enabled: isCacheOn,
        entries: cache.size,
        bytes: cache.bytes,
        max_bytes: settings.VEXEL_CACHE_BYTES,
      },
      batching: {
        enabled: isBatchingOn,
        batches: batched.batches,
        batched_requests: batched.requests,
      },
    }),
    clearCache: () => void cache.clear(),
  };
}

function createCache(
  { settings, log, now, resources }: Runtime,
  shared: SharedEmbeddings | undefined,
): { readonly cache: EmbeddingCache; clearLocal(): Promise<void> } {
  const maxBytes = settings.VEXEL_CACHE_BYTES;
  const ttlMs = settings.VEXEL_CACHE_TTL * 1000;
  const newCache = (file?: EmbeddingCacheStore) => {
    const persistence = shared ? persistInBoth(shared, file) : file;
    return new EmbeddingCache({
      maxBytes,
      ...(persistence && { persistence }),
      ...(ttlMs > 0 && { expiry: { ttlMs, now } }),
    });
  };
  if (maxBytes === 0 || settings.VEXEL_CACHE_PERSIST === "memory") {
    const cache = newCache();
    return { cache, clearLocal: async () => cache.clearMemory() };
  }
  const file = new EmbeddingCacheFile({
    folder: settings.VEXEL_DATA,
    maxBytes,
    keyFormat: cacheKeyFormat,
    ...(ttlMs > 0 && { ttlMs }),
    now,
    report: (reason) => log.error("cache-not-persisted", { reason }),
  });
  resources.defer(() => file.close());
  const cache = newCache(file);
  void file.load((...row) => cache.restore(...row));
  return {
    cache,
    clearLocal: () => {
      cache.clearMemory();
      return file.clear();
    },
  };
}

const persistInBoth = (shared: SharedEmbeddings, file?: EmbeddingCacheStore): CachePersistence => ({
  add: (key, embedding) => {
    file?.add(key, embedding);
    shared.add(key, embedding);
  },
  remove: (keys) => {
    file?.remove(keys);
    shared.remove(keys);
  },
  touch: (key) => file?.touch(key),
  clear: async () => {
    shared.clear();
    await file?.clear();
  },
});

function reportDrift(
  { log, emit }: Runtime,
  { status, model, target, reason }: CanaryReport,
): void {
  const { id: upstream } = target.upstream;
  const fields = { model, upstream, targetModel: target.model, reason };
  if (status === "drifted") log.error("target-drifted", fields);
  else if (status === "realigned") log.warn("target-realigned", fields);
  else log.warn("target-not-compared", fields);
  if (status === "silent") return;
  emit({
    type: `target.${status}`,
    data: { model, upstream, target_model: target.model, reason },
  });
}
