/**
 * Target limits, the last stage that can delay or refuse a request: enforces the rate limits and concurrency slots of
 * the target and its upstream. Without a free slot the request queues. Every upstream request is counted here,
 * including each sub-request of a split request and the gateway's own requests.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import { sleep } from "../lib/timers.ts";
import type { RequestUsage } from "../request/http-types.ts";
import { hasStarted, type Stage, type StageRequest } from "../request/stage.ts";
import type {
  EmbeddingsResponse,
  ImageEvent,
  ImageResponse,
  ModerationResponse,
} from "../upstream/contract.ts";
import type { Admission } from "./admission.ts";
import type { ConcurrencySlots, SlotLease } from "./concurrency-slots.ts";
import { type LimitScope, noDemand, settleDemand } from "./limiter.ts";
import type { Demand } from "./rate-limit-counters.ts";
import { duration } from "./rate-limit-headers.ts";
import { actualDemand, demandOf, type LimitedQuery } from "./request-demand.ts";

export type TargetResponse = EmbeddingsResponse | ImageResponse | ModerationResponse;

export interface TargetLimitOptions {
  readonly admission: Admission;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  /** How long a request that has started waits at a rate limit, so that the work done for it is not lost. */
  readonly waitMs: { readonly embedding: number; readonly image: number };
  /** The plausible usage of a buffered response. Undefined if it is unknown. */
  readonly usageOf: (response: TargetResponse, query: LimitedQuery) => RequestUsage | undefined;
}

export const enforceTargetLimits =
  <Q extends LimitedQuery, A extends TargetResponse>(options: TargetLimitOptions): Stage<Q, A> =>
  (next) => {
    const { admission, clock, usageOf } = options;
    const sendWithinLimits = async (
      request: StageRequest<Q>,
      names: readonly string[],
      // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: each step releases what earlier steps took.
    ): Promise<A> => {
      const scopes = admission.scopesOf(names);
      const demand = demandOf(request.query);
      const arrivedAt = clock();
      const { context, parts, attempt } = request;
      if (attempt) attempt.queueWait.isWaiting = true;
      const neededSlots = scopes.map(({ slots }) => slots);
      const entered = await enterWhenAvailable({ scopes, neededSlots, demand }, request, options);
      const settle = (actual: Demand): void => settleDemand(scopes, demand, actual, clock());
      let lease: SlotLease;
      try {
        lease =
          entered ??
          (await admission.waitForSlots({
            key: context.caller?.id ?? "",
            priority: context.priority,
            model: request.model,
            neededSlots,
            hasStarted: () => hasStarted(request),
            wasSent: attempt?.wasSent === true,
            signal: request.signal,
          }));
      } catch (error) {
        settle(noDemand);
        throw error;
      }
      const startedAt = clock();
      // The sub-requests of one request wait concurrently: the longest wait counts.
      if (attempt) {
        const { queueWait } = attempt;
        queueWait.isWaiting = false;
        queueWait.admittedAt = startedAt;
        queueWait.ms = Math.max(queueWait.ms, startedAt - arrivedAt);
      }
      if (parts) parts.hasStarted = true;
      const release = (usage: RequestUsage | undefined, error?: unknown): void => {
        settle(settledDemand(demand, usage, error));
        lease.release();
      };
      let response: A;
      try {
        response = await next(request);
      } catch (error) {
        release(undefined, error);
        throw error;
      }
      if ("kind" in response && response.kind === "stream")
        return { ...response, events: releaseAtStreamEnd(response.events, request, release) };
      release(usageOf(response, request.query));
      return response;
    };
    return (request) =>
      request.target?.scopes ? sendWithinLimits(request, request.target.scopes) : next(request);
  };

interface TargetDemand {
  readonly scopes: readonly LimitScope[];
  readonly neededSlots: readonly ConcurrencySlots[];
  readonly demand: Demand;
}

/** Takes from the rate limits, after a wait if the request has started, and the slots, if they are free. */
async function enterWhenAvailable<Q>(
  demanded: TargetDemand,
  request: StageRequest<Q>,
  { admission, clock, waitMs }: TargetLimitOptions,
): Promise<SlotLease | undefined> {
  const { model } = request;
  const until = clock() + waitMs[model.kind];
  for (;;) {
    const { exceeded, lease } = await admission.enter(demanded);
    if (!exceeded) return lease;
    if (!hasStarted(request) || clock() + exceeded.waitMs > until)
      throw atLimit(model.id, exceeded.waitMs);
    await sleep(exceeded.waitMs, request.signal());
  }
}

/** The request was not sent, so another target may be tried. */
const atLimit = (model: string, waitMs: number): GatewayError =>
  waitMs === Infinity
    ? new GatewayError(
        "target_at_limit",
        `Request too large for ${model}: it exceeds the upstream's whole limit per minute.`,
        { notSent: true },
      )
    : new GatewayError(
        "target_at_limit",
        `Rate limit reached for ${model} at its upstream. Please try again in ${duration(waitMs)}.`,
        { notSent: true, retryAfterMs: waitMs },
      );

function settledDemand(demand: Demand, usage: RequestUsage | undefined, thrown: unknown): Demand {
  if (thrown === undefined) return actualDemand(demand, { usage, wasSent: true, error: undefined });
  // Canceled, or a bug: the actual usage is unknown, so the estimate stays counted.
  if (!(thrown instanceof GatewayError)) return demand;
  if (thrown.details.notSent) return noDemand;
  return actualDemand(demand, { usage, wasSent: true, error: thrown });
}

/** A stream holds its slots until its last event or, if it is not read to the end, until its request is over. */
function releaseAtStreamEnd<Q>(
  events: AsyncIterable<ImageEvent>,
  { deadline }: StageRequest<Q>,
  release: (usage: RequestUsage | undefined, error?: unknown) => void,
): AsyncIterable<ImageEvent> {
  let released = false;
  const end = (error?: unknown): void => {
    if (released) return;
    released = true;
    release(undefined, error);
  };
  deadline.onEnd(end);
  async function* watchedEvents(): AsyncGenerator<ImageEvent> {
    try {
      yield* events;
    } catch (error) {
      end(error);
      throw error;
    } finally {
      end();
    }
  }
  return watchedEvents();
}
