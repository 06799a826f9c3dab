/** Constructs everything once and connects it. Clocks and randomness enter here and nowhere else. */
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { version } from "../package.json";
import { createCors } from "./edge/cors.ts";
import { type Handlers, type Listening, listen } from "./edge/listen.ts";
import { createModels, json } from "./edge/models.ts";
import { buildOpenapi } from "./edge/openapi.ts";
import { createPictures } from "./edge/pictures.ts";
import { welcomePage } from "./edge/welcome.ts";
import { createEmbeddingPath } from "./embedding-path.ts";
import { createDeadlines } from "./gateway/deadline.ts";
import { editsEndpoint } from "./gateway/endpoints/edits.ts";
import { embeddingsEndpoint, engineEmbeddingsEndpoint } from "./gateway/endpoints/embeddings.ts";
import { generationsEndpoint } from "./gateway/endpoints/generations.ts";
import { createServe } from "./gateway/serve.ts";
import { imageStacks } from "./gateway/stages/stack.ts";
import type { Log } from "./observe/log.ts";
import { requestLine } from "./observe/request-line.ts";
import type { Settings } from "./settings.ts";
import type { Snapshot } from "./snapshot/snapshot.ts";
import { sniffImage } from "./std/sniff.ts";
import { LedgerFile } from "./store/ledger-file.ts";
import { LedgerJournal, leftBehind } from "./store/ledger-journal.ts";
import { Pictures } from "./store/pictures.ts";
import { adapters } from "./upstream/adapters/index.ts";
import type { Engine } from "./upstream/contract.ts";
import { createReach } from "./upstream/reach.ts";
import { createSend, isProxied } from "./upstream/send.ts";
import { Ledger } from "./usage/ledger.ts";

/** A small picture is not worth a file. */
const spoolAbove = 256 * 1024;
const day = 86_400_000;
const quietRoutes: ReadonlySet<string> = new Set(["health", "ready"]);
/** How long callers with kept connections are still served, and told to go, before the door is closed. */
export const drainGraceMs = 400;

export interface BuildOptions {
  readonly settings: Settings;
  readonly snapshot: () => Snapshot;
  readonly engines: ReadonlyMap<string, Engine>;
  readonly log: Log;
}

export interface Gateway {
  readonly url: string;
  /** From now on /readyz says no. */
  beginDrain(): void;
  /** Calls that are worked on, and answers that are still leaving. */
  inHand(): number;
  close(): Promise<void>;
}

