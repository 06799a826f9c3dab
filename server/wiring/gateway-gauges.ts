/** The metrics that are read from the parts of the gateway: targets, queues, cache, ledger, connections. */
import type { ShownTarget } from "../../contract/admin.ts";
import { version } from "../../package.json";
import type { ConnectionCounts } from "../http/server/http-server.ts";
import { type Gauge, maxGaugeSeries, type Reading } from "../observe/metrics/gateway-gauges.ts";
import { targetLabel } from "../observe/metrics/request-metrics.ts";
import type { Tracing } from "../observe/traces/open-tracing.ts";
import type { EmbeddingsWiring } from "./embeddings.ts";
import type { LedgerWiring } from "./ledger.ts";

interface GaugeSources {
  readonly targets: () => readonly ShownTarget[];
  readonly inFlight: () => number;
  readonly queued: () => number;
  readonly embeddings: Pick<EmbeddingsWiring, "statistics">;
  readonly ledger: Pick<LedgerWiring, "ledger" | "forwarding">;
  readonly connections: () => ConnectionCounts;
  readonly isReady: () => boolean;
  /** Undefined: tracing is off. */
  readonly tracing: Pick<Tracing, "counts"> | undefined;
  /** Metrics of optional parts, such as the leases of shared counters. */
  readonly others: readonly Gauge[];
}

const targetStates = [
  "healthy",
  "slow_start",
  "cooling",
  "ejected",
] as const satisfies readonly ShownTarget["state"][];

export function gatewayGauges(sources: GaugeSources): readonly Gauge[] {
  const { targets, inFlight, queued, embeddings, ledger, connections } = sources;
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
    ...cacheGauges(embeddings),
    ...ledgerGauges(ledger),
    ...traceCounters(sources.tracing),
    ...sources.others,
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
      help: "1 for the state of a target, 0 for its other states. ejected: its circuit breaker is open.",
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

const cacheGauges = ({ statistics }: GaugeSources["embeddings"]): readonly Gauge[] => [
  {
    name: "vexel_embedding_cache_entries",
    help: "Cached embeddings in memory.",
    read: () => statistics().cache.entries,
  },
  {
    name: "vexel_embedding_cache_bytes",
    help: "Memory of cached embeddings.",
    read: () => statistics().cache.bytes,
  },
  {
    name: "vexel_embedding_cache_max_bytes",
    help: "The maximum memory of cached embeddings.",
    read: () => statistics().cache.max_bytes,
  },
];

const ledgerGauges = ({ ledger, forwarding }: GaugeSources["ledger"]): readonly Gauge[] => [
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
    read: () => forwarding?.backlog(),
  },
  {
    name: "vexel_database_reachable",
    help: "1 while ledger rows reach the shared database. Absent without DATABASE_URL.",
    merge: "min",
    read: () => forwarding && Number(forwarding.isReachable()),
  },
];

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
