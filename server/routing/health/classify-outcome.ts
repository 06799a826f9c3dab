/**
 * What counts as a failure: classifies the outcome of an attempt for the health of its target as neutral, reachable,
 * failure, rate-limited or refused.
 */
import type { ErrorKind } from "../../../contract/errors.ts";
import { GatewayError } from "../../lib/gateway-error.ts";

export type AttemptOutcome =
  /** Caused by the client or the gateway: says nothing about the target. */
  | { readonly kind: "neutral" }
  /** The target rejected the request for a valid reason, so the target is up. */
  | { readonly kind: "reachable" }
  | {
      readonly kind: "failure";
      readonly errorKind: ErrorKind;
      readonly waitMs?: number;
    }
  /** The target's rate limit is reached: not a failure, but the target cools down. */
  | { readonly kind: "rate-limited"; readonly waitMs?: number }
  /** The target rejects the gateway's API key, or the account has no credit: the next request would be rejected too. */
  | { readonly kind: "refused"; readonly errorKind: ErrorKind };

interface AttemptEnd {
  /** The attempt was canceled, for any reason. */
  readonly aborted: boolean;
  /** The attempt was canceled because it exceeded the attempt timeout. */
  readonly cutOff: boolean;
  readonly durationMs: number;
  /** The attempt timeout of this target. */
  readonly timeoutMs: number;
}

const failureCodes: ReadonlySet<ErrorKind> = new Set([
  "upstream_error",
  "upstream_overloaded",
  "upstream_unreachable",
  "upstream_timeout",
  "upstream_invalid",
]);
const rateLimitCodes: ReadonlySet<ErrorKind> = new Set(["upstream_rate_limit", "slow_down"]);
const credentialCodes: ReadonlySet<ErrorKind> = new Set([
  "upstream_credentials",
  "insufficient_quota",
  "billing_hard_limit_reached",
]);
/** Errors that only an upstream that has read the request can return. */
const requestErrors: ReadonlySet<ErrorKind> = new Set([
  "upstream_rejected",
  "moderation_blocked",
  "max_tokens_per_request",
  "context_length_exceeded",
]);

export const neutral: AttemptOutcome = { kind: "neutral" };
const reachable: AttemptOutcome = { kind: "reachable" };

export function classifyOutcome(error: unknown, ended: AttemptEnd): AttemptOutcome {
  if (!(error instanceof GatewayError)) return neutral;
  const { kind: errorKind, details } = error;
  if (ended.aborted && !ended.cutOff) {
    // A disconnect says nothing about the target, nor does the deadline of the request, unless the attempt had already
    // run for its full timeout.
    const ranTooLong = errorKind === "upstream_timeout" && ended.durationMs >= ended.timeoutMs;
    return ranTooLong ? { kind: "failure", errorKind } : neutral;
  }
  if (credentialCodes.has(errorKind)) return { kind: "refused", errorKind };
  if (details.saysNothingAboutTarget) return neutral;
  const wait = details.retryAfterMs !== undefined && { waitMs: details.retryAfterMs };
  if (rateLimitCodes.has(errorKind)) return { kind: "rate-limited", ...wait };
  if (requestErrors.has(errorKind)) return reachable;
  if (!failureCodes.has(errorKind)) return neutral;
  return { kind: "failure", errorKind, ...wait };
}
