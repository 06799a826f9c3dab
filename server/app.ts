/**
 * Composition root: constructs every part once and wires the parts together. The clocks and the random numbers
 * that decisions depend on enter here, and in main.ts for the code that runs before.
 */
import { version } from "../package.json";
import { LiveTail } from "./admin/reads/live-tail.ts";
import { openReplicaReports, type ProcessReport } from "./admin/reads/replica-reports.ts";
import { reportProcess } from "./admin/reads/report-process.ts";
import { openSharedLiveTail } from "./admin/reads/shared-live-tail.ts";
import { createServeAs } from "./api/route-handlers.ts";
import { createWebhookEndpointHandlers } from "./api/webhook-endpoints.ts";
import { openEvents } from "./events/open-events.ts";
import type { BuildOptions, Gateway } from "./gateway.ts";
import { maxConnections } from "./http/max-connections.ts";
import { ByteTurns } from "./lib/byte-turns.ts";
import { commaList } from "./lib/comma-list.ts";
import { newReplicaId } from "./lib/replica-id.ts";
import { ignoreRejection } from "./lib/tasks.ts";
import { ResponseMemory } from "./limits/response-memory.ts";
import { gatewayGauges } from "./observe/metrics/gateway-gauges.ts";
import { openMetrics } from "./observe/metrics/open-metrics.ts";
import { StoreLatency } from "./observe/metrics/store-latency.ts";
import type { RequestObserver } from "./observe/request-line.ts";
import type { WorkerReports } from "./process/worker-process.ts";
import { shuttingDownError } from "./request/deadline.ts";
import { showTargets } from "./routing/show-target.ts";
import { diskSpace } from "./temp-storage/disk-reserve.ts";
import { createConnectionTests } from "./upstream/connection-test/connection-tests.ts";
import { needsFetch } from "./upstream/transport/index.ts";
import { wireAdmin } from "./wiring/admin.ts";
import { openStoredData, wireFiles } from "./wiring/files.ts";
import { wireHandlers } from "./wiring/handlers.ts";
import { wireJobs } from "./wiring/jobs.ts";
import { readConfiguredCertificate, startListener, wireCertificate } from "./wiring/listener.ts";
import { wireRequestPath } from "./wiring/request-path.ts";
import type { Runtime } from "./wiring/runtime.ts";
import { secretBoxFor, wireTempStorage } from "./wiring/storage.ts";
import { refuseJob, refusingHandlers } from "./wiring/unavailable-storage.ts";

/**
 * At shutdown, how long clients with keep-alive connections are still served, with `connection: close`, before the
 * listener closes.
 */
const drainGraceMs = 400;

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

