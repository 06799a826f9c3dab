/** The metrics that are read from the parts of the gateway: targets, queues, cache, ledger, connections. */
import type { ShownTarget, Statistics } from "../../../contract/admin.ts";
import type { Tracing } from "../otlp/open-tracing.ts";
import { type Gauge, maxGaugeSeries, type Reading } from "./gauge.ts";
import { targetLabel } from "./request-metrics.ts";

interface ConnectionCounts {
  readonly open: number;
  /** Refused connections since the start. */
  readonly refused: number;
}

interface DiskSpace {
  readonly freeBytes: number;
  readonly totalBytes: number;
}

interface GaugeSources {
  readonly version: string;
  readonly targets: () => readonly ShownTarget[];
  readonly inFlight: () => number;
  readonly queued: () => number;
  readonly cache: () => Statistics["cache"];
  readonly ledger: {
    readonly writable: boolean;
    /** The number of rows in the outbox. */
    readonly pendingCount: number;
  };
  /** The ledger that replicas share. */
  readonly database: { backlog(): number; isReachable(): boolean } | undefined;
  readonly connections: () => ConnectionCounts;
  /** The disk of the data folder. Throws the error of the file system. */
  readonly disk: () => DiskSpace;
  readonly isReady: () => boolean;
  /** Undefined if tracing is off. */
  readonly tracing: Pick<Tracing, "counts"> | undefined;
  /** Undefined if replicas share no limits, and the metrics have no values. */
  readonly replicas:
    | {
        health(): { readonly redis: "available" | "unavailable"; readonly replicas: number };
        readonly limiter: { readonly leases: number };
      }
    | undefined;
  /** The embedding cache that replicas share. */
  readonly sharedCache: { readonly rejected: number } | undefined;
  /** The object store. */
  readonly objects: { readonly isAvailable: boolean } | undefined;
}

const targetStates = [
  "healthy",
  "cooling",
  "half_open",
  "ejected",
] as const satisfies readonly ShownTarget["state"][];

export function gatewayGauges(sources: GaugeSources): readonly Gauge[] {
  const { version, targets, inFlight, queued, cache, connections } = sources;
  return [
    {
      name: "vexel_build_info",
      help: "Always 1. The label has the version.",
      labelNames: ["version"],
      merge: "max",
      read: () => [{ labels: [version], value: 1 }],
    },
    {
      name: "vexel_ready",
      help: "1 while requests are accepted, as in GET /readyz.",
      merge: "min",
      read: () => Number(sources.isReady()),
    },
    {
      name: "vexel_requests_in_flight",
      help: "Requests for a model that have not ended, queued ones included.",
      read: inFlight,
    },
    {
      name: "vexel_requests_queued",
      help: "Requests that wait for a concurrency slot.",
      read: queued,
    },
    ...connectionGauges(connections),
    ...targetGauges(targets),
    ...cacheGauges(cache),
    ...ledgerGauges(sources),
    ...diskGauges(sources.disk),
    ...traceCounters(sources.tracing),
    ...replicaGauges(sources),
    {
      name: "vexel_object_store_available",
      help: "1 if the last request to the object store succeeded. Absent without BLOB_URL.",
      merge: "min",
      read: () => sources.objects && Number(sources.objects.isAvailable),
    },
  ];
}

const connectionGauges = (connections: () => ConnectionCounts): readonly Gauge[] => [
  {
    name: "vexel_connections",
    help: "Open client connections.",
    read: () => connections().open,
  },
  {
    name: "vexel_connections_refused",
    help: "Client connections that were refused above the maximum.",
    type: "counter",
    read: () => connections().refused,
  },
];

/** Targets that are not healthy come first, so that no number of targets hides them behind the cardinality limit. */
export function targetGauges(allTargets: () => readonly ShownTarget[]): readonly Gauge[] {
  const targets = (): readonly ShownTarget[] => {
    const isHealthy = ({ state }: ShownTarget): boolean => state === "healthy";
    const all = allTargets();
    return [...all.filter((target) => !isHealthy(target)), ...all.filter(isHealthy)];
  };
  const ofEach =
    (value: (target: ShownTarget) => number | null): (() => readonly Reading[]) =>
    () =>
      targets().map((target) => ({
        labels: [target.upstream, targetLabel(target.model, target.surface)],
        value: value(target) ?? 0,
      }));
  const labelNames = ["upstream", "model"];
  return [
    {
      name: "vexel_target_state",
      help: "1 for the state of a target, 0 for its other states. ejected: its circuit is open. half_open: a probe of it is due or in flight.",
      labelNames: [...labelNames, "state"],
      maxSeries: targetStates.length * maxGaugeSeries,
      merge: "max",
      read: () =>
        targets().flatMap(({ upstream, model, surface, state }) =>
          targetStates.map((each) => ({
            labels: [upstream, targetLabel(model, surface), each],
            value: Number(each === state),
          })),
        ),
    },
    {
      name: "vexel_target_in_flight",
      help: "Attempts in flight at a target.",
      labelNames,
      read: ofEach(({ in_flight }) => in_flight),
    },
    {
      name: "vexel_target_concurrency_limit",
      help: "The adaptive concurrency limit of a target.",
      labelNames,
      read: ofEach(({ limit }) => limit),
    },
  ];
}

