/**
 * Retry policy: which errors are retryable. A failed request fails over to another target or, if none is left, is
 * retried on the same one after an exponential backoff with jitter. The same target is retried after a failed or lost
 * connection, a timeout, a 5xx, and a 429 with a short `retry-after`.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import { generatesImages } from "../request/operation.ts";
import type { StageRequest } from "../request/stage.ts";
import { mayBeBilled, mayBillFailedAttempt } from "../upstream/may-have-been-billed.ts";

/** How often one request is retried on targets that it has already tried. */
const maxRepeats = 2;
/**
 * Exponential backoff with jitter: the first wait is random in this range, and the second in twice the range. Requests
 * that failed together do not return together.
 */
const [minBackoffMs, maxBackoffMs] = [50, 250];
/** A target whose `retry-after` is longer is not retried here: the client can wait by itself. */
const maxRetryAfterMs = 500;

/** An image that may have been billed is not generated a second time, unless the model sets `retryPaid`. */
export function mayFailOver<Q>(error: unknown, { operation, model }: StageRequest<Q>): boolean {
  if (!(error instanceof GatewayError)) return false;
  // A model that one account or region lacks may exist at another target, and nothing was generated.
  if (targetSpecificErrors.has(error.kind)) return true;
  if (error.definition.retry !== "elsewhere") return false;
  return !generatesImages(operation) || model.retryPaid === true || !mayBillFailedAttempt(error);
}

export const targetSpecificErrors: ReadonlySet<string> = new Set([
  "model_not_found",
  "upstream_forbidden",
]);

/**
 * The backoff in milliseconds before the failed targets are tried again. Undefined if the error is not transient, or
 * the retries are used up. `repeats`: how often this request was already retried on the same targets.
 */
export function retryDelayMs<Q>(
  error: unknown,
  { operation, model }: StageRequest<Q>,
  repeats: number,
  random: () => number,
): number | undefined {
  if (!(error instanceof GatewayError) || repeats >= maxRepeats) return undefined;
  // The target may have generated the image already, whatever its error says.
  if (generatesImages(operation) && !model.retryPaid && mayBeBilled(error)) return undefined;
  const { definition, details } = error;
  if (!definition.transient || details.notExecuted) return undefined;
  const jitter = random();
  const retryAfterMs = details.retryAfterMs;
  if (retryAfterMs === undefined) {
    // A rate limit without `retry-after` has no known end.
    if (definition.status === 429) return undefined;
    return (minBackoffMs + (maxBackoffMs - minBackoffMs) * jitter) * 2 ** repeats;
  }
  return retryAfterMs > maxRetryAfterMs
    ? undefined
    : retryAfterMs + minBackoffMs + (maxBackoffMs - minBackoffMs) * jitter;
}

export const isUnsent = (error: unknown): boolean =>
  error instanceof GatewayError && error.details.notSent === true;

export const errorKindOf = (error: unknown): string =>
  error instanceof GatewayError ? error.kind : "internal";
