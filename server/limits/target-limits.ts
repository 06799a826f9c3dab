/**
 * The last before a target: no more is asked of it, or of its upstream, than its limits allow. Where as many calls are at it as may be, the
 * next waits for its turn. Whatever is sent is counted here, so also each part of a call that was cut.
 */

import { believedEmbeddings, believedWhole } from "../ledger/clamp-reported-usage.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { pause } from "../lib/sleep.ts";
import type { Usage } from "../request/operation.ts";
import type { Call, Stage } from "../request/stage.ts";
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
  /** A call for which work was done already waits so long for more of a rate, rather than to lose what was done. */
  readonly waitMs: { readonly embedding: number; readonly image: number };
}

type Reply = EmbeddingsResponse | ImageResponse;

export const enforceTargetLimits =
  <Q extends LimitedQuery, A extends Reply>(options: TargetLimitOptions): Stage<Q, A> =>
  (next) => {
    const { admission, clock } = options;
    const visit = async (call: Call<Q>, names: readonly string[]): Promise<A> => {
      const scopes = admission.scopesOf(names);
      const demand = demandOf(call.query);
      const came = clock();
      if (call.stood) call.stood.waits = true;
      await takeWhenAvailable(scopes, demand, call, options);
      const gates = scopes.map(({ gate }) => gate);
      const settle = (actual: Demand): void => settleDemand(scopes, demand, actual, clock());
      try {
        await admission.waitForSlots({
          key: call.trip.caller?.id ?? "",
          route: call.route,
          gates,
          demand,
          hasStarted: () => call.trip.begun,
          signal: () => call.signal,
        });
      } catch (error) {
        settle(noDemand);
        throw error;
      }
      const began = clock();
      // Parts of a call stand side by side.
      if (call.stood) {
        call.stood.waits = false;
        call.stood.ms = Math.max(call.stood.ms, began - came);
      }
      call.trip.begun = true;
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
  { route, trip, signal }: Call<Q>,
  { clock, waitMs }: TargetLimitOptions,
): Promise<void> {
  const until = clock() + waitMs[route.kind];
  for (;;) {
    const short = take(scopes, demand, clock());
    if (!short) return;
    if (!trip.begun || clock() + short.waitMs > until) throw atLimit(route.id, short.waitMs);
    await pause(short.waitMs, signal);
  }
}

/** Nothing was asked of it: another target may be. */
const atLimit = (model: string, waitMs: number): GatewayError =>
  waitMs === Infinity
    ? new GatewayError(
        "target_at_limit",
        `Request too large for ${model}: it is larger than its upstream's limit for a minute.`,
        { unsent: true },
      )
    : new GatewayError(
        "target_at_limit",
        `Rate limit reached for ${model} at its upstream. Please try again in ${duration(waitMs)}.`,
        { unsent: true, retryAfterMs: waitMs },
      );

function settledDemand(demand: Demand, usage: Usage | undefined, thrown: unknown): Demand {
  if (thrown === undefined) return actualDemand(demand, { usage, asked: true, error: undefined });
  // Called off, or a defect: nobody knows what was made.
  if (!(thrown instanceof GatewayError)) return demand;
  if (thrown.details.unsent) return noDemand;
  return actualDemand(demand, { usage, asked: true, error: thrown });
}

/** What cannot be is not counted; it is told of further up, where the answer is judged. */
function usageOf(reply: Reply, query: LimitedQuery): Usage | undefined {
  if ("vectors" in reply)
    return "input" in query
      ? believedEmbeddings(reply, { query }, ignoreRejected).usage
      : undefined;
  if (reply.kind === "stream" || "input" in query) return undefined;
  const { usage, results } = believedWhole(reply, query, ignoreRejected);
  return {
    images: results.length,
    ...(usage && { inputTokens: usage.input_tokens, outputTokens: usage.output_tokens }),
  };
}

const ignoreRejected = (): void => undefined;

/** A stream is at work until its last event; and if nobody reads it to the end, until its call is over. */
function releaseAtStreamEnd<Q>(
  events: AsyncIterable<ImageEvent>,
  { trip }: Call<Q>,
  leave: (usage: Usage | undefined, error?: unknown) => void,
): AsyncIterable<ImageEvent> {
  let over = false;
  const end = (error?: unknown): void => {
    if (over) return;
    over = true;
    leave(undefined, error);
  };
  trip.whenOver(end);
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
