/** What the end of one attempt says about its target: nothing, that it lives, that it is in trouble, or that it wants peace. */
import type { FaultName } from "../../../contract/faults.ts";
import { GatewayError } from "../../lib/gateway-error.ts";

export type Outcome =
  /** The caller's doing, or ours: nothing is learned. */
  | { readonly kind: "nothing" }
  /** It refused the call for good reasons, so it is there. */
  | { readonly kind: "alive" }
  | {
      readonly kind: "failed";
      readonly why: FaultName;
      /** It has more to do than it can: less at a time may help. */
      readonly busy: boolean;
      readonly waitMs?: number;
    }
  /** Its rate limit: not a failure, but it is left alone for a while. */
  | { readonly kind: "limited"; readonly waitMs?: number }
  /** It takes neither our key nor our credit, and will not for the next call either. */
  | { readonly kind: "refused"; readonly why: FaultName };

export interface Ended {
  /** The attempt was called off, by whoever. */
  readonly aborted: boolean;
  /** It was called off because it took longer than this target may. */
  readonly cut: boolean;
  readonly lastedMs: number;
  /** Longer is slow for this target. */
  readonly patienceMs: number;
  /** A caller who leaves after so long has waited in vain. One who leaves sooner may have any reason. */
  readonly vainMs: number;
}

const failures: ReadonlySet<FaultName> = new Set([
  "upstream_error",
  "upstream_overloaded",
  "upstream_unreachable",
  "upstream_timeout",
  "upstream_invalid",
]);
const limits: ReadonlySet<FaultName> = new Set(["upstream_rate_limit", "slow_down"]);
const refusals: ReadonlySet<FaultName> = new Set(["upstream_credentials", "insufficient_quota"]);
/** Only an upstream that has read the question can say these. */
const answers: ReadonlySet<FaultName> = new Set([
  "upstream_rejected",
  "moderation_blocked",
  "max_tokens_per_request",
  "context_length_exceeded",
]);

export const nothing: Outcome = { kind: "nothing" };
const alive: Outcome = { kind: "alive" };

export function outcomeOf(error: unknown, ended: Ended): Outcome {
  if (!(error instanceof GatewayError)) return nothing;
  const { fault, details } = error;
  if (ended.aborted && !ended.cut) {
    // Whoever called it off gave a reason that is not this target's. But it had its time, if the deadline did, or the caller.
    const late =
      (fault === "upstream_timeout" && ended.lastedMs >= ended.patienceMs) ||
      (fault === "client_closed" && ended.lastedMs >= ended.vainMs);
    return late ? { kind: "failed", why: "upstream_timeout", busy: true } : nothing;
  }
  const wait = details.retryAfterMs !== undefined && { waitMs: details.retryAfterMs };
  if (limits.has(fault)) return { kind: "limited", ...wait };
  if (refusals.has(fault)) return { kind: "refused", why: fault };
  if (answers.has(fault)) return alive;
  if (!failures.has(fault)) return nothing;
  const busy = fault === "upstream_overloaded" || fault === "upstream_timeout";
  return { kind: "failed", why: fault, busy, ...wait };
}
