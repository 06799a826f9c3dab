/** Adapts embeddings parameters: what a target does not support is emulated where the result is the same, or refused. */
import { GatewayError } from "../lib/gateway-error.ts";
import { isEmptyObject } from "../lib/is-empty-object.ts";
import type { Route } from "../request/caller.ts";
import type { Stage, StageRequest } from "../request/stage.ts";
import { canBeCutTo } from "../upstream/catalog/index.ts";
import type {
  EmbeddingCapabilities,
  EmbeddingsQuery,
  EmbeddingsResponse,
  Target,
} from "../upstream/contract.ts";
import { decodeTokens } from "./decode-tokens.ts";
import {
  isPlain,
  type ParameterChanges,
  parameterChanges,
  rejectUnsplittable,
} from "./parameter-changes.ts";
import { type UnsplittableReason, unsplittableReason } from "./unsplittable.ts";
import { dimensionsOf, truncateVector } from "./vector-formats.ts";

export type CapabilitiesOf = (target: Target) => EmbeddingCapabilities;

/** The targets' declared capabilities, corrected by what their responses have shown. */
export interface LearnedCapabilities {
  readonly capabilities: CapabilitiesOf;
  /** The target accepts `dimensions` but returns the full length: from now on the parameter is not sent to it. */
  markDimensionsIgnored(target: Target): void;
}

export const learnCapabilities = (traits: CapabilitiesOf): LearnedCapabilities => {
  const whole = new WeakSet<Target>();
  return {
    capabilities: (target) => {
      const said = traits(target);
      if (!whole.has(target)) return said;
      const { dimensions: _, ...others } = said;
      return others;
    },
    markDimensionsIgnored: (target) => void whole.add(target),
  };
};

/**
 * Refuses parameters that no target supports, and records which are adapted or dropped. It precedes the cache, so that a
 * client gets the same headers for cached and new vectors.
 */
export const checkParameters =
  (traits: CapabilitiesOf): Stage<EmbeddingsQuery, EmbeddingsResponse> =>
  (next) =>
  (call) => {
    const { query, route, record } = call;
    const unit = unsplittableReason(query, route);
    if (isPlain(query) && isEmptyObject(query.rest) && !unit) return next(call);
    const fittings = route.targets.map((target) => fittingAt(query, traits(target), route, unit));
    const able = fittings.filter(({ refusal }) => !refusal);
    if (able.length === 0 && fittings[0]?.refusal) return Promise.reject(fittings[0].refusal);
    record.parameters.adapted = namesOf(able, "adapted");
    record.parameters.dropped = namesOf(able, "dropped");
    const [tokenizer, ...more] = new Set(able.map(({ decodeWith: decode }) => decode));
    if (tokenizer === undefined || more.length > 0) return next(call);
    // Every target gets the text: from here on it is a text, and shares the cached vector of the same text.
    return decodeTokens(query, tokenizer).then((decoded) => next({ ...call, query: decoded }));
  };

const namesOf = (
  fittings: readonly ParameterChanges[],
  of: "adapted" | "dropped",
): readonly string[] => [...new Set(fittings.flatMap((fitting) => fitting[of]))];

/** Whether a target supports the request's parameters, possibly adapted. */
export const supportsParameters =
  (traits: CapabilitiesOf) =>
  ({ query, route }: StageRequest<EmbeddingsQuery>, target: Target): boolean => {
    const unit = unsplittableReason(query, route);
    if (isPlain(query) && !unit) return true;
    return fittingAt(query, traits(target), route, unit).refusal === undefined;
  };

function fittingAt(
  query: EmbeddingsQuery,
  traits: EmbeddingCapabilities,
  route: Route,
  unit: UnsplittableReason | undefined,
): ParameterChanges {
  const fitting = parameterChanges(query, traits, route);
  const refusal = fitting.refusal ?? (unit && rejectUnsplittable(query, traits, unit));
  return refusal ? { ...fitting, refusal } : fitting;
}

/** The last stage before the upstream: adapts the request to the target, and the response to the client's request. */
export const adaptParameters =
  (learned: LearnedCapabilities): Stage<EmbeddingsQuery, EmbeddingsResponse> =>
  (next) =>
  (call) => {
    const { query, target } = call;
    const ask = (): Promise<EmbeddingsResponse> =>
      isPlain(query) || !target ? next(call) : fitted(call, target, learned, next);
    return isLong(query) ? otherRequestsFirst().then(ask) : ask();
  };

