/**
 * Adapts embeddings parameters, such as `dimensions`, to a target. The gateway emulates an unsupported parameter where
 * the result is the same, drops it where it makes no difference to the vectors, and otherwise refuses it.
 */

import { GatewayError } from "../lib/gateway-error.ts";
import { isEmptyObject } from "../lib/large-json.ts";
import { nextTurn } from "../lib/tasks.ts";
import type { PermittedModel } from "../request/caller.ts";
import { joinDeviations } from "../request/deviations.ts";
import type { Send, Stage, StageRequest } from "../request/stage.ts";
import { canTruncateTo } from "../upstream/catalog/index.ts";
import type {
  Deviations,
  EmbeddingCapabilities,
  EmbeddingsQuery,
  EmbeddingsResponse,
  InputEntry,
  Target,
} from "../upstream/contract.ts";
import { withEntries } from "../upstream/mixed-input.ts";
import { decode, describeTokenWithoutText, type TokenizerName } from "../upstream/tokenizers.ts";
import {
  type ConvertImages,
  embedMixed,
  type LoadImages,
  sendMixed,
} from "./multimodal/embed-mixed.ts";
import {
  type ParameterChanges,
  parameterChanges,
  rejectUnsplittable,
} from "./parameter-changes.ts";
import { packResponse, sendQuantized } from "./quantized-vectors.ts";
import { type UnsplittableReason, unsplittableReason } from "./split.ts";
import { dimensionsOf, truncateVector } from "./vector-formats.ts";

export type EmbeddingCapabilitiesOf = (target: Target) => EmbeddingCapabilities;

/** The targets' declared capabilities, corrected according to their responses. */
interface LearnedCapabilities {
  readonly capabilities: EmbeddingCapabilitiesOf;
  /** The target accepts `dimensions` but returns the full length: from now on the parameter is not sent to it. */
  markDimensionsIgnored(target: Target): void;
}

export const learnCapabilities = (capabilities: EmbeddingCapabilitiesOf): LearnedCapabilities => {
  const ignoringDimensions = new WeakSet<Target>();
  return {
    capabilities: (target) => {
      const declared = capabilities(target);
      if (!ignoringDimensions.has(target)) return declared;
      const { dimensions: _, ...others } = declared;
      return others;
    },
    markDimensionsIgnored: (target) => void ignoringDimensions.add(target),
  };
};

/**
 * Apart from its extra fields, the request has only parameters that every target supports. Fast path: most requests are
 * plain.
 */
const isPlain = ({ input, dimensions, taskType, outputType, user }: EmbeddingsQuery): boolean =>
  dimensions === undefined &&
  taskType === undefined &&
  outputType === undefined &&
  user === undefined &&
  input.kind === "text";

/**
 * Refuses parameters that no target supports, and returns which are adapted or dropped. It precedes the cache, so that
 * a client gets the same headers for cached and new vectors.
 */
export const checkParameters =
  (
    capabilities: EmbeddingCapabilitiesOf,
    loadImages: LoadImages,
  ): Stage<EmbeddingsQuery, EmbeddingsResponse> =>
  (next) => {
    const check = checkQuery(capabilities, next);
    return (request) => {
      const { input } = request.query;
      if (input.kind !== "mixed") return check(request);
      // An image that no target reads is not loaded.
      const refusal = refusalOf(request, capabilities);
      return refusal ? Promise.reject(refusal) : embedMixed(request, input, loadImages, check);
    };
  };

function refusalOf(
  { query, model }: StageRequest<EmbeddingsQuery>,
  capabilities: EmbeddingCapabilitiesOf,
): GatewayError | undefined {
  const unsplittable = unsplittableReason(query, model);
  const changes = model.targets.map((target) =>
    changesForTarget(query, capabilities(target), model, unsplittable),
  );
  return changes.every(({ refusal }) => refusal) ? changes[0]?.refusal : undefined;
}

const checkQuery =
  (
    capabilities: EmbeddingCapabilitiesOf,
    next: Send<EmbeddingsQuery, EmbeddingsResponse>,
  ): Send<EmbeddingsQuery, EmbeddingsResponse> =>
  (request) => {
    const { query, model } = request;
    const unsplittable = unsplittableReason(query, model);
    if (isPlain(query) && isEmptyObject(query.extraFields) && !unsplittable) return next(request);
    const changesByTarget = model.targets.map((target) =>
      changesForTarget(query, capabilities(target), model, unsplittable),
    );
    const supported = changesByTarget.filter(({ refusal }) => !refusal);
    if (supported.length === 0 && changesByTarget[0]?.refusal)
      return Promise.reject(changesByTarget[0].refusal);
    const deviations = {
      adapted: namesOf(supported, "adapted"),
      dropped: namesOf(supported, "dropped"),
    };
    const sendFloats: Send<EmbeddingsQuery, EmbeddingsResponse> = async (changed) =>
      withDeviations(await next(changed), deviations);
    const send = query.outputType
      ? sendQuantized(
          sendFloats,
          query.outputType,
          supported.every(({ packs }) => packs === true),
        )
      : sendFloats;
    const [tokenizer, ...otherTokenizers] = new Set(supported.map(({ decodeWith }) => decodeWith));
    if (tokenizer === undefined || otherTokenizers.length > 0) return send(request);
    // Every target gets the decoded text. Decoded before the cache, the request shares the cached vector of that text.
    return decodeTokens(query, tokenizer).then((decoded) => send({ ...request, query: decoded }));
  };

