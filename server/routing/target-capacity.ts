/** What the limits of targets say before one is chosen: who is asked no more for a while, who has no place free, and the wait for one. */

import type { Admission } from "../limits/admission.ts";
import type { Demand } from "../limits/limit-scope.ts";
import { shortage } from "../limits/limiter.ts";
import { type Asked, demandOf } from "../limits/request-cost.ts";
import type { Target } from "../upstream/contract.ts";
import type { TargetQueue } from "./route-request.ts";
import type { TargetCapacity } from "./select-target.ts";

/** The least that a call can ask for. */
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
    scopes !== undefined && admission.scopesOf(scopes).some(({ gate }) => !gate.hasRoom),
});

/** Before targets that have as much as they can take, by their own words. */
export const targetQueue = (admission: Admission): TargetQueue<Asked> => ({
  wait: ({ trip, route, query, signal }, gate) =>
    admission.wait({
      key: trip.caller?.id ?? "",
      route,
      gates: [gate],
      demand: demandOf(query),
      // Whatever was done for it: those inside may never come out, and nobody waits without an end.
      begun: () => false,
      signal: () => signal,
    }),
  admitWaiting: () => admission.pass(),
});
