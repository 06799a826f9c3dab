/** Runs the gateway: loads the configuration, builds the server, listens, reloads on changes, drains, stops. */
import type { Emit } from "../contract/events.ts";
import { version } from "../package.json";
import { build } from "./app.ts";
import { generateKey } from "./auth/generate-key.ts";
import { type Configuration, openConfiguration } from "./config/reload/open-configuration.ts";
import type { Snapshot } from "./config/snapshot.ts";
import { fileText } from "./config/yaml/yaml-file.ts";
import type { Gateway } from "./gateway.ts";
import { errorMessage, errorStack } from "./lib/error-code.ts";
import { createLog, type Log } from "./lib/log.ts";
import { newReplicaId } from "./lib/replica-id.ts";
import { releaseAll } from "./lib/tasks.ts";
import { StoreLatency } from "./observe/metrics/store-latency.ts";
import type { MetricsExport } from "./observe/otlp/export-metrics.ts";
import type { Tracing } from "./observe/otlp/open-tracing.ts";
import { guardAgainstCrashes } from "./process/crash-guard.ts";
import { endProcess, runUntilStopped, watchStopSignals } from "./process/shutdown.ts";
import { listeningFields, startupMessage } from "./process/startup-message.ts";
import {
  openWorkerChannel,
  workersWithoutRedisProblem,
  workerVariable,
} from "./process/worker-process.ts";
import type { Settings } from "./settings.ts";
import type { RedisConnection } from "./storage/redis/client.ts";
import type { ConfigNotices } from "./storage/redis/config-notices.ts";
import type { KeyStore } from "./storage/sql/key-store.ts";
import { unknownSettings } from "./unknown-settings.ts";
import { secretBoxFor } from "./wiring/storage.ts";
import { openStores, type Stores } from "./wiring/stores.ts";
import { buildBuiltInModels } from "./workers/built-in-models.ts";
import { inspectModelDirectory } from "./workers/embedding/model-directory.ts";

