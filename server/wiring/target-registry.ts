/**
 * Wires the target registry, which embeddings and images share: ejections and recoveries go to the log and the events.
 */

import type { Snapshot } from "../config/snapshot.ts";
import type { Emit } from "../events/events.ts";
import { realTimers } from "../lib/timers.ts";
import type { Log } from "../observe/log.ts";
import type { TargetChange } from "../routing/health/target-health.ts";
import { TargetRegistry } from "../routing/target-registry.ts";

export interface TargetRegistryWiringOptions {
  readonly snapshot: () => Snapshot;
  readonly log: Log;
  readonly emit: Emit;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  readonly random: () => number;
}

export const wireTargetRegistry = (options: TargetRegistryWiringOptions): TargetRegistry => {
  const { snapshot, log, emit, clock, random } = options;
  return new TargetRegistry({
    snapshot,
    clock,
    random,
    timers: realTimers,
    onTargetChange: (change) => reportChange(log, emit, change),
  });
};

function reportChange(log: Log, emit: Emit, { what, target, reason }: TargetChange): void {
  const { id: upstream } = target.upstream;
  const fields = { upstream, targetModel: target.model, reason };
  if (what === "ejected") log.error("target-ejected", fields);
  else log.warn("target-recovered", fields);
  emit({ type: `target.${what}`, data: { upstream, target_model: target.model, reason } });
}