function assemble(options: BuildOptions, resources: AsyncDisposableStack): Gateway {
  const { settings, snapshot, log, configChanges, shared, otherWorkers, tracing } = options;
  // First: if the certificate cannot be used, nothing has been opened yet.
  const configured = readConfiguredCertificate(settings);
  const startedAt = Date.now();
  const clock = () => performance.now();
  const withoutEvents = {
    settings,
    snapshot,
    log,
    now: shared?.now ?? Date.now,
    systemNow: Date.now,
    clock,
    random: Math.random,
    byteTurns: new ByteTurns(clock),
    resources,
    replica: options.replica ?? newReplicaId(),
    responseMemory: new ResponseMemory(settings.VEXEL_RESPONSE_MEMORY_BYTES),
    secrets: secretBoxFor(settings),
  };
  const temp = wireTempStorage(withoutEvents);
  const fetchOnly = needsFetch(process.env);
  // Before the parts that emit events, so that it is closed after them: they may emit events while they close.
  const events = openEvents({
    ...withoutEvents,
    folder: settings.VEXEL_DATA,
    version,
    shared,
    fetchOnly,
    webhookDelaysMs: options.webhookDelaysMs,
    trustedHosts: commaList(settings.VEXEL_WEBHOOK_PRIVATE),
    mail: { smtpUrl: settings.VEXEL_SMTP_URL, from: settings.VEXEL_SMTP_FROM },
  });
  const runtime: Runtime = { ...withoutEvents, emit: events.emit };
  const observers = new Set<RequestObserver>();
  if (tracing) {
    observers.add((record) => tracing.observe(record));
    // After the request path, whose last requests are traced.
    resources.defer(() => tracing.close());
  }
  const connections = maxConnections({
    configured: settings.VEXEL_MAX_CONNECTIONS,
    maxConcurrent: settings.VEXEL_MAX_CONCURRENT,
  });
  const storedData = openStoredData(runtime, {
    disk: temp.disk,
    shared,
    objects: options.objects?.objects,
  });
  const files = storedData && wireFiles(runtime, storedData);
  const closing = new AbortController();
  const requestPath = wireRequestPath(runtime, {
    ...options,
    shared,
    objects: options.objects,
    redis: options.redis,
    fetchOnly,
    resolveFileIds: files?.resolveFileIds,
    temp,
    observers,
    onMicroBatch: (requests) => metrics?.requests.observeMicroBatch(requests),
    startTrace: tracing?.start,
    connections,
    closing: closing.signal,
    submitJob: (submission) => (jobs ? jobs.submitImage(submission) : refuseJob()),
  });
  const { ledger, admission, embeddings, upstreams, pipeline } = requestPath;
  const { inFlight } = pipeline;
  // Queued requests do not wait for the next request that applies a raised limit.
  options.onReload?.(() => admission.applyLimits());
  // Requests that were cut off still write their ledger row.
  resources.defer(() => waitUntilIdle(inFlight, 5000));
  const jobs = files && wireJobs(runtime, requestPath, storedData, files.files, events);

  let isDraining = false;
  /** Readiness (`GET /readyz`). Liveness is `GET /healthz`, which always succeeds. */
  const isReady = (): boolean =>
    !isDraining &&
    (ledger.writable || settings.VEXEL_ON_LEDGER_ERROR === "serve") &&
    !embeddings.isComparingTargets();
  const targets = () => showTargets(requestPath.registry, Date.now);
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
        database: requestPath.forwarding,
        inFlight,
        queued: () => admission.queued,
        connections: () => server.connections(),
        disk: () => diskSpace(settings.VEXEL_DATA),
        tracing,
        replicas: requestPath.replicas,
        sharedCache: requestPath.replicas?.embeddings,
        objects: options.objects?.objects,
      }),
    stores: options.storeLatency ?? new StoreLatency(clock),
    exporting: options.exportMetrics,
    others: otherWorkers?.metrics,
  });
  if (metrics) observers.add((record) => metrics.observe(record, clock()));
  // With Redis, workers are replicas like others.
  const others = options.redis
    ? openSharedLiveTail({ ...runtime, redis: options.redis, live: () => live, clock, resources })
    : otherWorkers?.liveRequests;
  const live: LiveTail = new LiveTail({ observers, others });
  const report = (): ProcessReport =>
    reportProcess({
      id: runtime.replica,
      version,
      isReady: isReady(),
      targets: targets(),
      database: requestPath.forwarding,
      redis: options.redis,
      objects: options.objects?.objects,
      statistics: {
        ...embeddings.statistics(),
        started_at: new Date(startedAt).toISOString(),
        requests_in_flight: inFlight(),
        requests_queued: admission.queued,
        live_viewers: live.viewers,
      },
    });
  const replicaReports = openReplicaReports({
    own: report,
    shared: requestPath.replicas?.registry,
    otherWorkers: otherWorkers?.processes,
    resources,
  });
  const alerts = events.watchAlerts({
    queries: requestPath.queries,
    targets: replicaReports.targets,
  });
  const reports: WorkerReports = {
    process: report,
    metrics: () => metrics?.snapshot(),
    liveRequests: (filter) => live.collect(filter),
  };
  const handlers = wireHandlers(runtime, requestPath, {
    startedAt,
    metrics,
    stored: {
      ...refusingHandlers,
      ...files?.handlers,
      ...jobs?.handlers,
      ...createWebhookEndpointHandlers({ ...runtime, endpoints: events.webhookEndpoints }),
    },
    hasConsole: configChanges !== undefined && settings.VEXEL_CONSOLE === "on",
    isReady,
    isDraining: () => isDraining,
    isComparing: embeddings.isComparingTargets,
    connections: () => server.connections(),
  });
  const isAdminOn = settings.VEXEL_CONSOLE === "on" || settings.VEXEL_ADMIN_TOKEN !== "";
  const admin =
    configChanges && isAdminOn
      ? wireAdmin(runtime, {
          ...configChanges,
          ...requestPath,
          ...replicaReports,
          eventViews: events.views,
          alerts,
          clientJobs: files &&
            jobs && {
              ...files,
              jobs: jobs.jobs,
              batches: jobs.batches,
              estimateBatch: jobs.estimateBatch,
            },
          shared,
          passwordCost: options.passwordCost,
          ...createConnectionTests({
            ...upstreams,
            now: Date.now,
            clock,
            fetchOnly,
            createTemp: temp.createTemp,
          }),
          capabilitiesOf: upstreams.client.imageCapabilities,
          serve: createServeAs(requestPath.modelServices),
          live,
          endUserOf: (given) => requestPath.attribution.endUserOf(given),
          fileProblems: () => ({
            "vexel.yaml": options.fileProblem?.(),
            "TLS certificate": certificate?.problem(),
          }),
        })
      : undefined;
  const certificate = configured && wireCertificate(runtime, configured);
  const server = startListener(runtime, {
    handlers,
    mounts: admin?.mounts ?? [],
    maxConnections: connections,
    minBodyRate: options.minBodyRate,
    tls: certificate?.current,
    temp,
    metrics,
    isWorker: otherWorkers !== undefined,
  });
  resources.defer(() => server.stop(true));
  embeddings.startDriftChecks();
  resources.defer(embeddings.stopDriftChecks);
  resources.defer(() => live.close());

  return {
    url: server.url,
    targetRegistry: requestPath.registry,
    execute: pipeline.execute,
    send: requestPath.send,
    events,
    consolePath: async () => admin?.consolePath(),
    reports,
    inFlight: () => Math.max(inFlight(), server.pending()),
    admittedImages: requestPath.admittedImages,
    drainGraceMs,
    beginDrain: () => {
      isDraining = true;
      live.close();
      embeddings.stopDriftChecks();
      jobs?.stop();
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