/** From this many characters on, writing the upstream request takes milliseconds. */
const longCharacters = 1024 * 1024;

/** A token is about four characters of text, and as much work to write. */
const charactersPerToken = 4;

function isLong({ input }: EmbeddingsQuery): boolean {
  let characters = 0;
  if (input.kind === "text") for (const text of input.texts) characters += text.length;
  else for (const tokens of input.tokens) characters += tokens.length * charactersPerToken;
  return characters >= longCharacters;
}

/** A turn of the event loop: looking up long texts in the cache took milliseconds, and so will writing the request. */
const otherRequestsFirst = (): Promise<unknown> => new Promise(setImmediate);

async function fitted(
  call: StageRequest<EmbeddingsQuery>,
  target: Target,
  { capabilities: traits, markDimensionsIgnored: overlooks }: LearnedCapabilities,
  next: (call: StageRequest<EmbeddingsQuery>) => Promise<EmbeddingsResponse>,
): Promise<EmbeddingsResponse> {
  const { route } = call;
  const fitting = parameterChanges(call.query, traits(target), route);
  if (fitting.refusal) throw fitting.refusal;
  const query = await reworded(call.query, fitting);
  const reply = await next({ ...call, query });
  const { dimensions } = call.query;
  if (dimensions === undefined) return reply;
  if (!isTooLong(reply, dimensions)) {
    checkItsOwn(reply, dimensions, call);
    return reply;
  }
  // Longer than the model's own vectors: another model made them, and truncating is useless. The verify stage refuses them.
  if (route.known && isTooLong(reply, route.known.dimensions)) return reply;
  const cut = cutTo(dimensions, reply, call);
  if (fitting.truncateTo === undefined) overlooks(target);
  return cut;
}

async function reworded(
  given: EmbeddingsQuery,
  fitting: ParameterChanges,
): Promise<EmbeddingsQuery> {
  const query = fitting.decodeWith ? await decodeTokens(given, fitting.decodeWith) : given;
  const { dimensions, taskType: purpose, ...others } = query;
  return {
    ...others,
    ...(dimensions !== undefined && fitting.truncateTo === undefined && { dimensions }),
    ...(purpose && !fitting.dropped.includes(purpose.field) && { taskType: purpose }),
  };
}

const isTooLong = ({ vectors }: EmbeddingsResponse, dimensions: number): boolean =>
  vectors.some((vector) => dimensionsOf(vector) > dimensions);

/** Refuses `dimensions` above the model's own: all vectors have one length, which is shorter than requested. */
function checkItsOwn(
  { vectors: [first, ...others] }: EmbeddingsResponse,
  dimensions: number,
  { query: { model }, route }: StageRequest<EmbeddingsQuery>,
): void {
  const length = first === undefined ? 0 : dimensionsOf(first);
  if (length <= 0 || length === dimensions) return;
  if (others.some((vector) => dimensionsOf(vector) !== length)) return;
  // A length that is not the model's own is an invalid response, which the verify stage refuses.
  if (length !== (route.dimensions ?? route.known?.dimensions ?? length)) return;
  throw new GatewayError(
    "dimensions_unsupported",
    `The model \`${model}\` does not support ${dimensions} dimensions: its vectors have ${length}. Send at most ${length}, or omit \`dimensions\`.`,
    { param: "dimensions" },
  );
}

function cutTo(
  dimensions: number,
  reply: EmbeddingsResponse,
  { query, route, record }: StageRequest<EmbeddingsQuery>,
): EmbeddingsResponse {
  if (!route.known || !canBeCutTo(route.known, dimensions)) {
    throw new GatewayError(
      "dimensions_unsupported",
      `The model \`${query.model}\` does not support specifying dimensions: its vectors always have the same length. Omit \`dimensions\`.`,
      { param: "dimensions" },
    );
  }
  record.parameters.adapted = [...new Set([...(record.parameters.adapted ?? []), "dimensions"])];
  const { verbatim: _, ...others } = reply;
  return { ...others, vectors: reply.vectors.map((vector) => truncateVector(vector, dimensions)) };
}
