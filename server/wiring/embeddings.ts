/** Constructs the embeddings pipeline: stages, cache, single-flight, micro-batching, drift detection. */

import type { Statistics } from "../../contract/admin.ts";
import {
  type VendorStages,
  type VendorStagesOptions,
  vendorStages,
} from "../batches/vendor/stages.ts";
import { openCache } from "../embeddings/cache/open-cache.ts";
import { createDriftDetection } from "../embeddings/drift-detection.ts";
import { SingleFlight } from "../embeddings/single-flight.ts";
import { newRequestId } from "../http/received-request.ts";
import { createImageConverter } from "../images/convert-input-images.ts";
import type { DownloadLimits } from "../images/image-tools.ts";
import { createImageLoader } from "../images/load-input-images.ts";
import type { ImageLinks } from "../images/open-image-links.ts";
import type { TargetLimitOptions } from "../limits/target-limits.ts";
import type { Execute } from "../pipeline/handle-request.ts";
import { createCanaryRequest } from "../pipeline/internal-requests.ts";
import { reportImplausibleUsage } from "../pipeline/report-implausible-usage.ts";
import { embeddingsStages, type StageLists } from "../pipeline/stages.ts";
import type { TargetRegistry } from "../routing/target-registry.ts";
import type { SharedEmbeddings } from "../storage/redis/shared-embeddings.ts";
import { adapters } from "../upstream/adapters/index.ts";
import type { UpstreamClient } from "../upstream/client.ts";
import type { BuiltInModel } from "../upstream/contract.ts";
import { createDownload } from "../upstream/download/index.ts";
import type { ImageWorker } from "../workers/image/image-worker.ts";
import type { Runtime } from "./runtime.ts";

interface EmbeddingsWiringOptions {
  readonly upstreamClient: UpstreamClient;
  readonly imageWorker: ImageWorker;
  readonly builtInModels: ReadonlyMap<string, BuiltInModel>;
  /** The images that this gateway served. */
  readonly imageLinks: Pick<ImageLinks, "check" | "find">;
  readonly registry: TargetRegistry;
  readonly limits: TargetLimitOptions;
  readonly download: DownloadLimits;
  /** Called with the number of requests of each micro-batch of at least two. */
  readonly onMicroBatch?: ((requests: number) => void) | undefined;
  /** The cache that replicas share. */
  readonly shared?: SharedEmbeddings | undefined;
  /** Called only after `startDriftChecks`. */
  readonly execute: Execute;
}

interface EmbeddingsWiring {
  readonly send: StageLists["embeddings"];
  /** For lines that the batch of a vendor runs. */
  readonly vendor: VendorStages;
  startDriftChecks(): void;
  /** After a start: a target is not used yet, because it is being compared with the first target of its model. */
  isComparingTargets(): boolean;
  /** Cancels the drift checks in flight, and starts no more. */
  stopDriftChecks(): void;
  statistics(): Pick<Statistics, "cache" | "batching">;
  /** Evicts every cached vector. */
  clearCache(): void;
}

const canaryTimeoutMs = 30_000;

/** Of one image. The image worker decodes no larger one. */
const maxImagePixels = 64_000_000;

export function wireEmbeddings(
  runtime: Runtime,
  options: EmbeddingsWiringOptions,
): EmbeddingsWiring {
  const { settings, snapshot, log, clock } = runtime;
  const {
    upstreamClient,
    imageLinks,
    builtInModels,
    registry,
    limits,
    execute,
    onMicroBatch,
    shared,
  } = options;
  const { cache, clearLocal } = openCache({
    ...runtime,
    folder: settings.VEXEL_CACHE_PERSIST === "memory" ? undefined : settings.VEXEL_DATA,
    maxBytes: settings.VEXEL_CACHE_BYTES,
    ttlMs: settings.VEXEL_CACHE_TTL * 1000,
    shared,
  });
  const onImplausibleUsage = reportImplausibleUsage(log);
  const drift = createDriftDetection({
    ...runtime,
    embed: createCanaryRequest({
      execute,
      embeddings: upstreamClient.embeddings,
      limits,
      snapshot,
      newRequestId,
      timeoutMs: canaryTimeoutMs,
      onImplausibleUsage,
    }),
    hours: settings.VEXEL_CANARY_HOURS,
    clearCache: () => cache.clear(),
    clearLocal,
    shared,
  });

  const microBatched = { batches: 0, requests: 0 };
  const isCacheOn = settings.VEXEL_CACHE_BYTES > 0;
  const isBatchingOn = settings.VEXEL_BATCH_WAIT_MS > 0;
  const common: Omit<VendorStagesOptions, "adapters"> = {
    capabilities: upstreamClient.embeddingCapabilities,
    loadImages: createImageLoader({
      download: createDownload(options.download),
      findServed: async (name, search) =>
        imageLinks.check(name, search) === undefined
          ? undefined
          : (await imageLinks.find(name))?.content,
      maxPixels: maxImagePixels,
      maxRequestBytes: settings.VEXEL_MAX_UPLOAD_BYTES,
    }),
    convertImages: createImageConverter(options.imageWorker),
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
    hasDrifted: drift.hasDrifted,
    onImplausibleUsage,
  };
  const send = embeddingsStages(upstreamClient.embeddings, {
    ...common,
    microBatch: {
      enabled: (model) => isBatchingOn && !model.unbatched,
      selfBatching: builtInModels,
      maxWaitMs: settings.VEXEL_BATCH_WAIT_MS,
      onMicroBatch: (requests) => {
        microBatched.batches++;
        microBatched.requests += requests;
        onMicroBatch?.(requests);
      },
      clock,
    },
    registry,
    limits,
    isExcluded: drift.isExcluded,
  });
  return {
    send,
    vendor: vendorStages({ ...common, adapters }),
    startDriftChecks: drift.start,
    isComparingTargets: drift.isComparing,
    stopDriftChecks: drift.stop,
    statistics: () => ({
      cache: {
        enabled: isCacheOn,
        entries: cache.size,
        bytes: cache.bytes,
        max_bytes: settings.VEXEL_CACHE_BYTES,
      },
      batching: {
        enabled: isBatchingOn,
        batches: microBatched.batches,
        batched_requests: microBatched.requests,
      },
    }),
    clearCache: () => void cache.clear(),
  };
}
