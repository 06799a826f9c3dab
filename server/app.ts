/**
 * Composition root: constructs every part once and wires the parts together. The clocks and the random numbers
 * that decisions depend on enter here, and in main.ts for the code that runs before.
 */
import { version } from "../package.json";
import { LiveTail } from "./admin/reads/live-tail.ts";
import { mergeStatistics, mergeTargets } from "./admin/reads/merge-workers.ts";
import { createImageFiles } from "./api/image-files.ts";
import { createImageResultHandler } from "./api/image-results.ts";
import { createModelHandlers, createServeAs } from "./api/route-handlers.ts";
import { createStatusHandlers } from "./api/status-handlers.ts";
import { openBudgets } from "./budgets/open-budgets.ts";
import type { Snapshot } from "./config/snapshot.ts";
import { type OpenedEvents, openEvents } from "./events/open-events.ts";
import { unknownUrl } from "./http/dispatch.ts";
import { maxConnections } from "./http/max-connections.ts";
import type { Handlers } from "./http/routes.ts";
import { createLinkStores } from "./images/image-links.ts";
import { tryPlanQuery } from "./images/plan/plan.ts";
import type { Log } from "./lib/log.ts";
import { ignoreRejection } from "./lib/tasks.ts";
import { ResponseMemory } from "./limits/response-memory.ts";
import { gatewayGauges } from "./observe/metrics/gateway-gauges.ts";
import { openMetrics } from "./observe/metrics/open-metrics.ts";
import { logInternalError, type RequestObserver, reportRequests } from "./observe/request-line.ts";
import type { Tracing } from "./observe/traces/open-tracing.ts";
import { AdmittedImages } from "./pipeline/admitted-images.ts";
import { createPipeline, type Execute } from "./pipeline/handle-request.ts";
import type { StageLists } from "./pipeline/stages.ts";
import type { OtherWorkers, WorkerReports } from "./process/worker-process.ts";
import { shuttingDownError } from "./request/deadline.ts";
import { showTargets } from "./routing/show-target.ts";
import type { TargetRegistry } from "./routing/target-registry.ts";
import type { Settings } from "./settings.ts";
import type { SharedStorage } from "./storage/postgres/shared-storage.ts";
import type { RedisConnection } from "./storage/redis/client.ts";
import type { ObjectStorage } from "./storage/s3/object-storage.ts";
import { adapters } from "./upstream/adapters/index.ts";
import { createUpstreamClient } from "./upstream/client.ts";
import { createConnectionTests } from "./upstream/connection-test/connection-tests.ts";
import type { BuiltInModel, Target } from "./upstream/contract.ts";
import { isReachable, probe } from "./upstream/probe.ts";
import { createTransport, needsFetch } from "./upstream/transport/index.ts";
import { type AdminOptions, wireAdmin } from "./wiring/admin.ts";
import { wireEmbeddings } from "./wiring/embeddings.ts";
import { wireImages } from "./wiring/images.ts";
import { wireLimits } from "./wiring/limits.ts";
import { readConfiguredCertificate, startListener, wireCertificate } from "./wiring/listener.ts";
import type { Runtime } from "./wiring/runtime.ts";
import {
  wireImageLinks,
  wireLedger,
  wireReplicas,
  wireStoredContent,
  wireTempStorage,
} from "./wiring/storage.ts";
import { wireTargetRegistry } from "./wiring/target-registry.ts";

/** The timeout of the free health check of an ejected target. */
const healthCheckTimeoutMs = 5000;
/**
 * At shutdown, how long clients with keep-alive connections are still served, with `connection: close`, before the
 * listener closes.
 */
const drainGraceMs = 400;
export const streamTimes = { firstEventMs: 10_000, heartbeatMs: 15_000 } as const;

