/** Constructs the request path: the parts that every request for a model goes through, and their stores. */
import { createEditsEndpoint, type ResolveFileIds } from "../api/edits.ts";
import { openBudgets } from "../budgets/open-budgets.ts";
import { createLinkStores } from "../images/image-links.ts";
import { tryPlanQuery } from "../images/plan/plan.ts";
import { realTimers, repeat } from "../lib/timers.ts";
import { Admission } from "../limits/admission.ts";
import { localRateLimitCounters, sharedRateLimitCounters } from "../limits/rate-limit-counters.ts";
import type { SharedLimiter } from "../limits/shared-limiter.ts";
import type { TargetLimitOptions } from "../limits/target-limits.ts";
import { logInternalError, type RequestObserver, reportRequests } from "../observe/request-line.ts";
import type { PipelineServices } from "../pipeline/dependencies.ts";
import { createPipeline, type Execute } from "../pipeline/handle-request.ts";
import type { StageLists } from "../pipeline/stages.ts";
import { plausibleUsage } from "../pipeline/verify-response.ts";
import { AdmittedImages } from "../request/deadline.ts";
import type { StartTrace } from "../request/request-trace.ts";
import type { SharedStorage } from "../storage/postgres/shared-storage.ts";
import type { RedisConnection } from "../storage/redis/client.ts";
import type { ObjectStorage } from "../storage/s3/object-storage.ts";
import type { OpenedTempStorage } from "../temp-storage/open-temp-storage.ts";
import type { BuiltInModel } from "../upstream/contract.ts";
import type { FetchOnly } from "../upstream/transport/index.ts";
import { wireEmbeddings } from "./embeddings.ts";
import { downloadLimits, wireImages, wireImageWorker } from "./images.ts";
import type { Runtime } from "./runtime.ts";
import {
  wireAttribution,
  wireImageLinks,
  wireLedger,
  wireReplicas,
  wireStoredContent,
} from "./storage.ts";
import { wireUpstreams } from "./upstreams.ts";

interface RequestPathOptions {
  readonly builtInModels: ReadonlyMap<string, BuiltInModel>;
  readonly fetchOnly: FetchOnly;
  /** Undefined if the gateway stores no files. */
  readonly resolveFileIds: ResolveFileIds | undefined;
  readonly temp: OpenedTempStorage;
  /** The storage that replicas share. Undefined if everything is in the data folder. */
  readonly shared: SharedStorage | undefined;
  readonly objects: ObjectStorage | undefined;
  readonly redis: RedisConnection | undefined;
  /** Called with each request that has ended. Observers may be added later. */
  readonly observers: ReadonlySet<RequestObserver>;
  /** Called with the number of requests of each micro-batch of at least two. */
  readonly onMicroBatch: (requests: number) => void;
  /** Undefined if tracing is off. */
  readonly startTrace: StartTrace | undefined;
  /** Max connections of clients. */
  readonly connections: number;
  /** Aborted when the gateway closes. */
  readonly closing: AbortSignal;
  readonly submitJob: NonNullable<PipelineServices["submitJob"]>;
  /** The most bytes of an upstream response. */
  readonly maxResponseBytes?: number;
  /** The timeout of a download. */
  readonly downloadTimeoutMs?: number;
}

const streamTimes = { firstEventMs: 10_000, heartbeatMs: 15_000 } as const;
const sweepImagesEveryMs = 60_000;
/** An image takes that long itself, so its client waits longer for a slot than that of an embedding. */
const imageQueueTimeoutMs = 30_000;

export type RequestPath = ReturnType<typeof wireRequestPath>;

