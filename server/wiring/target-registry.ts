/**
 * Wires the target registry, which embeddings and images share: ejections and recoveries go to the log and the events.
 */

import { realTimers } from "../lib/timers.ts";
import type { TargetChange } from "../routing/health/target-health.ts";
import { TargetRegistry } from "../routing/target-registry.ts";
import type { Runtime } from "./runtime.ts";

export const wireTargetRegistry = (runtime: Runtime): TargetRegistry =>
  new TargetRegistry({
    snapshot: runtime.snapshot,
    clock: runtime.clock,
    random: runtime.random,
    timers: realTimers,
    onTargetChange: (change) => reportChange(runtime, change),
  });

function reportChange({ log, emit }: Runtime, { transition, target, reason }: TargetChange): void {
  const { id: upstream } = target.upstream;
  const fields = { upstream, targetModel: target.model, reason };
  if (transition === "ejected") log.error("target-ejected", fields);
  else log.warn("target-recovered", fields);
  emit({ type: `target.${transition}`, data: { upstream, target_model: target.model, reason } });
}
