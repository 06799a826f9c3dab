/** Wires admission control: rate limits, concurrency limits, the fair queue and its queue timeouts. */

import { realTimers } from "../lib/timers.ts";
import { Admission } from "../limits/admission.ts";
import type { SharedPools } from "../limits/leased-pool.ts";
import { leasedRateLimitCounters } from "../limits/leased-rate-limit-counters.ts";
import { localRateLimitCounters } from "../limits/rate-limit-counters.ts";
import type { TargetLimitOptions } from "../limits/target-limits.ts";
import { plausibleUsage } from "../pipeline/verify-response.ts";
import type { Runtime } from "./runtime.ts";

/** `pools`: the limits that replicas share. Undefined: each process counts for itself. */
export function wireLimits(
  { settings, snapshot, clock }: Runtime,
  pools: SharedPools | undefined,
): TargetLimitOptions {
  const waitMs = {
    embedding: settings.VEXEL_QUEUE_TIMEOUT * 1000,
    image: settings.VEXEL_IMAGES_QUEUE_TIMEOUT * 1000,
  };
  const admission: Admission = new Admission({
    snapshot,
    counters: pools
      ? leasedRateLimitCounters(pools, () => admission.admitWaiting())
      : localRateLimitCounters,
    maxImageRequests: settings.VEXEL_MAX_IMAGE_REQUESTS,
    maxWaiting: settings.VEXEL_MAX_QUEUE,
    queueTimeoutMs: waitMs,
    clock,
    timers: realTimers,
  });
  return { admission, waitMs, clock, usageOf: plausibleUsage };
}
