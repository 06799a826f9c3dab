/** Constructs the image pipeline: stages, image worker, downloads, and the idempotency store. */

import { vendorImageStages } from "../batches/vendor/stages.ts";
import { openIdempotency } from "../idempotency/open-idempotency.ts";
import {
  createImageDownload,
  createImageTools,
  type DownloadLimits,
} from "../images/image-tools.ts";
import { commaList } from "../lib/comma-list.ts";
import type { TargetLimitOptions } from "../limits/target-limits.ts";
import type { Execute } from "../pipeline/handle-request.ts";
import { createCheckPrompt } from "../pipeline/internal-requests.ts";
import { reportImplausibleUsage } from "../pipeline/report-implausible-usage.ts";
import { imageStages } from "../pipeline/stages.ts";
import type { TargetRegistry } from "../routing/target-registry.ts";
import type { RequestClaims } from "../storage/redis/request-claims.ts";
import type { ObjectStore } from "../storage/s3/object-store.ts";
import type { DiskReserve } from "../temp-storage/disk-reserve.ts";
import { adapters } from "../upstream/adapters/index.ts";
import type { UpstreamClient } from "../upstream/client.ts";
import type { Target } from "../upstream/contract.ts";
import { createImageWorker, type ImageWorker } from "../workers/image/image-worker.ts";
import type { Runtime } from "./runtime.ts";

interface ImagesWiringOptions {
  readonly upstreamClient: UpstreamClient;
  readonly imageWorker: ImageWorker;
  readonly registry: TargetRegistry;
  readonly limits: TargetLimitOptions;
  readonly download: DownloadLimits;
  /** Free health check of a target. */
  readonly isReachable: (target: Target) => Promise<boolean>;
  readonly disk: DiskReserve;
  readonly execute: Execute;
  /** Has the responses that all replicas replay. Undefined if responses are in the data folder only. */
  readonly objects: ObjectStore | undefined;
  /** The claims that replicas share. Undefined if this is the only replica. */
  readonly claims: Pick<RequestClaims, "claim"> | undefined;
}

/** The client waits for a response that is complete without the download, so the timeout is short. */
const optionalDownloadTimeoutMs = 10_000;
/** No image of a vendor is larger. */
const maxDownloadBytes = 64 * 1024 * 1024;
const downloadTimeoutMs = 60_000;

export function wireImages(runtime: Runtime, options: ImagesWiringOptions) {
  const { settings, log } = runtime;
  const { upstreamClient, imageWorker, registry, limits, isReachable, execute, download } = options;
  const onImplausibleUsage = reportImplausibleUsage(log);
  const tools = createImageTools({
    capabilitiesOf: upstreamClient.imageCapabilities,
    imageWorker,
    download,
    maxFileBytes: settings.VEXEL_MAX_FILE_BYTES,
  });
  return {
    /** For lines that the batch of a vendor runs. */
    vendor: vendorImageStages({ adapters, tools, onImplausibleUsage }),
    ...imageStages(upstreamClient, {
      tools,
      checkPrompt: createCheckPrompt({
        execute,
        moderation: upstreamClient.moderation,
        limits,
        imageTimeoutMs: settings.VEXEL_IMAGES_TIMEOUT * 1000,
        onImplausibleUsage,
      }),
      checkHealth: isReachable,
      registry,
      limits,
      onImplausibleUsage,
    }),
    idempotencyStore: openIdempotency({
      ...runtime,
      folder: settings.VEXEL_DATA,
      ttlMs: settings.VEXEL_RESPONSE_TTL * 1000,
      maxBytes: settings.VEXEL_RESPONSES_MAX_BYTES,
      disk: options.disk,
      objects: options.objects,
      claims: options.claims,
    }),
    downloadLink: createImageDownload({
      ...download,
      timeoutMs: Math.min(optionalDownloadTimeoutMs, download.timeoutMs),
    }),
  };
}

/**
 * The child processes that decode images, for image requests and for embeddings of images. `folder`: for temp files.
 */
export function wireImageWorker({ resources }: Runtime, folder: string): ImageWorker {
  const imageWorker = createImageWorker({ folder });
  resources.defer(() => imageWorker.close());
  return imageWorker;
}

export const downloadLimits = (
  settings: Runtime["settings"],
  timeoutMs = downloadTimeoutMs,
): DownloadLimits => ({
  maxBytes: maxDownloadBytes,
  timeoutMs,
  trusted: commaList(settings.VEXEL_DOWNLOAD_PRIVATE),
});
