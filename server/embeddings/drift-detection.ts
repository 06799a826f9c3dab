/**
 * Drift detection: compares the targets of a model by a canary request, takes drifted targets out, and clears the
 * cache, which may have their vectors.
 */
import type { Emit } from "../../contract/events.ts";
import type { Log } from "../lib/log.ts";
import { backgroundTimers } from "../lib/timers.ts";
import type { SharedEmbeddings } from "../storage/ports/shared-embeddings.ts";
import { type CanaryOptions, type CanaryReport, createCanary } from "./drift-canary.ts";
import { scheduleDriftChecks } from "./drift-checks.ts";

interface DriftDetectionOptions extends Pick<CanaryOptions, "snapshot" | "embed"> {
  /** Hours between two checks of all targets. 0: targets are never checked. */
  readonly hours: number;
  /** Evicts every cached vector, of all replicas. */
  readonly clearCache: () => unknown;
  /** Evicts every cached vector of this replica. */
  readonly clearLocal: () => Promise<void>;
  /** The cache that replicas share. Undefined: there is none. */
  readonly shared: Pick<SharedEmbeddings, "onCleared"> | undefined;
  readonly log: Log;
  readonly emit: Emit;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

/** How long the first target serves alone while the others are compared with it. */
const graceMs = 2000;

export function createDriftDetection(options: DriftDetectionOptions) {
  const { snapshot, embed, hours, clearCache, clearLocal, shared, clock } = options;
  /** The number of checks in progress that began because another replica has cleared the shared cache. */
  let checksAfterClear = 0;
  const canary = createCanary({
    snapshot,
    embed,
    graceMs: hours > 0 ? graceMs : 0,
    clock,
    onUnchecked: () => driftChecks?.onNewTarget(),
    onResponding: () => driftChecks?.onResponding(),
    report: (result) => {
      reportDrift(options, result);
      if (result.status !== "drifted") return;
      // Vectors of the drifted target may be in the cache, and it is unknown which. After another replica has cleared
      // the shared cache, this one has added nothing to it: to clear it again would start the checks of all replicas.
      void (checksAfterClear > 0 ? clearLocal() : clearCache());
    },
  });
  /** Undefined: targets are never checked. */
  const driftChecks =
    hours === 0
      ? undefined
      : scheduleDriftChecks({
          hours,
          check: (all) => canary.check(all),
          timers: backgroundTimers,
          clock,
        });
  // Another replica has found wrong vectors. If they came from a target that has drifted, this replica finds that out
  // before it adds vectors to the shared cache again.
  shared?.onCleared(async () => {
    checksAfterClear++;
    try {
      await clearLocal();
      await driftChecks?.checkAll();
    } finally {
      checksAfterClear--;
    }
  });
  return {
    hasDrifted: canary.hasDrifted,
    isExcluded: canary.isExcluded,
    start: () => driftChecks?.start(),
    /** Cancels the checks in flight, and starts no more. */
    stop: () => {
      driftChecks?.close();
      canary.close();
    },
  };
}

function reportDrift(
  { log, emit }: Pick<DriftDetectionOptions, "log" | "emit">,
  { status, model, target, reason }: CanaryReport,
): void {
  const { id: upstream } = target.upstream;
  const fields = { model, upstream, targetModel: target.model, reason };
  if (status === "drifted") log.error("target-drifted", fields);
  else if (status === "realigned") log.warn("target-realigned", fields);
  else log.warn("target-not-compared", fields);
  if (status === "silent") return;
  emit({
    type: `target.${status}`,
    data: { model, upstream, target_model: target.model, reason },
  });
}
