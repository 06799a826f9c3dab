/** Puts together what holds calls back: limits, queues, and how long one waits in them. */

import type { Snapshot } from "../config/snapshot.ts";
import { Admission } from "../limits/admission.ts";
import type { TargetLimitOptions } from "../limits/target-limits.ts";
import type { Settings } from "../settings.ts";

export interface LimitsWiringOptions {
  readonly settings: Settings;
  readonly snapshot: () => Snapshot;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

/** How often those who wait are looked at; only while there are any. */
const lookEveryMs = 50;

export function wireLimits(options: LimitsWiringOptions): TargetLimitOptions {
  const { settings, snapshot, clock } = options;
  const waitMs = {
    embedding: settings.VEXEL_QUEUE_TIMEOUT * 1000,
    image: settings.VEXEL_IMAGES_QUEUE_TIMEOUT * 1000,
  };
  const admission = new Admission({
    snapshot,
    maxImageRequests: settings.VEXEL_MAX_IMAGE_REQUESTS,
    maxWaiting: settings.VEXEL_MAX_QUEUE,
    queueTimeoutMs: waitMs,
    clock,
    repeat: (look) => {
      const timer = setInterval(look, lookEveryMs);
      return () => clearInterval(timer);
    },
  });
  return { admission, waitMs, clock };
}