interface BuildOptions {
  readonly settings: Settings;
  readonly snapshot: () => Snapshot;
  /** Calls the listener after each reload. Absent: the configuration is not reloaded. */
  readonly onReload?: (listener: () => void) => void;
  /** Why the configuration file was not applied. Undefined, or absent: the file is in force. */
  readonly fileProblem?: () => string | undefined;
  readonly builtInModels: ReadonlyMap<string, BuiltInModel>;
  readonly log: Log;
  /** What the admin API needs to change API keys and entities. Absent: the admin API and the console are off. */
  readonly configChanges?: Pick<
    AdminOptions,
    "keys" | "applyKeyChanges" | "entities" | "applyEntityChanges"
  >;
  /** The storage that replicas share. Absent: everything is in the data folder. */
  readonly shared?: SharedStorage | undefined;
  /** The object store that replicas share. Absent: images and responses are in the data folder. */
  readonly objects?: ObjectStorage | undefined;
  /** Absent: tracing is off. The gateway closes it. */
  readonly tracing?: Tracing | undefined;
  /** The Redis server that replicas share. Absent: this process counts limits and budgets for itself. */
  readonly redis?: RedisConnection | undefined;
  /**
   * The process is one of several workers: it shares its port, and its supervisor serves the port of the metrics.
   * Absent: the gateway has one process.
   */
  readonly otherWorkers?: OtherWorkers | undefined;
  /** The delays between delivery attempts of a webhook. Absent: the defaults. */
  readonly webhookDelaysMs?: readonly number[];
  /** The cost of a password hash. Absent: the cost in production. */
  readonly passwordCost?: AdminOptions["passwordCost"];
}

export interface Gateway {
  readonly url: string;
  /** Records events and delivers them to webhooks. */
  readonly events: Pick<OpenedEvents, "emit" | "onKeysChanged">;
  /** The health of all targets. */
  readonly targetRegistry: TargetRegistry;
  /** The path of the console, or of its one-time link while it has no user. Undefined: the console is off. */
  consolePath(): Promise<string | undefined>;
  /** Executes a request without HTTP, with the stages of its operation. */
  readonly execute: Execute;
  readonly send: StageLists;
  /** What this process reports of itself. */
  readonly reports: WorkerReports;
  /** From now on /readyz responds 503. */
  beginDrain(): void;
  /** How long clients with keep-alive connections are still served. */
  readonly drainGraceMs: number;
  /** Requests in flight, including responses that are still being sent. */
  inFlight(): number;
  /** At shutdown: the image requests that the gateway finishes. */
  readonly admittedImages: AdmittedImages;
  close(): Promise<void>;
}

/** If a part cannot be created, the parts that were created before are closed. */
export function build(options: BuildOptions): Gateway {
  const resources = new AsyncDisposableStack();
  try {
    return assemble(options, resources);
  } catch (error) {
    ignoreRejection(resources.disposeAsync());
    throw error;
  }
}

