/**
 * Last stage before a target: enforces the rate limits and concurrency slots of the target and its upstream. Without a free
 * slot the request queues. Every upstream request is counted here, including each chunk of a split request.
 */

import { clampEmbeddingsUsage, clampWholeUsage } from "../ledger/clamp-reported-usage.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { sleep } from "../lib/sleep.ts";
import type { Usage } from "../request/operation.ts";
import type { Stage, StageRequest } from "../request/stage.ts";
import type { EmbeddingsResponse, ImageEvent, ImageResponse } from "../upstream/contract.ts";
import type { Admission } from "./admission.ts";
import type { Demand, LimitScope } from "./limit-scope.ts";
import { noDemand, settleDemand, take } from "./limiter.ts";
import { duration } from "./rate-limit-headers.ts";
import { actualDemand, demandOf, type LimitedQuery } from "./request-cost.ts";

export interface TargetLimitOptions {
  readonly admission: Admission;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  /** How long a request that has started waits at a rate limit, so that the work done for it is not lost. */
  readonly waitMs: { readonly embedding: number; readonly image: number };
}

type Reply = EmbeddingsResponse | ImageResponse;

export const enforceTargetLimits =
  <Q extends LimitedQuery, A extends Reply>(options: TargetLimitOptions): Stage<Q, A> =>
  (next) => {
    const { admission, clock } = options;
    const visit = async (call: StageRequest<Q>, names: readonly string[]): Promise<A> => {
      const scopes = admission.scopesOf(names);
      const demand = demandOf(call.query);
      const came = clock();
      if (call.queueWait) call.queueWait.isWaiting = true;
      await takeWhenAvailable(scopes, demand, call, options);
      const gates = scopes.map(({ slots: gate }) => gate);
      const settle = (actual: Demand): void => settleDemand(scopes, demand, actual, clock());
      try {
        await admission.waitForSlots({
          key: call.record.caller?.id ?? "",
          route: call.route,
          neededSlots: gates,
          demand,
          hasStarted: () => call.record.routing.hasStarted,
          signal: () => call.signal,
        });
      } catch (error) {
        settle(noDemand);
        throw error;
      }
      const began = clock();
      // The chunks of one request wait concurrently.
      if (call.queueWait) {
        call.queueWait.isWaiting = false;
        call.queueWait.ms = Math.max(call.queueWait.ms, began - came);
      }
      call.record.routing.hasStarted = true;
      const leave = (usage: Usage | undefined, error?: unknown): void => {
        settle(settledDemand(demand, usage, error));
        admission.release(gates, clock() - began);
      };
      let reply: A;
      try {
        reply = await next(call);
      } catch (error) {
        leave(undefined, error);
        throw error;
      }
      if ("kind" in reply && reply.kind === "stream")
        return { ...reply, events: releaseAtStreamEnd(reply.events, call, leave) };
      leave(usageOf(reply, call.query));
      return reply;
    };
    return (call) => (call.target?.scopes ? visit(call, call.target.scopes) : next(call));
  };

async function takeWhenAvailable<Q>(
  scopes: readonly LimitScope[],
  demand: Demand,
  { route, record, signal }: StageRequest<Q>,
  { clock, waitMs }: TargetLimitOptions,
): Promise<void> {
  const until = clock() + waitMs[route.kind];
  for (;;) {
    const short = take(scopes, demand, clock());
    if (!short) return;
    if (!record.routing.hasStarted || clock() + short.waitMs > until)
      throw atLimit(route.id, short.waitMs);
    await sleep(short.waitMs, signal);
  }
}

/** The request was not sent, so another target may be tried. */
const atLimit = (model: string, waitMs: number): GatewayError =>
  waitMs === Infinity
    ? new GatewayError(
        "target_at_limit",
        `Request too large for ${model}: it is larger than its upstream's limit for a minute.`,
        { notSent: true },
      )
    : new GatewayError(
        "target_at_limit",
        `Rate limit reached for ${model} at its upstream. Please try again in ${duration(waitMs)}.`,
        { notSent: true, retryAfterMs: waitMs },
      );

function settledDemand(demand: Demand, usage: Usage | undefined, thrown: unknown): Demand {
  if (thrown === undefined) return actualDemand(demand, { usage, wasSent: true, error: undefined });
  // Canceled, or a defect: what was generated is not known.
  if (!(thrown instanceof GatewayError)) return demand;
  if (thrown.details.notSent) return noDemand;
  return actualDemand(demand, { usage, wasSent: true, error: thrown });
}

/** Implausible usage is not counted; the verify stage reports it. */
function usageOf(reply: Reply, query: LimitedQuery): Usage | undefined {
  if ("vectors" in reply)
    return "input" in query
      ? clampEmbeddingsUsage(reply, { query }, ignoreRejected).usage
      : undefined;
  if (reply.kind === "stream" || "input" in query) return undefined;
  const { usage, results } = clampWholeUsage(reply, query, ignoreRejected);
  return {
    images: results.length,
    ...(usage && { inputTokens: usage.input_tokens, outputTokens: usage.output_tokens }),
  };
}

const ignoreRejected = (): void => undefined;

/** A stream holds its slots until its last event or, if it is not read to the end, until its request is over. */
function releaseAtStreamEnd<Q>(
  events: AsyncIterable<ImageEvent>,
  { record }: StageRequest<Q>,
  leave: (usage: Usage | undefined, error?: unknown) => void,
): AsyncIterable<ImageEvent> {
  let over = false;
  const end = (error?: unknown): void => {
    if (over) return;
    over = true;
    leave(undefined, error);
  };
  record.onEnd(end);
  async function* passOn(): AsyncGenerator<ImageEvent> {
    try {
      yield* events;
    } catch (error) {
      end(error);
      throw error;
    } finally {
      end();
    }
  }
  return passOn();
}
