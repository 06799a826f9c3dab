/** Constructs everything once and connects it. Clocks and randomness enter here and nowhere else. */
import { version } from "../package.json";
import { createImageResultHandler } from "./api/image-results.ts";
import { createWelcome } from "./api/welcome.ts";
import { validKeyId } from "./auth/authenticate.ts";
import type { Snapshot } from "./config/snapshot.ts";
import { createCors } from "./http/cors.ts";
import { json } from "./http/json-response.ts";
import { type Handlers, type HttpServer, listen } from "./http/listen.ts";
import { createLinkStore } from "./images/image-links.ts";
import { MemoryShares } from "./lib/memory-shares.ts";
import type { Log } from "./observe/log.ts";
import { requestLine } from "./observe/request-line.ts";
import { createServe } from "./pipeline/serve.ts";
import { createDeadlines } from "./request/deadline.ts";
import { showTargets } from "./routing/show-target.ts";
import type { TargetRegistry } from "./routing/target-registry.ts";
import type { Settings } from "./settings.ts";
import { migrateDataFolder } from "./storage/migrate-folders.ts";
import { adapters } from "./upstream/adapters/index.ts";
import { createUpstreamClient } from "./upstream/client.ts";
import type { EmbeddedModel, Target } from "./upstream/contract.ts";
import { isReachable, probe } from "./upstream/probe.ts";
import { createSend, needsFetch } from "./upstream/transport/send.ts";
import { recoverReservationsAtStart, wireBudgets } from "./wiring/budgets.ts";
import { wireEmbeddings } from "./wiring/embeddings.ts";
import { type EventsWiring, wireEvents } from "./wiring/events.ts";
import { createImageLinks } from "./wiring/image-links.ts";
import { wireImages } from "./wiring/images.ts";
import { wireLedger } from "./wiring/ledger.ts";
import { wireLimits } from "./wiring/limits.ts";
import { maxConnections } from "./wiring/max-connections.ts";
import { createModelHandlers } from "./wiring/route-handlers.ts";
import { wireTargetRegistry } from "./wiring/target-registry.ts";
import { wireTempStorage } from "./wiring/temp-storage.ts";

/** A smaller image stays in memory: it is not worth a file. */
const spoolAbove = 256 * 1024;
/** How long a question that costs nothing may take, which looks whether a target is back. */
const lookMs = 5000;
const quietRoutes: ReadonlySet<string> = new Set(["health", "ready"]);
/** How long callers with kept connections are still served, and told to go, before the door is closed. */
export const drainGraceMs = 400;

export interface BuildOptions {
  readonly settings: Settings;
  readonly snapshot: () => Snapshot;
  readonly embeddedModels: ReadonlyMap<string, EmbeddedModel>;
  readonly log: Log;
  /** Between the attempts to reach a webhook. Absent: the usual ones. */
  readonly webhookDelaysMs?: readonly number[];
}

export interface Gateway {
  readonly url: string;
  /** Where changes are told that people wait for. */
  readonly events: Pick<EventsWiring, "emit" | "onKeysChanged">;
  /** What is known of the targets. */
  readonly targetRegistry: TargetRegistry;
  /** From now on /readyz says no. */
  beginDrain(): void;
  /** Calls that are worked on, and answers that are still leaving. */
  inFlight(): number;
  close(): Promise<void>;
}