function assemble(
  {
    settings,
    snapshot,
    onReload,
    fileProblem,
    builtInModels,
    log,
    configChanges,
    shared,
    objects,
    redis,
    otherWorkers,
    passwordCost,
    tracing,
    webhookDelaysMs,
  }: BuildOptions,
  resources: AsyncDisposableStack,
): Gateway {
  // First: if the certificate cannot be used, nothing has been opened yet.
  const configured = readConfiguredCertificate(settings);
  const startedAt = Date.now();
  const folder = settings.VEXEL_DATA;
  const clock = () => performance.now();
  const withoutEvents = {
    settings,
    snapshot,
    log,
    now: Date.now,
    clock,
    random: Math.random,
    resources,
  };
  const temp = wireTempStorage(withoutEvents);
  const clientConnections = maxConnections({
    configured: settings.VEXEL_MAX_CONNECTIONS,
    maxConcurrent: settings.VEXEL_MAX_CONCURRENT,
  });
  // Called only after the target registry below is created.
  const targets = () => showTargets(targetRegistry, Date.now);
  // Before the parts that emit events, so that it is closed after them: they may emit events while they close.
  const fetchOnly = needsFetch(process.env);
  const events = openEvents({
    ...withoutEvents,
    folder,
    version,
    shared,
    fetchOnly,
    webhookDelaysMs,
  });
  const runtime: Runtime = { ...withoutEvents, emit: events.emit };
  const replicas = redis && wireReplicas(runtime, redis);
  const openedLedger = wireLedger(runtime, shared);
  const { ledger } = openedLedger;
  resources.defer(async () => {
    await Promise.all([...new Set(builtInModels.values())].map((model) => model.close?.()));
  });
  const imageLinks = wireImageLinks(runtime, temp.disk, objects?.images);

  const transport = createTransport({
    maxResponseBytes: settings.VEXEL_MAX_RESPONSE_BYTES,
    clock,
    fetchOnly,
    onUnsolicited: ({ address, earlierResponsesSuspect }) => {
      log.error("unsolicited-response", { address, cacheCleared: earlierResponsesSuspect });
      // It is unknown which cached vectors came from the wrong response, so all are evicted.
      if (earlierResponsesSuspect) embeddings.clearCache();
    },
  });
  resources.defer(transport.close);
  const targetRegistry = wireTargetRegistry(runtime);
  const clientOptions = { adapters, builtInModels, now: Date.now };
  const upstreamClient = createUpstreamClient({
    ...clientOptions,
    send: transport.send,
    onRateLimitExhausted: targetRegistry.reportExhausted.bind(targetRegistry),
  });
  const limits = wireLimits(runtime, replicas?.pools);
  // Queued requests do not wait for the next request that applies a raised limit.
  onReload?.(() => limits.admission.applyLimits());
  // The gauges are read only after the parts below are created.
  const metrics = openMetrics({
    host: settings.HOST,
    port: settings.VEXEL_METRICS_PORT,
    token: settings.VEXEL_METRICS_TOKEN,
    clock,
    resources,
    startedAt,
    gauges: () =>
      gatewayGauges({
        version,
        targets,
        cache: () => embeddings.statistics().cache,
        isReady,
        ledger,
        database: openedLedger.forwarding,
        inFlight: pipeline.inFlight,
        queued: () => limits.admission.queued,
        connections: () => server.connections(),
        tracing,
        replicas,
        sharedCache: replicas?.embeddings,
      }),
    others: otherWorkers?.metrics,
  });
  // Called only after the pipeline below is created.
  const execute: Execute = (request) => pipeline.execute(request);
  const embeddings = wireEmbeddings(runtime, {
    upstreamClient,
    builtInModels,
    registry: targetRegistry,
    limits,
    execute,
    onBatch: metrics && ((requests) => metrics.requests.observeBatch(requests)),
    shared: replicas?.embeddings,
  });
  const isTargetReachable = ({ upstream }: Target): Promise<boolean> =>
    probe(upstream, { send: transport.send, timeoutMs: healthCheckTimeoutMs, now: Date.now }).then(
      isReachable,
    );
  const images = wireImages(runtime, {
    upstreamClient,
    registry: targetRegistry,
    limits,
    isReachable: isTargetReachable,
    disk: temp.disk,
    execute,
    sharedResponses: objects?.responses ?? shared?.responses,
    claims: replicas?.claims,
  });
  const budgets = openBudgets({
    ...runtime,
    spent: openedLedger.spent,
    reservations: openedLedger.reservations,
    planImageQuery: ({ operation, query, policy }, target) =>
      tryPlanQuery(query, upstreamClient.imageCapabilities(target, operation), policy),
    queueTimeoutMs: settings.VEXEL_QUEUE_TIMEOUT * 1000,
    maxQueued: settings.VEXEL_MAX_QUEUE,
    pools: replicas?.pools,
  });
  const observers = new Set<RequestObserver>();
  if (metrics) observers.add((record) => metrics.requests.observe(record, clock()));
  if (tracing) {
    observers.add((record) => tracing.observe(record));
    resources.defer(() => tracing.close());
  }
  const live = new LiveTail({ observers, others: otherWorkers?.liveRequests });
  const content = wireStoredContent(runtime, temp.disk, objects?.objects);
  const admittedImages = new AdmittedImages();
  const closing = new AbortController();
  const pipeline = createPipeline({
    snapshot,
    ledger,
    links: createLinkStores({ store: imageLinks.store, download: images.downloadLink }),
    idempotencyStore: images.idempotencyStore,
    onDisconnect: settings.VEXEL_ON_DISCONNECT,
    admittedImages,
    closing: closing.signal,
    keepAliveMs: settings.VEXEL_KEEP_ALIVE * 1000,
    createTemp: temp.createTemp,
    startTrace: tracing?.start,
    report: reportRequests(log, observers),
    onInternalError: (requestId, error) => logInternalError(log, requestId, error),
    timeoutMs: {
      embedding: settings.VEXEL_EMBEDDINGS_TIMEOUT * 1000,
      image: settings.VEXEL_IMAGES_TIMEOUT * 1000,
    },
    content,
    streamTimes,
    admission: limits.admission,
    responseMemory: new ResponseMemory(settings.VEXEL_RESPONSE_MEMORY_BYTES),
    charging: budgets.charging,
    maxConcurrent: { requests: settings.VEXEL_MAX_CONCURRENT, connections: clientConnections },
    clock,
    now: Date.now,
  });

  const { serve, inFlight } = pipeline;
  resources.defer(() => limits.admission.close());
  // Requests that were cut off still write their ledger row.
  resources.defer(() => waitUntilIdle(inFlight, 5000));

  let isDraining = false;
  /** Readiness (`GET /readyz`). Liveness is `GET /healthz`, which always succeeds. */
  const isReady = (): boolean =>
    !isDraining && (ledger.writable || settings.VEXEL_ON_LEDGER_ERROR === "serve");
  const modelServices = {
    serve,
    send: {
      embeddings: embeddings.send,
      generations: images.generations,
      edits: images.edits,
    },
    maxInputs: settings.VEXEL_MAX_INPUTS,
  };
  const handlers: Handlers = {
    ...createModelHandlers({
      ...modelServices,
      snapshot,
      startedAt: Math.floor(Date.now() / 1000),
      now: Date.now,
    }),
    result: createImageResultHandler({ snapshot, store: images.idempotencyStore, now: Date.now }),
    imageFile: createImageFiles({ store: imageLinks, check: imageLinks.check, now: Date.now }),
    ...createStatusHandlers({
      snapshot,
      version,
      publicUrl: settings.VEXEL_PUBLIC_URL,
      now: Date.now,
      hasConsole: configChanges !== undefined && settings.VEXEL_CONSOLE === "on",
      isReady,
      isDraining: () => isDraining,
      connections: () => server.connections(),
      ledger,
      database: openedLedger.forwarding,
      replicas,
    }),
    metrics: async ({ method, path, headers }) => {
      if (!metrics?.respond) throw unknownUrl(method, path);
      return metrics.respond(headers);
    },
  };

  const reports: WorkerReports = {
    targets,
    metrics: () => metrics?.snapshot(),
    liveRequests: (filter) => live.collect(filter),
    statistics: () => ({
      ...embeddings.statistics(),
      started_at: new Date(startedAt).toISOString(),
      requests_in_flight: inFlight(),
      requests_queued: limits.admission.queued,
      live_viewers: live.viewers,
    }),
  };
  const admin =
    configChanges && (settings.VEXEL_CONSOLE === "on" || settings.VEXEL_ADMIN_TOKEN !== "")
      ? wireAdmin(runtime, {
          targets: async () => mergeTargets(targets(), (await otherWorkers?.targets()) ?? []),
          ...configChanges,
          eventViews: events.views,
          shared,
          passwordCost,
          ...createConnectionTests({
            now: Date.now,
            clock,
            send: transport.send,
            fetchOnly,
            createClient: (send) => createUpstreamClient({ ...clientOptions, send }),
            createTemp: temp.createTemp,
          }),
          capabilitiesOf: upstreamClient.imageCapabilities,
          serve: createServeAs(modelServices),
          queries: openedLedger.queries,
          ledger,
          live,
          content,
          fileProblems: () => ({
            "vexel.yaml": fileProblem?.(),
            "TLS certificate": certificate?.problem(),
          }),
          budgets: budgets.budgets,
          admission: limits.admission,
          statistics: async () =>
            mergeStatistics(reports.statistics(), (await otherWorkers?.statistics()) ?? []),
        })
      : undefined;
  const certificate = configured && wireCertificate(runtime, configured);
  const server = startListener(runtime, {
    handlers,
    mounts: admin?.mounts ?? [],
    maxConnections: clientConnections,
    tls: certificate?.current,
    temp,
    metrics,
    isWorker: otherWorkers !== undefined,
  });
  resources.defer(() => server.stop(true));

  embeddings.startDriftChecks();
  resources.defer(embeddings.stopDriftChecks);
  // While the object store is unreachable, expired images wait for the next sweep.
  const sweepImages = (): void => ignoreRejection(imageLinks.sweep());
  const sweeping = setInterval(sweepImages, 60_000);
  resources.defer(() => clearInterval(sweeping));
  resources.defer(() => live.close());
  sweepImages();

  return {
    url: server.url,
    targetRegistry,
    execute,
    send: modelServices.send,
    events,
    consolePath: async () => admin?.consolePath(),
    reports,
    inFlight: () => Math.max(inFlight(), server.pending()),
    admittedImages,
    drainGraceMs,
    beginDrain: () => {
      isDraining = true;
      live.close();
      embeddings.stopDriftChecks();
      server.beginStop();
      // Closing immediately would cut off clients that are sending the next request on a keep-alive connection.
      setTimeout(() => void server.stop(false), drainGraceMs);
    },
    close: async () => {
      // Image requests end first: their clients get an error while the connections are open.
      closing.abort(shuttingDownError());
      await waitUntilIdle(() => Math.max(inFlight(), server.pending()), 1000);
      await resources.disposeAsync();
    },
  };
}

async function waitUntilIdle(inFlight: () => number, ms: number): Promise<void> {
  const until = performance.now() + ms;
  while (inFlight() > 0 && performance.now() < until) await Bun.sleep(5);
}