interface RunOptions {
  readonly settings: Settings;
  /** The setting or option that names the configuration file: it must exist. Undefined if the path is the default. */
  readonly configNamedBy: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Returns the exit code once the gateway has stopped. */
export async function run({ settings, configNamedBy, env }: RunOptions): Promise<number> {
  // New files are readable by this user only, also in a folder that others may read.
  process.umask(0o077);
  const replica = newReplicaId();
  const log = openLog(settings, replica);
  const clock = () => performance.now();
  const isWorker = env[workerVariable] !== undefined;
  if (settings.VEXEL_WORKERS > 1 && !isWorker) return supervise(settings, env, log, clock);
  const crash = guardAgainstCrashes(log);
  let gateway: Gateway | undefined;
  const storeLatency = new StoreLatency(clock);
  let stores: Stores;
  let configuration: Configuration;
  try {
    const emit: Emit = (event) => gateway?.events.emit(event);
    stores = await openStores({ settings, env, log, now: Date.now, clock, emit, storeLatency });
    configuration = await openConfiguration({
      path: settings.VEXEL_CONFIG,
      namedBy: configNamedBy,
      inspectFolder: inspectModelDirectory,
      env,
      keys: stores.keys,
      entities: stores.entities,
      secrets: secretBoxFor(settings),
      log,
      events: () => gateway?.events,
      now: stores.now,
    });
  } catch (error) {
    return fail(errorMessage(error));
  }
  const { keys, entities, shared, objects, redis, lock } = stores;
  const builtInModels = buildBuiltInModels({
    onReady: (model, metadata) => log.info("built-in-model-ready", { model, ...metadata }),
  });
  if (isWorker && !redis) {
    const problem = workersWithoutRedisProblem(configuration.snapshot());
    if (problem !== undefined) return fail(problem);
  }
  for (const { name, nearest } of unknownSettings(env, fileText(settings.VEXEL_CONFIG).text)) {
    log.warn("unknown-setting", { name, nearest });
  }
  const { applyKeyChanges, applyEntityChanges } = configuration;
  const notices = redis && (await watchConfigChanges(redis, applyKeyChanges, applyEntityChanges));
  const channel = isWorker ? openWorkerChannel() : undefined;
  let newKey: string | undefined;
  try {
    gateway = build({
      settings,
      snapshot: configuration.snapshot,
      onReload: configuration.onReload,
      fileProblem: configuration.fileProblem,
      builtInModels,
      log,
      configChanges: {
        keys,
        applyKeyChanges: () => applyKeyChanges().finally(() => notices?.publish()),
        entities: configuration.entities,
        applyEntityChanges: () => applyEntityChanges().finally(() => notices?.publish()),
      },
      ...(await startTelemetry(settings, replica, log, clock)),
      storeLatency,
      replica,
      shared,
      objects,
      redis,
      otherWorkers: channel?.others,
    });
    // Emits events for keys that were changed while no gateway was running.
    await gateway.events.onKeysChanged(keys);
    // After the gateway listens: if the start failed after a key was created, the key would never be shown.
    newKey = await createFirstKey(settings, configuration, keys, stores.now());
  } catch (error) {
    configuration.close();
    await gateway?.close();
    return fail(startupError(error, settings));
  }
  // Before the startup message: a signal right after it must drain the gateway.
  const stop = watchStopSignals(clock);
  if (!isWorker || env[workerVariable] === "1") {
    await announce(gateway, configuration.snapshot(), { newKey, settings, log });
  }
  channel?.open(gateway.url, gateway.reports);
  const stopping = { stop, crash, isWorker, log, clock };
  await runUntilStopped({ ...stopping, gateway, drainMs: settings.VEXEL_DRAIN_TIMEOUT * 1000 });
  try {
    await releaseAll([
      async () => configuration.close(),
      () => keys.close(),
      () => entities.close(),
      async () => shared?.close(),
      async () => notices?.close(),
      async () => redis?.close(),
      async () => lock.release(),
    ]);
  } catch (error) {
    log.error("internal-error", { error: errorStack(error) });
  }
  log.flush();
  return endProcess(stopping);
}

interface AnnounceOptions {
  readonly newKey: string | undefined;
  readonly settings: Settings;
  readonly log: Log;
}

/** The startup message. With JSON, a program reads the output, and may store it: it gets no secret. */
async function announce(
  { url, consolePath: pathOfConsole }: Gateway,
  snapshot: Snapshot,
  { newKey, settings, log }: AnnounceOptions,
): Promise<void> {
  const consolePath = await pathOfConsole();
  if (settings.VEXEL_LOG_FORMAT === "json") {
    log.info("listening", listeningFields(url, snapshot, consolePath));
  } else {
    process.stdout.write(startupMessage({ url, snapshot, newKey, consolePath }));
  }
}

/** Creates a key if there is none. Its text is not stored, so it must be shown now: there is none with JSON. */
async function createFirstKey(
  { VEXEL_LOG_FORMAT: format }: Settings,
  { snapshot, applyKeyChanges }: Pick<Configuration, "snapshot" | "applyKeyChanges">,
  keys: KeyStore,
  now: number,
): Promise<string | undefined> {
  if (format === "json" || snapshot().keys.size > 0) return undefined;
  const { text, key } = generateKey("default", ["*"], {}, now);
  await keys.create(key);
  await applyKeyChanges();
  return text;
}

/** Runs several workers instead of one gateway. */
async function supervise(
  settings: Settings,
  env: RunOptions["env"],
  log: Log,
  clock: () => number,
): Promise<number> {
  const { VEXEL_METRICS_PORT: metricsPort, VEXEL_METRICS_TOKEN: token, HOST: host } = settings;
  const { superviseWorkers } = await import("./process/supervise-workers.ts");
  return superviseWorkers({
    count: settings.VEXEL_WORKERS,
    port: settings.PORT,
    folder: settings.VEXEL_DATA,
    metrics: metricsPort === 0 ? undefined : { host, port: metricsPort, token },
    env,
    log,
    clock,
    stop: watchStopSignals(clock),
  });
}

/** The packages of OpenTelemetry are loaded only if a collector is configured. */
async function startTelemetry(
  settings: Settings,
  replica: string,
  log: Log,
  clock: () => number,
): Promise<{ tracing?: Tracing; exportMetrics?: MetricsExport }> {
  const endpoint = settings.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (endpoint === "") return {};
  const { openTracing } = await import("./observe/otlp/open-tracing.ts");
  const { openMetricsExport } = await import("./observe/otlp/export-metrics.ts");
  const common = {
    endpoint,
    protocol: settings.OTEL_EXPORTER_OTLP_PROTOCOL,
    version,
    replica,
    log,
  };
  return {
    tracing: openTracing({
      ...common,
      sampler: settings.OTEL_TRACES_SAMPLER,
      share: settings.OTEL_TRACES_SAMPLER_ARG,
      clock,
      random: Math.random,
    }),
    ...(settings.OTEL_METRICS_EXPORTER === "otlp" && {
      exportMetrics: openMetricsExport({
        ...common,
        now: Date.now,
      }),
    }),
  };
}

/** Changes of other replicas are applied at once, instead of at the next poll. */
async function watchConfigChanges(
  redis: RedisConnection,
  ...apply: (() => Promise<void>)[]
): Promise<ConfigNotices> {
  const { watchConfigNotices } = await import("./storage/redis/config-notices.ts");
  return watchConfigNotices(redis, async () => {
    for (const change of apply) await change();
  });
}

function openLog(settings: Settings, replica: string): Log {
  const { VEXEL_LOG_FORMAT: format, VEXEL_LOG_LEVEL: level } = settings;
  // The reader of the log may be gone (EPIPE). The gateway still serves, and still shuts down in order.
  process.stderr.on("error", () => undefined);
  const automaticFormat = process.stderr.isTTY ? "text" : "json";
  const logFormat = format === "auto" ? automaticFormat : format;
  return createLog({
    level,
    format: logFormat,
    now: () => new Date(),
    write: (text) => process.stderr.write(text),
    replica,
  });
}

const noSuchAddressCodes: ReadonlySet<string> = new Set(["EINVAL", "EADDRNOTAVAIL", "ENOTFOUND"]);

function startupError(error: unknown, { HOST, PORT }: Settings): string {
  const { code, syscall } = (error ?? {}) as { code?: unknown; syscall?: unknown };
  if (code === "EADDRINUSE") {
    return `Port ${PORT} on ${HOST} is already in use. Set PORT to another one, such as PORT=8081.`;
  }
  if (syscall === "listen" && code === "EACCES") {
    return `Port ${PORT} on ${HOST} cannot be used: permission denied. Choose a port above 1023.`;
  }
  // For a host name that cannot be resolved, Bun gives no code, only this message.
  if (
    noSuchAddressCodes.has(String(code)) ||
    (!code && errorMessage(error) === `Failed to listen at ${HOST}`)
  ) {
    return `HOST=${HOST} is not an address of this machine.`;
  }
  return `The gateway could not start: ${errorMessage(error)}`;
}

/** Prints the message and returns the exit code of a failed start. */
function fail(message: string): number {
  process.stderr.write(`${message}\n`);
  return 1;
}