export function build({
  settings,
  snapshot,
  embeddedModels: engines,
  log,
  ...hurry
}: BuildOptions): Gateway {
  const folder = settings.VEXEL_DATA;
  migrateDataFolder(folder);
  const clock = () => performance.now();
  const world = { now: Date.now, clock, random: Math.random };
  const temp = wireTempStorage({ settings, log, clock });
  // Asked only once there is a roster.
  const targets = () => showTargets(roster, Date.now);
  const events = wireEvents({ settings, snapshot, log, version, targets, ...world, ...hurry });
  recoverReservationsAtStart(folder, log);
  const rows = wireLedger({ settings, log, emit: events.emit, now: Date.now });
  const { ledger } = rows;
  const imageLinks = createImageLinks({
    folder,
    ttlMs: settings.VEXEL_IMAGE_TTL * 1000,
    replayMs: settings.VEXEL_RESPONSE_TTL * 1000,
    maxBytes: settings.VEXEL_IMAGES_MAX_BYTES,
    disk: temp.disk,
    now: Date.now,
  });

  const sender = createSend({
    maxResponseBytes: settings.VEXEL_MAX_RESPONSE_BYTES,
    clock,
    fetchOnly: needsFetch(process.env),
    onUnsolicited: ({ address, inDoubt }) => {
      log.error("unsolicited-response", { address, cacheCleared: inDoubt });
      // Which of the cached vectors came in the wrong response, nobody can tell.
      if (inDoubt) vectors.clearCache();
    },
  });
  const roster = wireTargetRegistry({ snapshot, log, emit: events.emit, ...world });
  const onSpent = roster.reportExhausted.bind(roster);
  const reach = createUpstreamClient({
    adapters,
    embeddedModels: engines,
    send: sender.send,
    now: Date.now,
    onRateLimitExhausted: onSpent,
  });
  const limits = wireLimits({ settings, snapshot, clock });
  const vectors = wireEmbeddings({
    settings,
    snapshot,
    upstream: reach,
    embeddedModels: engines,
    log,
    clock,
    now: Date.now,
    emit: events.emit,
    registry: roster,
    limits,
  });
  const isThere = ({ upstream }: Target): Promise<boolean> =>
    probe(upstream, { send: sender.send, timeoutMs: lookMs, now: Date.now }).then(isReachable);
  const images = wireImages({
    settings,
    upstream: reach,
    log,
    now: Date.now,
    clock,
    registry: roster,
    limits,
    isReachable: isThere,
    disk: temp.disk,
  });
  const money = wireBudgets({
    settings,
    clock,
    folder,
    spent: rows.spent,
    capabilities: reach.imageCapabilities,
    log,
    emit: events.emit,
  });
  const deadlines = createDeadlines(clock);
  const { serve, inHand } = createServe({
    snapshot,
    ledger,
    links: createLinkStore({ store: imageLinks.store, download: images.downloadLink }),
    kept: images.kept,
    onDisconnect: settings.VEXEL_ON_DISCONNECT,
    keepAliveMs: settings.VEXEL_KEEP_ALIVE * 1000,
    createTemp: temp.createTemp,
    report: (record, error) => {
      const level = record.outcome.status >= 500 ? "warn" : "info";
      if (log.writes(level)) {
        log[level]("request", { ...requestLine(record), reason: error?.details.logDetail });
      }
      if (error?.kind === "internal") logDefect(log, record.requestId, error.cause);
    },
    onDefect: (requestId, error) => logDefect(log, requestId, error),
    startDeadline: deadlines.start,
    timeoutMs: {
      embedding: settings.VEXEL_EMBEDDINGS_TIMEOUT * 1000,
      image: settings.VEXEL_IMAGES_TIMEOUT * 1000,
    },
    streamTimes: { patienceMs: 10_000, heartbeatMs: 15_000 },
    admission: limits.admission,
    spending: money.charging,
    maxConcurrent: {
      all: settings.VEXEL_MAX_CONCURRENT,
      // Those that wait take a place in hand, too.
      image: settings.VEXEL_MAX_IMAGE_REQUESTS + settings.VEXEL_MAX_QUEUE,
    },
    clock,
    now: Date.now,
  });

  let draining = false;
  const ready = (): boolean =>
    !draining && (ledger.writable || settings.VEXEL_ON_LEDGER_ERROR === "serve");
  const handlers: Handlers = {
    ...createModelHandlers({
      serve,
      send: {
        embeddings: vectors.send,
        generations: images.generations,
        edits: images.edits,
      },
      maxInputs: settings.VEXEL_MAX_INPUTS,
      snapshot,
      startedAt: Math.floor(Date.now() / 1000),
      now: Date.now,
    }),
    result: createImageResultHandler({ snapshot, store: images.kept, now: Date.now }),
    imageFile: imageLinks.handler,
    formerImageFile: imageLinks.handler,
    ...events.handlers,
    health: () => json({ status: "ok" }),
    ready: () => {
      ledger.verify();
      return json(
        {
          status: ready() ? "ready" : "not ready",
          draining,
          ledger: ledger.writable ? "writable" : "unwritable",
          models: snapshot().models.size,
          connections: edge.connections(),
        },
        ready() ? 200 : 503,
      );
    },
    openapi: async ({ publicUrl }) => {
      // Loaded when it is asked for: few starts ever are, and all would wait for it.
      const { buildOpenapi } = await import("./api/openapi.ts");
      return json(buildOpenapi(publicUrl, version));
    },
    welcome: createWelcome({ snapshot, ready, version, now: Date.now }),
  };

  const listening = (): HttpServer =>
    listen({
      host: settings.HOST,
      port: settings.PORT,
      handlers,
      cors: createCors(settings.VEXEL_CORS_ORIGINS),
      maxBodyBytes: settings.VEXEL_MAX_BODY_BYTES,
      // One key may hold half of it, and that must be enough for the largest body.
      jsonMemory: new MemoryShares(
        Math.max(settings.VEXEL_JSON_MEMORY_BYTES, 2 * settings.VEXEL_MAX_BODY_BYTES),
      ),
      form: {
        folder: temp.folder,
        memoryBytes: spoolAbove,
        maxFileBytes: settings.VEXEL_MAX_FILE_BYTES,
        maxFormBytes: settings.VEXEL_MAX_UPLOAD_BYTES,
        storage: temp.storage,
      },
      publicUrl: settings.VEXEL_PUBLIC_URL,
      bodyMs: settings.VEXEL_BODY_TIMEOUT * 1000,
      minBodyRate: settings.VEXEL_BODY_MIN_RATE,
      maxConnections: maxConnections(settings),
      keyIdOf: (headers) => validKeyId(headers, snapshot(), Date.now()),
      onConnectionsRefused: (report) => log.warn("connections-refused", { ...report }),
      clock,
      report: ({ latencyMs, requestId, route, ...told }) => {
        // Whoever looks every second whether we live would drown everything else.
        const level = quietRoutes.has(route) && told.status < 400 ? "debug" : "info";
        const durationMs = Math.round(latencyMs * 10) / 10;
        log[level]("request", { ...told, endpoint: route, durationMs, requestId });
      },
      onInternalError: (requestId, error) => logDefect(log, requestId, error),
    });
  let edge: HttpServer;
  try {
    edge = listening();
  } catch (error) {
    deadlines.close();
    vectors.close();
    void images.close();
    rows.close();
    events.close();
    throw error;
  }

  const sweeping = setInterval(() => void imageLinks.sweep(), 60_000);
  void imageLinks.sweep();

  return {
    url: edge.url,
    targetRegistry: roster,
    events,
    inFlight: () => Math.max(inHand(), edge.pending()),
    beginDrain: () => {
      draining = true;
      edge.beginStop();
      // Closing at once would cut off whoever is sending the next call on a kept connection at this moment.
      setTimeout(() => void edge.stop(false), drainGraceMs);
    },
    close: async () => {
      clearInterval(sweeping);
      await edge.stop(true);
      // Those that were cut off have a row to write too.
      await untilSettled(inHand);
      limits.admission.close();
      deadlines.close();
      vectors.close();
      sender.close();
      await images.close();
      await Promise.all([...new Set(engines.values())].map((engine) => engine.close?.()));
      rows.close();
      money.close();
      // The last: whoever closes may have something to tell.
      events.close();
    },
  };
}

async function untilSettled(inHand: () => number): Promise<void> {
  const until = performance.now() + 1000;
  while (inHand() > 0 && performance.now() < until) await Bun.sleep(5);
}

/** The stack goes to the log and never to a caller. */
function logDefect(log: Log, requestId: string, error: unknown): void {
  log.error("internal-error", {
    requestId,
    error: error instanceof Error ? (error.stack ?? error.message) : String(error),
  });
}
