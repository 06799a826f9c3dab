/** Whether a call that failed may be asked again: of another target, or, where none is left, of the same one after a pause. */
import { GatewayError } from "../lib/gateway-error.ts";
import type { Call } from "../request/stage.ts";
import { mayBeBilled } from "../upstream/may-have-been-billed.ts";

/** So often a call is asked again of targets that it has asked already. */
const maxRepeats = 2;
/** The first pause, twice as long before the second. By chance, so that those who failed together do not come back together. */
const [shortestMs, longestMs] = [50, 250];
/** Who wants to be left alone for longer is: callers can wait by themselves. */
const maxRetryAfterMs = 500;

/** A picture that may have been paid for is not ordered a second time, unless the model says so. */
export function mayFailOver<Q>(error: unknown, { operation, route }: Call<Q>): boolean {
  if (!(error instanceof GatewayError)) return false;
  // What one account may not use, or one place does not have, another may; and nothing was made for it.
  if (targetSpecificErrors.has(error.fault)) return true;
  if (error.row.retry !== "elsewhere") return false;
  return operation === "embeddings" || route.retryPaid === true || !mayHaveBeenBilled(error);
}

const targetSpecificErrors: ReadonlySet<string> = new Set([
  "model_not_found",
  "upstream_forbidden",
]);

/**
 * The upstream may have done the work, and may send a bill. Where it says itself that it failed, and charges for what it
 * delivers, the next target is asked: whoever wrote the targets down wants that. Callers are still told to decide for
 * themselves.
 */
export const mayHaveBeenBilled = (error: unknown): boolean =>
  error instanceof GatewayError &&
  mayBeBilled(error) &&
  (error.details.paid === true || !error.details.uncharged);

/**
 * Milliseconds until those that failed may be asked the same again. Undefined: they would only say the same again, or it
 * was enough. `repeats`: how often that was done for this call.
 */
export function retryDelayMs<Q>(
  error: unknown,
  { operation, route }: Call<Q>,
  repeats: number,
  random: () => number,
): number | undefined {
  if (!(error instanceof GatewayError) || repeats >= maxRepeats) return undefined;
  // One place may have a picture of that order already, whatever it says.
  if (operation !== "embeddings" && !route.retryPaid && mayBeBilled(error)) return undefined;
  const { row, details } = error;
  if (!row.passing || details.unmade) return undefined;
  const chance = random();
  const told = details.retryAfterMs;
  if (told === undefined) {
    // A limit says when it is over, or nobody knows.
    if (row.status === 429) return undefined;
    return (shortestMs + (longestMs - shortestMs) * chance) * 2 ** repeats;
  }
  return told > maxRetryAfterMs ? undefined : told + shortestMs + (longestMs - shortestMs) * chance;
}

export const isUnsent = (error: unknown): boolean =>
  error instanceof GatewayError && error.details.unsent === true;

export const errorCodeOf = (error: unknown): string =>
  error instanceof GatewayError ? error.fault : "defect";
