/**
 * Connects target selection to the limits: which targets are at a rate limit, which have no free slot, and the queue
 * for a slot.
 */

import type { Admission } from "../limits/admission.ts";
import { shortage } from "../limits/limiter.ts";
import type { Demand } from "../limits/rate-limit-counters.ts";
import { demandOf, type LimitedQuery } from "../limits/request-demand.ts";
import type { Target } from "../upstream/contract.ts";
import type { TargetQueue } from "./routing-options.ts";
import type { TargetCapacity } from "./select-target.ts";

/** The smallest demand of any request. */
const minimumDemand: Readonly<Record<"embedding" | "image", Demand>> = {
  embedding: { requests: 1, tokens: 1, images: 0, pixels: 0 },
  image: { requests: 1, tokens: 1, images: 1, pixels: 1 },
};

/** `clock`: milliseconds, monotonic. */
export const targetCapacity = (
  admission: Admission,
  clock: () => number,
  kind: "embedding" | "image",
): TargetCapacity => ({
  hasCapacity: ({ scopes }: Target) =>
    scopes
      ? (shortage(admission.scopesOf(scopes), minimumDemand[kind], clock())?.waitMs ?? true)
      : true,
  isBusy: ({ scopes }: Target) =>
    scopes !== undefined && admission.scopesOf(scopes).some(({ slots }) => !slots.hasFreeSlot),
});

/** The queue before targets that have reported overload (hard adaptive concurrency limit). */
export const targetQueue = (admission: Admission): TargetQueue<LimitedQuery> => ({
  wait: ({ record, route, query, signal }, slots) =>
    admission.waitForSlots({
      key: record.caller?.id ?? "",
      priority: record.priority,
      route,
      neededSlots: [slots],
      demand: demandOf(query),
      // Counted as not started even if work was done for it: requests in flight may never end, and every wait is
      // bounded.
      hasStarted: () => false,
      signal: () => signal,
    }),
  admitWaiting: () => admission.admitWaiting(),
});
