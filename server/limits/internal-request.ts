/**
 * Upstream requests that the gateway makes itself: moderation of prompts and the drift canary. The upstream counts them
 * like client requests, so they count against the target's limits and queue as well.
 */

import type { AbortSignalLike } from "../lib/abort-signal.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { loadOf } from "../request/request-load.ts";
import type { Target } from "../upstream/contract.ts";
import type { Admission, SlotRequest } from "./admission.ts";
import type { Demand } from "./limit-scope.ts";
import { noDemand, settleDemand, take } from "./limiter.ts";

export interface InternalRequest {
  readonly target: Target;
  readonly text: string;
  /** The key for fair queueing. */
  readonly key: string;
  readonly route: SlotRequest["route"];
  readonly signal: AbortSignalLike;
}

export interface InternalRequestLimits {
  readonly admission: Admission;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

/** Throws `target_at_limit` or the error of the wait; then no request is sent. */
export async function sendInternalRequest<A>(
  { admission, clock }: InternalRequestLimits,
  { target, text, key, route, signal }: InternalRequest,
  send: () => Promise<A>,
): Promise<A> {
  if (!target.scopes) return send();
  const scopes = admission.scopesOf(target.scopes);
  const { tokens } = loadOf({ kind: "text", texts: [text] });
  const demand: Demand = { requests: 1, tokens, images: 0, pixels: 0 };
  const exceeded = take(scopes, demand, clock());
  if (exceeded) throw atLimit(route.id, exceeded.waitMs);
  const neededSlots = scopes.map(({ slots }) => slots);
  try {
    await admission.waitForSlots({
      key,
      route,
      neededSlots,
      demand,
      hasStarted: () => false,
      signal: () => signal,
    });
  } catch (error) {
    settleDemand(scopes, demand, noDemand, clock());
    throw error;
  }
  const startedAt = clock();
  try {
    return await send();
  } finally {
    admission.release(neededSlots, clock() - startedAt);
  }
}

const atLimit = (model: string, waitMs: number): GatewayError =>
  new GatewayError(
    "target_at_limit",
    `Rate limit reached for ${model} at its upstream. Please try again later.`,
    { notSent: true, ...(Number.isFinite(waitMs) && { retryAfterMs: waitMs }) },
  );