export function wireRequestPath(runtime: Runtime, options: RequestPathOptions) {
  const { settings, snapshot, log, now, clock, resources, replica } = runtime;
  const { builtInModels, fetchOnly, temp, shared, objects, redis } = options;
  const replicas = redis && wireReplicas(runtime, redis);
  const openedLedger = wireLedger(runtime, shared, objects?.objects);
  const upstreams = wireUpstreams(runtime, {
    builtInModels,
    fetchOnly,
    maxResponseBytes: options.maxResponseBytes,
    beforeSend: openedLedger.inFlight.flush,
    // It is unknown which cached vectors came from the wrong response, so all are evicted.
    onSuspectResponses: () => embeddings.clearCache(),
  });
  const { client: upstreamClient, registry } = upstreams;
  const limits = wireLimits(runtime, replicas?.limiter);
  // Called only after the pipeline below is created.
  const execute: Execute = (request) => pipeline.execute(request);
  const imageWorker = wireImageWorker(runtime, temp.folder);
  const imageLinks = wireImageLinks(runtime, temp.disk, objects?.images);
  const download = downloadLimits(settings, options.downloadTimeoutMs);
  const parts = { upstreamClient, imageWorker, registry, limits, execute, download };
  const embeddings = wireEmbeddings(runtime, {
    ...parts,
    builtInModels,
    imageLinks,
    onMicroBatch: options.onMicroBatch,
    shared: replicas?.embeddings,
  });
  const images = wireImages(runtime, {
    ...parts,
    isReachable: upstreams.isReachable,
    disk: temp.disk,
    objects: objects?.objects,
    claims: replicas?.claims,
  });
  const budgets = openBudgets({
    ...runtime,
    ...openedLedger,
    planImageQuery: ({ operation, query, policy }, target) =>
      tryPlanQuery(query, upstreamClient.imageCapabilities(target, operation), policy),
    // Without a shared ledger, no replica would know what the others have spent.
    shared: shared && replicas?.limiter,
  });
  // While the object store is unreachable, expired images wait for the next sweep.
  const stopSweeps = repeat({ everyMs: sweepImagesEveryMs, isImmediate: true }, imageLinks.sweep);
  resources.defer(() => void stopSweeps());
  const content = wireStoredContent(runtime, temp.disk, objects?.objects);
  const admittedImages = new AdmittedImages();
  const attribution = wireAttribution(runtime, budgets.budgets);
  const pipeline = createPipeline({
    snapshot,
    replica,
    ledger: openedLedger.ledger,
    links: createLinkStores({ store: imageLinks.store, download: images.downloadLink }),
    idempotencyStore: images.idempotencyStore,
    admittedImages,
    closing: options.closing,
    submitJob: options.submitJob,
    createTemp: temp.createTemp,
    startTrace: options.startTrace,
    report: reportRequests(log, options.observers),
    onInternalError: (requestId, error) => logInternalError(log, requestId, error),
    timeoutMs: {
      embedding: settings.VEXEL_EMBEDDINGS_TIMEOUT * 1000,
      image: settings.VEXEL_IMAGES_TIMEOUT * 1000,
    },
    content,
    attribution,
    streamTimes,
    admission: limits.admission,
    responseMemory: runtime.responseMemory,
    charging: budgets.charging,
    maxConcurrent: { requests: settings.VEXEL_MAX_CONCURRENT, connections: options.connections },
    clock,
    now,
  });
  resources.defer(() => limits.admission.close());
  const send: StageLists = {
    embeddings: embeddings.send,
    generations: images.generations,
    edits: images.edits,
  };
  return {
    ...openedLedger,
    upstreams,
    registry,
    replicas,
    admission: limits.admission,
    embeddings,
    vendorImages: images.vendor,
    idempotencyStore: images.idempotencyStore,
    budgets: budgets.budgets,
    charging: budgets.charging,
    imageLinks,
    content,
    attribution,
    admittedImages,
    pipeline,
    send,
    modelServices: {
      serve: pipeline.serve,
      send,
      maxInputs: settings.VEXEL_MAX_INPUTS,
      edits: createEditsEndpoint(options.resolveFileIds),
    },
  };
}

/** `shared`: the limits that replicas share. Undefined if each process counts for itself. */
function wireLimits(
  { settings, snapshot, clock }: Runtime,
  shared: SharedLimiter | undefined,
): TargetLimitOptions {
  const waitMs = {
    embedding: settings.VEXEL_QUEUE_TIMEOUT * 1000,
    image: imageQueueTimeoutMs,
  };
  const admission = new Admission({
    snapshot,
    counters: shared ? sharedRateLimitCounters(shared) : localRateLimitCounters,
    shared,
    maxImageRequests: settings.VEXEL_MAX_IMAGE_REQUESTS,
    maxWaiting: settings.VEXEL_MAX_QUEUE,
    queueTimeoutMs: waitMs,
    clock,
    timers: realTimers,
  });
  return { admission, waitMs, clock, usageOf: plausibleUsage };
}