export function build({ settings, snapshot, engines, log }: BuildOptions): Gateway {
  const folder = settings.VEXEL_DATA;
  const spoolFolder = freshFolder(join(folder, "spool"));
  const file = new LedgerFile({ folder, maxBytes: settings.VEXEL_LEDGER_MAX_BYTES });
  takeUp(folder, file, log);
  const journal = new LedgerJournal(folder, Bun.randomUUIDv7());
  const ledger = new Ledger({
    file,
    journal,
    onFault: settings.VEXEL_LEDGER_FAULT,
    report: ({ writable, reason }) =>
      writable
        ? log.warn("ledger-recovered", { reason })
        : log.error("ledger-unwritable", { reason, policy: settings.VEXEL_LEDGER_FAULT }),
  });
  const pictures = new Pictures({
    folder: join(folder, "pictures"),
    ttlMs: settings.VEXEL_PICTURE_TTL * 1000,
    maxBytes: settings.VEXEL_PICTURES_MAX_BYTES,
    now: Date.now,
  });

  const clock = () => performance.now();
  const sender = createSend({
    maxAnswerBytes: settings.VEXEL_MAX_ANSWER_BYTES,
    clock,
    proxied: isProxied(process.env),
  });
  const reach = createReach({ adapters, engines, send: sender.send, now: Date.now });
  const vectors = createEmbeddingPath({
    settings,
    snapshot,
    reach,
    engines,
    log,
    clock,
    now: Date.now,
  });
  const images = imageStacks(reach);
  const deadlines = createDeadlines(clock);
  const { serve, inHand } = createServe({
    snapshot,
    ledger,
    keepPicture: async (bytes, publicUrl) => {
      const name = await pictures.keep(bytes, sniffImage(bytes) ?? "image/svg+xml");
      return `${publicUrl}/pictures/${name}`;
    },
    report: (trip, error) => {
      const level = trip.status >= 500 ? "warn" : "info";
      if (log.writes(level)) {
        log[level]("request", { ...requestLine(trip), why: error?.details.logged });
      }
      if (error?.fault === "internal") logDefect(log, trip.requestId, error.cause);
    },
    onDefect: (requestId, error) => logDefect(log, requestId, error),
    startDeadline: deadlines.start,
    timeoutMs: {
      embedding: settings.VEXEL_EMBEDDINGS_TIMEOUT * 1000,
      image: settings.VEXEL_IMAGES_TIMEOUT * 1000,
    },
    streamTimes: { patienceMs: 10_000, heartbeatMs: 15_000 },
    maxConcurrent: settings.VEXEL_MAX_CONCURRENT,
    clock,
    now: Date.now,
  });

  let draining = false;
  const ready = (): boolean =>
    !draining && (ledger.writable || settings.VEXEL_LEDGER_FAULT === "serve");
  const models = createModels({ snapshot, startedAt: Math.floor(Date.now() / 1000) });
  const embeddings = embeddingsEndpoint({ maxInputs: settings.VEXEL_MAX_INPUTS });
  const engineEmbeddings = engineEmbeddingsEndpoint({ maxInputs: settings.VEXEL_MAX_INPUTS });
  const handlers: Handlers = {
    embeddings: (incoming) => serve(embeddings, vectors.send, incoming),
    engineEmbeddings: (incoming) => serve(engineEmbeddings, vectors.send, incoming),
    generations: (incoming) => serve(generationsEndpoint, images.generations, incoming),
    edits: (incoming) => serve(editsEndpoint, images.edits, incoming),
    models: models.list,
    model: models.one,
    picture: createPictures(pictures),
    health: () => json({ status: "ok" }),
    ready: () =>
      json(
        {
          status: ready() ? "ready" : "not ready",
          draining,
          ledger: ledger.writable ? "writable" : "unwritable",
          models: snapshot().models.size,
        },
        ready() ? 200 : 503,
      ),
    openapi: ({ publicUrl }) => json(buildOpenapi(publicUrl, version)),
    welcome: ({ publicUrl }) => ({
      status: 200,
      headers: {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
      },
      body: welcomePage({ publicUrl, snapshot: snapshot(), ready: ready(), version }),
    }),
  };

  const listening = (): Listening =>
    listen({
      host: settings.HOST,
      port: settings.PORT,
      handlers,
      cors: createCors(settings.VEXEL_CORS_ORIGINS),
      maxBodyBytes: settings.VEXEL_MAX_BODY_BYTES,
      form: {
        folder: spoolFolder,
        memoryBytes: spoolAbove,
        maxFileBytes: settings.VEXEL_MAX_FILE_BYTES,
        maxFormBytes: settings.VEXEL_MAX_UPLOAD_BYTES,
      },
      publicUrl: settings.VEXEL_PUBLIC_URL,
      bodyMs: settings.VEXEL_BODY_TIMEOUT * 1000,
      clock,
      report: ({ latencyMs, requestId, route, ...told }) => {
        // Whoever looks every second whether we live would drown everything else.
        const level = quietRoutes.has(route) && told.status < 400 ? "debug" : "info";
        const ms = Math.round(latencyMs * 10) / 10;
        log[level]("request", { ...told, endpoint: route, ms, request: requestId });
      },
      onDefect: (requestId, error) => logDefect(log, requestId, error),
    });
  let edge: Listening;
  try {
    edge = listening();
  } catch (error) {
    deadlines.close();
    vectors.close();
    journal.close();
    file.close();
    throw error;
  }

  const sweeping = setInterval(() => void pictures.sweep(), 60_000);
  const pruning = setInterval(() => prune(file, settings.VEXEL_LEDGER_DAYS, log), 60_000);
  void pictures.sweep();

  return {
    url: edge.url,
    inHand: () => Math.max(inHand(), edge.pending()),
    beginDrain: () => {
      draining = true;
      edge.beginStop();
      // Closing at once would cut off whoever is sending the next call on a kept connection at this moment.
      setTimeout(() => void edge.stop(false), drainGraceMs);
    },
    close: async () => {
      clearInterval(sweeping);
      clearInterval(pruning);
      await edge.stop(true);
      // Those that were cut off have a row to write too.
      await untilSettled(inHand);
      deadlines.close();
      vectors.close();
      sender.close();
      await Promise.all([...new Set(engines.values())].map((engine) => engine.close?.()));
      const { lost } = ledger.close();
      if (lost > 0) log.error("ledger-rows-lost", { rows: lost });
      journal.close();
      file.close();
    },
  };
}

/** Rows that a process which is no more had not brought into the ledger. */
function takeUp(folder: string, file: LedgerFile, log: Log): void {
  for (const { rows, unreadable, remove } of leftBehind(folder)) {
    if (unreadable > 0) log.error("ledger-rows-lost", { rows: unreadable });
    try {
      file.write(rows);
      remove();
    } catch (error) {
      // They stay where they are; the ledger's own writes will tell of the trouble as well.
      const reason = error instanceof Error ? error.message : String(error);
      log.error("ledger-unwritable", { reason, rows: rows.length });
    }
  }
}

/** In small bites: it happens on the thread that serves. */
function prune(file: LedgerFile, days: number, log: Log): void {
  if (days === 0) return;
  try {
    file.prune(Date.now() - days * day, 1000);
  } catch (error) {
    // Locked or full: the ledger's own writes tell of it as well, and there is a next time.
    log.warn("ledger-not-pruned", {
      reason: error instanceof Error ? error.message : String(error),
    });
  }
}

async function untilSettled(inHand: () => number): Promise<void> {
  const until = performance.now() + 1000;
  while (inHand() > 0 && performance.now() < until) await Bun.sleep(5);
}

/** What lay here when the last process ended belongs to calls that are over. */
function freshFolder(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(path)) rmSync(join(path, name), { force: true, recursive: true });
  return path;
}

/** The stack goes to the log and never to a caller. */
function logDefect(log: Log, requestId: string, error: unknown): void {
  log.error("defect", {
    request: requestId,
    error: error instanceof Error ? (error.stack ?? error.message) : String(error),
  });
}
