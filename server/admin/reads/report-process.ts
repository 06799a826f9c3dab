/** The report of this process about itself, for the console. */
import { hostname } from "node:os";
import type { ShownReplica, ShownTarget } from "../../../contract/admin.ts";
import type { ProcessReport } from "./replica-reports.ts";

interface ProcessState extends Pick<ProcessReport, "statistics" | "targets"> {
  readonly id: string;
  readonly version: string;
  readonly isReady: boolean;
  /** The stores that replicas share. */
  readonly database: { backlog(): number; isReachable(): boolean } | undefined;
  readonly redis: { readonly isAvailable: boolean } | undefined;
  readonly objects: { readonly isAvailable: boolean } | undefined;
}

export function reportProcess(state: ProcessState): ProcessReport {
  const { id, version, statistics, targets, database, redis, objects } = state;
  const { started_at, requests_in_flight, requests_queued } = statistics;
  return {
    statistics,
    targets,
    replica: {
      object: "replica",
      id,
      host: hostname(),
      version,
      started_at,
      ready: state.isReady,
      requests_in_flight,
      requests_queued,
      ledger_backlog: database?.backlog() ?? null,
      database: availability(database?.isReachable()),
      redis: availability(redis?.isAvailable),
      object_store: availability(objects?.isAvailable),
      unhealthy_targets: targets.flatMap(unhealthyTarget).slice(0, maxUnhealthy),
    },
  };
}

const maxUnhealthy = 100;

function availability(isAvailable: boolean | undefined): ShownReplica["database"] {
  if (isAvailable === undefined) return null;
  return isAvailable ? "available" : "unavailable";
}

const unhealthyTarget = ({
  upstream,
  model,
  state,
}: ShownTarget): ShownReplica["unhealthy_targets"] =>
  state === "healthy" ? [] : [{ upstream, model, state }];