/** The same response, with these deviations besides its own. */
const withDeviations = (
  response: EmbeddingsResponse,
  deviations: Deviations,
): EmbeddingsResponse => {
  const { adapted = [], dropped = [] } = deviations;
  if (adapted.length === 0 && dropped.length === 0) return response;
  const joined = joinDeviations(deviations, response.deviations);
  return { ...response, ...(joined && { deviations: joined }) };
};

const namesOf = (
  changesByTarget: readonly ParameterChanges[],
  kind: "adapted" | "dropped",
): readonly string[] => [...new Set(changesByTarget.flatMap((changes) => changes[kind]))];

/** Whether a target supports the request's parameters, possibly adapted. */
export const supportsParameters =
  (capabilities: EmbeddingCapabilitiesOf) =>
  ({ query, model }: StageRequest<EmbeddingsQuery>, target: Target): boolean => {
    const unsplittable = unsplittableReason(query, model);
    if (isPlain(query) && !unsplittable) return true;
    return changesForTarget(query, capabilities(target), model, unsplittable).refusal === undefined;
  };

function changesForTarget(
  query: EmbeddingsQuery,
  capabilities: EmbeddingCapabilities,
  model: PermittedModel,
  unsplittable: UnsplittableReason | undefined,
): ParameterChanges {
  const changes = parameterChanges(query, capabilities, model);
  const refusal =
    changes.refusal ?? (unsplittable && rejectUnsplittable(query, capabilities, unsplittable));
  return refusal ? { ...changes, refusal } : changes;
}

/** The stage after the target is selected: adapts the request to it, and its response to the client's request. */
export const adaptParameters =
  (
    learned: LearnedCapabilities,
    convertImages: ConvertImages,
  ): Stage<EmbeddingsQuery, EmbeddingsResponse> =>
  (next) => {
    const sendImages = sendMixed(learned.capabilities, convertImages, next);
    return (request) => {
      const { query, target } = request;
      const last = query.input.kind === "mixed" ? sendImages : next;
      const send = (): Promise<EmbeddingsResponse> =>
        isPlain(query) || !target ? next(request) : sendAdapted(request, target, learned, last);
      return isLong(query) ? nextTurn().then(send) : send();
    };
  };

/**
 * From this many characters on, the query gets a turn of the event loop: looking up long texts in the cache took
 * milliseconds, and so will writing the upstream request.
 */
const longCharacters = 1024 * 1024;

/** A token is about four characters of text, and as much work to write. */
const charactersPerToken = 4;

function isLong({ input }: EmbeddingsQuery): boolean {
  let characters = 0;
  if (input.kind === "text") for (const text of input.texts) characters += text.length;
  else if (input.kind === "tokens")
    for (const tokens of input.tokens) characters += tokens.length * charactersPerToken;
  return characters >= longCharacters;
}

async function sendAdapted(
  request: StageRequest<EmbeddingsQuery>,
  target: Target,
  { capabilities, markDimensionsIgnored }: LearnedCapabilities,
  next: (request: StageRequest<EmbeddingsQuery>) => Promise<EmbeddingsResponse>,
): Promise<EmbeddingsResponse> {
  const { model } = request;
  const changes = parameterChanges(request.query, capabilities(target), model);
  if (changes.refusal) throw changes.refusal;
  const query = await adaptQuery(request.query, changes);
  const response = await next({ ...request, query });
  // The verify stage knows the length of quantized vectors.
  if (query.outputType) return response;
  const adapted = adaptLength(response, request);
  const wasIgnored = adapted !== response && changes.truncateTo === undefined;
  if (wasIgnored) markDimensionsIgnored(target);
  const { outputType } = request.query;
  return outputType ? packResponse(adapted, outputType) : adapted;
}

/** Truncates the vectors if they are longer than `dimensions`. */
function adaptLength(
  response: EmbeddingsResponse,
  request: StageRequest<EmbeddingsQuery>,
): EmbeddingsResponse {
  const { model, query } = request;
  const { dimensions } = query;
  if (dimensions === undefined) return response;
  if (!isTooLong(response, dimensions)) {
    rejectExcessDimensions(response, dimensions, request);
    return response;
  }
  // Longer than the model's own vectors: another model made them, and truncating is useless. The verify stage refuses
  // them.
  if (model.known && isTooLong(response, model.known.dimensions)) return response;
  return truncateResponse(dimensions, response, request);
}

