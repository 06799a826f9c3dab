/** A call larger than the model's targets can take travels in parts, side by side, and comes back as one. */

import { AbortSource } from "../lib/abort-signal.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { runConcurrently } from "../lib/run-concurrently.ts";
import type { Route } from "../request/caller.ts";
import {
  type InputRange,
  inputsIn,
  itemsOf,
  limitsOf,
  type RequestLoad,
  splitIntoRanges,
} from "../request/request-load.ts";
import type { Send, Stage, StageRequest } from "../request/stage.ts";
import type {
  EmbeddingCapabilities,
  EmbeddingsQuery,
  EmbeddingsResponse,
  Target,
  Vector,
} from "../upstream/contract.ts";
import { remapInputIndex } from "../upstream/rejected-input.ts";
import { unsplittableReason } from "./unsplittable.ts";
import { haveSameLength } from "./vector-formats.ts";

export interface SplitOptions {
  readonly capabilities: (target: Target) => EmbeddingCapabilities;
  /** The most parts of one call that are under way at the same time. */
  readonly maxParallel?: number;
}

export const split = ({
  capabilities: traits,
  maxParallel = 8,
}: SplitOptions): Stage<EmbeddingsQuery, EmbeddingsResponse> => {
  const limits = new WeakMap<Route, RequestLoad>();
  const look = (route: Route): RequestLoad => {
    // Which target will serve a part is not known yet, so it must fit all of them.
    const found = limitsOf(route.targets.map(traits));
    limits.set(route, found);
    return found;
  };
  return (next) => (call) => {
    const { query, route } = call;
    const { input } = query;
    if (itemsOf(input) === 1 || unsplittableReason(query, route)) return next(call);
    const ranges = splitIntoRanges(input, limits.get(call.route) ?? look(call.route));
    return ranges.length === 1
      ? inOne(call, next, maxParallel)
      : inParts(call, ranges.reverse(), next, maxParallel);
  };
};

type EmbeddingsSend = Send<EmbeddingsQuery, EmbeddingsResponse>;

async function inOne(
  call: StageRequest<EmbeddingsQuery>,
  next: EmbeddingsSend,
  maxParallel: number,
): Promise<EmbeddingsResponse> {
  try {
    return await next(call);
  } catch (error) {
    if (!isTooMuch(error)) throw error;
    const whole = { from: 0, to: itemsOf(call.query.input) };
    return inParts(call, halvesOf(whole), next, maxParallel);
  }
}

/** `pile`: the parts, the first on top. */
async function inParts(
  call: StageRequest<EmbeddingsQuery>,
  pile: InputRange[],
  next: EmbeddingsSend,
  maxParallel: number,
): Promise<EmbeddingsResponse> {
  const { query, signal } = call;
  if (signal.aborted) throw signal.reason;
  const vectors = new Array<Vector>(itemsOf(query.input));
  let inputTokens: number | undefined = 0;
  let perInput: number[] | undefined = new Array(vectors.length);

  const cancel = new AbortSource();
  const give = async (range: InputRange): Promise<void> => {
    const input = inputsIn(query.input, range);
    const reply = await next({ ...call, query: { ...query, input }, signal: cancel });
    if (reply.vectors.length !== range.to - range.from) {
      throw new GatewayError("internal", "A part of a call has another number of vectors.");
    }
    for (const [at, vector] of reply.vectors.entries()) vectors[range.from + at] = vector;
    // Unknown of one part is unknown of the whole.
    inputTokens =
      reply.usage && inputTokens !== undefined ? inputTokens + reply.usage.inputTokens : undefined;
    if (!reply.usage?.perInput) perInput = undefined;
    for (const [at, tokens] of reply.usage?.perInput?.entries() ?? []) {
      if (perInput) perInput[range.from + at] = tokens;
    }
  };
  const hangUp = (): void => cancel.abort(signal.reason);
  signal.addEventListener("abort", hangUp);
  try {
    await runConcurrently(pile, maxParallel, async (range) => {
      try {
        if (cancel.aborted) throw cancel.reason;
        await give(range);
      } catch (error) {
        if (range.to - range.from > 1 && isTooMuch(error)) {
          pile.push(...halvesOf(range));
          return;
        }
        // One part without an answer is a call without an answer: nobody waits for the others.
        const told = remapInputIndex(error, placesOf(range));
        cancel.abort(told);
        throw told;
      }
    });
  } finally {
    signal.removeEventListener("abort", hangUp);
  }
  if (!haveSameLength(vectors)) {
    throw new GatewayError(
      "upstream_invalid",
      "The upstream's response is not usable: the vectors of its parts are of different lengths.",
    );
  }
  if (inputTokens === undefined) return { vectors };
  return { vectors, usage: { inputTokens, ...(perInput && { perInput }) } };
}

const placesOf = ({ from, to }: InputRange): number[] =>
  Array.from({ length: to - from }, (_, at) => from + at);

/** The first on top. */
function halvesOf({ from, to }: InputRange): [InputRange, InputRange] {
  const middle = Math.ceil((from + to) / 2);
  return [
    { from: middle, to },
    { from, to: middle },
  ];
}

/** Too many tokens, or a body too large: less of the same may pass. */
const isTooMuch = (error: unknown): boolean =>
  error instanceof GatewayError &&
  (error.kind === "max_tokens_per_request" || error.definition.status === 413);
