/** The interface of a running gateway, and the options that `app.ts` builds it from. */
import type { Snapshot } from "./config/snapshot.ts";
import type { OpenedEvents } from "./events/open-events.ts";
import type { Log } from "./lib/log.ts";
import type { StoreLatency } from "./observe/metrics/store-latency.ts";
import type { MetricsExport } from "./observe/otlp/export-metrics.ts";
import type { Tracing } from "./observe/otlp/open-tracing.ts";
import type { Execute } from "./pipeline/handle-request.ts";
import type { StageLists } from "./pipeline/stages.ts";
import type { OtherWorkers, WorkerReports } from "./process/worker-process.ts";
import type { AdmittedImages } from "./request/deadline.ts";
import type { TargetRegistry } from "./routing/target-registry.ts";
import type { Settings } from "./settings.ts";
import type { SharedStorage } from "./storage/postgres/shared-storage.ts";
import type { RedisConnection } from "./storage/redis/client.ts";
import type { ObjectStorage } from "./storage/s3/object-storage.ts";
import type { BuiltInModel } from "./upstream/contract.ts";
import type { AdminOptions } from "./wiring/admin.ts";

export interface BuildOptions {
  readonly settings: Settings;
  readonly snapshot: () => Snapshot;
  /** Calls the listener after each reload. If absent, the configuration is not reloaded. */
  readonly onReload?: (listener: () => void) => void;
  /** Why the configuration file was not applied. Undefined, or absent: the file is in force. */
  readonly fileProblem?: () => string | undefined;
  readonly builtInModels: ReadonlyMap<string, BuiltInModel>;
  readonly log: Log;
  /** The id of this process. The default is a new one. */
  readonly replica?: string;
  /** What the admin API needs to change API keys and entities. If absent, the admin API and the console are off. */
  readonly configChanges?: Pick<
    AdminOptions,
    "keys" | "applyKeyChanges" | "entities" | "applyEntityChanges"
  >;
  /** The storage that replicas share. If absent, everything is in the data folder. */
  readonly shared?: SharedStorage | undefined;
  /** The object store that replicas share. If absent, images and responses are in the data folder. */
  readonly objects?: ObjectStorage | undefined;
  /** If absent, tracing is off. The gateway closes it. */
  readonly tracing?: Tracing | undefined;
  /** Exports metrics over OTLP. If absent, they are not exported. The gateway closes it. */
  readonly exportMetrics?: MetricsExport | undefined;
  /** Observes the calls of the stores that replicas share. */
  readonly storeLatency?: StoreLatency;
  /** The Redis server that replicas share. If absent, this process counts limits and budgets for itself. */
  readonly redis?: RedisConnection | undefined;
  /**
   * The process is one of several workers: it shares its port, and its supervisor serves the port of the metrics.
   * If absent, the gateway has one process.
   */
  readonly otherWorkers?: OtherWorkers | undefined;
  // Only tests set the options below, in place of the defaults.
  /** The delays between delivery attempts of a webhook. */
  readonly webhookDelaysMs?: readonly number[];
  /** The most bytes of an upstream response. */
  readonly maxResponseBytes?: number;
  /** The timeout of the download of an image. */
  readonly downloadTimeoutMs?: number;
  /** Minimum average rate of a request body, in bytes per second. */
  readonly minBodyRate?: number;
  /** The cost of a password hash. */
  readonly passwordCost?: AdminOptions["passwordCost"];
}

export interface Gateway {
  readonly url: string;
  /** Records events and delivers them to webhooks. */
  readonly events: Pick<OpenedEvents, "emit" | "recordJobEvent" | "onKeysChanged">;
  /** The health of all targets. */
  readonly targetRegistry: TargetRegistry;
  /** The path of the console, or of its one-time link while it has no user. Undefined if the console is off. */
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