async function adaptQuery(
  original: EmbeddingsQuery,
  changes: ParameterChanges,
): Promise<EmbeddingsQuery> {
  const query = changes.decodeWith ? await decodeTokens(original, changes.decodeWith) : original;
  const { dimensions, taskType, outputType, ...others } = query;
  return {
    ...others,
    ...(outputType && !changes.packs && { outputType }),
    ...(dimensions !== undefined && changes.truncateTo === undefined && { dimensions }),
    ...(taskType && !changes.dropped.includes(taskType.field) && { taskType }),
  };
}

const isTooLong = ({ vectors }: EmbeddingsResponse, dimensions: number): boolean =>
  vectors.some((vector) => dimensionsOf(vector) > dimensions);

/** Refuses `dimensions` above the model's own: all vectors have one length, which is shorter than requested. */
function rejectExcessDimensions(
  { vectors: [first, ...others] }: EmbeddingsResponse,
  dimensions: number,
  { query, model }: StageRequest<EmbeddingsQuery>,
): void {
  const length = first === undefined ? 0 : dimensionsOf(first);
  if (length <= 0 || length === dimensions) return;
  if (others.some((vector) => dimensionsOf(vector) !== length)) return;
  // A length that is not the model's own is an invalid response, which the verify stage refuses.
  if (length !== (model.dimensions ?? model.known?.dimensions ?? length)) return;
  throw new GatewayError(
    "dimensions_unsupported",
    `The model \`${query.model}\` does not support ${dimensions} dimensions: its vectors have ${length}. Send at most ${length}, or omit \`dimensions\`.`,
    { param: "dimensions" },
  );
}

function truncateResponse(
  dimensions: number,
  response: EmbeddingsResponse,
  { query, model }: StageRequest<EmbeddingsQuery>,
): EmbeddingsResponse {
  if (!model.known || !canTruncateTo(model.known, dimensions)) {
    throw new GatewayError(
      "dimensions_unsupported",
      `The model \`${query.model}\` does not support specifying dimensions: its vectors always have the same length. Omit \`dimensions\`.`,
      { param: "dimensions" },
    );
  }
  const { verbatim: _, ...others } = response;
  const vectors = response.vectors.map((vector) => truncateVector(vector, dimensions));
  return withDeviations({ ...others, vectors }, { adapted: ["dimensions"] });
}

/** After this many tokens the event loop gets a turn: a million tokens take tens of milliseconds. */
const tokensPerTurn = 65_536;

/**
 * Decodes token arrays to texts, for targets that take only texts or have another vocabulary than the client's. Returns
 * the query with texts in place of its tokens. Throws if tokens cannot be decoded.
 */
export async function decodeTokens(
  query: EmbeddingsQuery,
  tokenizer: TokenizerName,
): Promise<EmbeddingsQuery> {
  const { input } = query;
  if (input.kind === "text") return query;
  const entries = input.kind === "mixed" ? input.entries : input.tokens.map(tokensEntry);
  const decodedEntries: InputEntry[] = [];
  let decoded = 0;
  for (const [at, entry] of entries.entries()) {
    const [first] = entry.parts;
    const tokens = first?.kind === "tokens" ? first.tokens : undefined;
    decodedEntries.push(tokens ? await decodeEntry(tokens, at, tokenizer) : entry);
    decoded += tokens?.length ?? 0;
    if (decoded < tokensPerTurn) continue;
    decoded = 0;
    await nextTurn();
  }
  return { ...query, input: withEntries(decodedEntries) };
}

const tokensEntry = (tokens: readonly number[]): InputEntry => ({
  parts: [{ kind: "tokens", tokens }],
});

async function decodeEntry(
  tokens: readonly number[],
  at: number,
  tokenizer: TokenizerName,
): Promise<InputEntry> {
  const text = await decode(tokenizer, tokens);
  if (text === undefined || text === "") throw await noText(at, tokens, tokenizer);
  return { parts: [{ kind: "text", text }] };
}

async function noText(
  at: number,
  tokens: readonly number[],
  tokenizer: TokenizerName,
): Promise<GatewayError> {
  const named = await describeTokenWithoutText(tokenizer, tokens);
  const reason = named
    ? `holds ${named} of ${tokenizer}, the tokenizer of OpenAI's embedding models. It has no text: leave it out, or send strings.`
    : `holds tokens that ${tokenizer}, the tokenizer of OpenAI's embedding models, cannot decode to text. Send strings.`;
  return new GatewayError("invalid_input", `'$.input' is invalid. Entry ${at} ${reason}`);
}