const cacheGauges = (cache: GaugeSources["cache"]): readonly Gauge[] => [
  {
    name: "vexel_embedding_cache_entries",
    help: "Cached embeddings in memory.",
    read: () => cache().entries,
  },
  {
    name: "vexel_embedding_cache_bytes",
    help: "Memory of cached embeddings.",
    read: () => cache().bytes,
  },
  {
    name: "vexel_embedding_cache_max_bytes",
    help: "The maximum memory of cached embeddings.",
    read: () => cache().max_bytes,
  },
];

const ledgerGauges = ({
  ledger,
  database,
}: Pick<GaugeSources, "ledger" | "database">): readonly Gauge[] => [
  {
    name: "vexel_ledger_writable",
    help: "1 while ledger rows can be written to the data folder.",
    merge: "min",
    read: () => Number(ledger.writable),
  },
  {
    name: "vexel_outbox_rows",
    help: "Ledger rows in the outbox: written to disk, and not in the ledger yet.",
    read: () => ledger.pendingCount,
  },
  {
    name: "vexel_database_backlog_rows",
    help: "Ledger rows that the shared database does not have yet. Absent without DATABASE_URL.",
    read: () => database?.backlog(),
  },
  {
    name: "vexel_database_reachable",
    help: "1 while ledger rows reach the shared database. Absent without DATABASE_URL.",
    merge: "min",
    read: () => database && Number(database.isReachable()),
  },
];

function diskGauges(disk: () => DiskSpace): readonly Gauge[] {
  const readOf = (name: keyof DiskSpace) => (): number | undefined => {
    try {
      return disk()[name];
    } catch {
      // The folder was removed, or the system reports nothing.
      return undefined;
    }
  };
  return [
    {
      name: "vexel_disk_free_bytes",
      help: "Free space of the disk of the data folder, which has the temp files too.",
      merge: "min",
      read: readOf("freeBytes"),
    },
    {
      name: "vexel_disk_size_bytes",
      help: "The size of the disk of the data folder.",
      merge: "max",
      read: readOf("totalBytes"),
    },
  ];
}

const traceCounters = (tracing: GaugeSources["tracing"]): readonly Gauge[] => [
  {
    name: "vexel_trace_spans",
    help: "Spans that were sent to the collector. outcome: exported or failed.",
    type: "counter",
    labelNames: ["outcome"],
    read: () => {
      const counts = tracing?.counts();
      return (
        counts &&
        (["exported", "failed"] as const).map((outcome) => ({
          labels: [outcome],
          value: counts[outcome],
        }))
      );
    },
  },
  {
    name: "vexel_trace_requests_dropped",
    help: "Requests whose spans were dropped, because the collector is slow or unreachable.",
    type: "counter",
    read: () => tracing?.counts().droppedRequests,
  },
];

const replicaGauges = ({
  replicas,
  sharedCache,
}: Pick<GaugeSources, "replicas" | "sharedCache">): readonly Gauge[] => [
  {
    name: "vexel_redis_available",
    help: "1 while Redis can be used, 0 while each replica applies its share of the limits.",
    merge: "min",
    read: () => replicas && Number(replicas.health().redis === "available"),
  },
  {
    name: "vexel_replicas",
    help: "The number of replicas that share Redis, as last known.",
    merge: "max",
    read: () => replicas?.health().replicas,
  },
  {
    name: "vexel_shared_holds",
    help: "Concurrency slots and budget reservations that requests of this process hold in Redis.",
    read: () => replicas?.limiter.leases,
  },
  {
    name: "vexel_shared_cache_rejected",
    help: "Vectors in Redis whose keyed checksum was wrong.",
    type: "counter",
    read: () => sharedCache?.rejected,
  },
];
