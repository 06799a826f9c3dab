/**
 * The reports of all processes that serve, so that the console shows the same figures whichever of them responds.
 * Replicas share reports through Redis, workers of one gateway through their supervisor. The reports are shown and
 * nothing else: each process routes by what it has seen itself.
 */
import { listBounds } from "../../../contract/admin/list-bounds.ts";
import type { ShownReplica, ShownTarget } from "../../../contract/admin.ts";
import { repeat } from "../../lib/timers.ts";
import { mergeStatistics, mergeTargets, type ShownStatistics } from "./merge-workers.ts";

/** What one process reports of itself. */
export interface ProcessReport {
  readonly replica: ShownReplica;
  readonly statistics: ShownStatistics;
  readonly targets: readonly ShownTarget[];
}

/** Where replicas publish their reports. Both reject while it is unavailable. */
interface SharedReports {
  publish(report: string): Promise<void>;
  /** The reports of the other replicas. */
  others(): Promise<readonly string[]>;
}

interface ReplicaReportsOptions {
  readonly own: () => ProcessReport;
  /** Undefined if there is no Redis. */
  readonly shared: SharedReports | undefined;
  /** The other workers of this gateway. Undefined if it has one process. */
  readonly otherWorkers: (() => Promise<readonly ProcessReport[]>) | undefined;
  readonly resources: AsyncDisposableStack;
}

export interface ReplicaReports {
  /** Sorted by host and start. */
  replicas(): Promise<readonly ShownReplica[]>;
  /** Of all processes together. */
  statistics(): Promise<ShownStatistics>;
  targets(): Promise<readonly ShownTarget[]>;
}

const publishEveryMs = 2000;
/** A report is published often, so it is small: this many targets, unhealthy ones first, and errors of each. */
const [maxTargets, maxErrors] = [300, 3];

export function openReplicaReports({
  own,
  shared,
  otherWorkers,
  resources,
}: ReplicaReportsOptions): ReplicaReports {
  if (shared) {
    const stop = repeat({ everyMs: publishEveryMs, isImmediate: true }, () =>
      shared.publish(JSON.stringify(small(own()))),
    );
    resources.defer(stop);
  }
  const fromRedis = async (): Promise<readonly ProcessReport[]> => {
    if (!shared) return [];
    // Loaded on demand: the start needs no schemas.
    const { readReport } = await import("./read-report.ts");
    try {
      return (await shared.others()).flatMap(readReport);
    } catch {
      // Redis is unavailable, which its own metric, event and log line report.
      return [];
    }
  };
  /** With Redis, the other workers of this gateway are replicas too; their own reports are newer. */
  const others = async (): Promise<readonly ProcessReport[]> => {
    const [workers = [], replicas] = await Promise.all([otherWorkers?.(), fromRedis()]);
    const known = new Set(workers.map(({ replica }) => replica.id));
    return [...workers, ...replicas.filter(({ replica }) => !known.has(replica.id))];
  };
  return {
    replicas: async () =>
      [own(), ...(await others())]
        .map(({ replica }) => replica)
        .toSorted((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1))
        .slice(0, listBounds.replicas),
    statistics: async () =>
      mergeStatistics(
        own().statistics,
        (await others()).map(({ statistics }) => statistics),
      ),
    targets: async () =>
      mergeTargets(
        own().targets,
        (await others()).map(({ targets }) => targets),
      ),
  };
}

const sortKey = ({ host, started_at, id }: ShownReplica): string => `${host} ${started_at} ${id}`;

const small = ({ targets, ...report }: ProcessReport): ProcessReport => ({
  ...report,
  targets: targets
    .toSorted((a, b) => Number(a.state === "healthy") - Number(b.state === "healthy"))
    .slice(0, maxTargets)
    .map((target) => ({ ...target, last_errors: target.last_errors.slice(0, maxErrors) })),
});
