/** Parameter changes: what must change in a request before a target can serve it, or why the target cannot. */
import type { Model } from "../config/snapshot.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { isEmptyObject } from "../lib/is-empty-object.ts";
import { loadOf } from "../request/request-load.ts";
import { canBeCutTo, type KnownEmbedding } from "../upstream/catalog/index.ts";
import type { EmbeddingCapabilities, EmbeddingsQuery } from "../upstream/contract.ts";
import { vendorTaskType } from "../upstream/task-type.ts";
import type { TokenizerName } from "../upstream/tokenizers.ts";
import type { UnsplittableReason } from "./unsplittable.ts";

export interface ParameterChanges {
  /** The client's fields that are emulated instead of passed on. */
  readonly adapted: readonly string[];
  /** Fields that have no effect on the target, and are not sent. */
  readonly dropped: readonly string[];
  /** The target's vectors are longer, and are truncated to this length. */
  readonly truncateTo?: number;
  /** The tokenizer that decodes the tokens to texts. */
  readonly decodeWith?: TokenizerName;
  readonly refusal?: GatewayError;
}

const unchanged: ParameterChanges = { adapted: [], dropped: [] };

/** The request has no parameter that a target may not support. Fast path: most requests are plain. */
export const isPlain = ({ input, dimensions, taskType: purpose, user }: EmbeddingsQuery): boolean =>
  dimensions === undefined && purpose === undefined && user === undefined && input.kind === "text";

export function parameterChanges(
  query: EmbeddingsQuery,
  traits: EmbeddingCapabilities,
  { known, tokenArrays }: Pick<Model, "known" | "tokenArrays">,
): ParameterChanges {
  const ignored = ignoredFields(query, traits);
  if (isPlain(query)) return ignored.length === 0 ? unchanged : { ...unchanged, dropped: ignored };
  const length = fitDimensions(query, traits, known);
  const tokens = fitTokens(query, traits, known, tokenArrays);
  const purpose = fitPurpose(query, traits);
  return {
    ...purpose,
    ...tokens,
    ...length,
    adapted: [...length.adapted, ...tokens.adapted, ...purpose.adapted],
    // `user` changes no vector, so an upstream without such a field can ignore it.
    dropped: [
      ...purpose.dropped,
      ...(query.taskType?.also ?? []),
      ...(query.user !== undefined && traits.user !== true ? ["user"] : []),
      ...ignored,
    ],
  };
}

const ignoredFields = (
  { rest }: EmbeddingsQuery,
  { extras }: EmbeddingCapabilities,
): readonly string[] =>
  extras && !isEmptyObject(rest) ? Object.keys(rest).filter((name) => !extras.includes(name)) : [];

/** A request that is one unit cannot be split: the target must take all of it. */
export function rejectUnsplittable(
  { input, model }: EmbeddingsQuery,
  { maxItems, maxBytes = Infinity }: EmbeddingCapabilities,
  unit: UnsplittableReason,
): GatewayError | undefined {
  // Tokens are not compared: of texts they are an estimate, and the upstream counts them.
  const { items, bytes } = loadOf(input);
  const most =
    items > maxItems
      ? `${maxItems} inputs, and there are ${items}`
      : bytes > maxBytes
        ? `${maxBytes} bytes of text, and there are ${bytes}`
        : undefined;
  if (most === undefined) return undefined;
  const why =
    unit === "large extra fields"
      ? "The extra fields of this request are large"
      : `The model \`${model}\` embeds the inputs of this request in each other's context`;
  return new GatewayError(
    "invalid_input",
    `'$.input' is invalid. ${why}, so the request cannot be split over several upstream requests, and one takes at most ${most}. Send fewer inputs in one request.`,
    { param: "input" },
  );
}

function fitDimensions(
  { dimensions, model }: EmbeddingsQuery,
  traits: EmbeddingCapabilities,
  known: KnownEmbedding | undefined,
): ParameterChanges {
  if (dimensions === undefined) return unchanged;
  if (traits.dimensions === "any" || traits.dimensions?.includes(dimensions)) return unchanged;
  // The model's own length need not be sent.
  if (known?.dimensions === dimensions) return { ...unchanged, truncateTo: dimensions };
  if (known && canBeCutTo(known, dimensions)) {
    return { ...unchanged, adapted: ["dimensions"], truncateTo: dimensions };
  }
  return { ...unchanged, refusal: notThatLong(model, dimensions, traits, known) };
}

function notThatLong(
  model: string,
  dimensions: number,
  traits: EmbeddingCapabilities,
  known: KnownEmbedding | undefined,
): GatewayError {
  const lengths = lengthsOf(traits, known);
  const choice = rangeOf(known) ?? (lengths.length > 1 ? lengths.join(", ") : undefined);
  const message = choice
    ? `The model \`${model}\` does not support ${dimensions} dimensions. Supported: ${choice}. Send one of these, or omit \`dimensions\`.`
    : `This model does not support specifying dimensions${lengths.length > 0 ? `: its vectors have ${lengths[0]}` : ""}. Omit \`dimensions\`.`;
  return new GatewayError("dimensions_unsupported", message, { param: "dimensions" });
}

const rangeOf = (known: KnownEmbedding | undefined): string | undefined =>
  known?.matryoshka && "min" in known.matryoshka
    ? `${known.matryoshka.min} to ${known.dimensions}`
    : undefined;

function lengthsOf(
  { dimensions }: EmbeddingCapabilities,
  known: KnownEmbedding | undefined,
): number[] {
  const cuts = known?.matryoshka && !("min" in known.matryoshka) ? known.matryoshka : [];
  const made = dimensions === "any" ? [] : (dimensions ?? []);
  const all = [...made, ...cuts, ...(known ? [known.dimensions] : [])];
  return [...new Set(all)].sort((a, b) => a - b);
}

/** The default tokenizer of token arrays: all of OpenAI's embedding models and clients use it. */
const usualTokenizer: TokenizerName = "cl100k_base";

/**
 * A target gets token arrays unchanged only where its tokenizer is known to be the client's. For another tokenizer the
 * same numbers are other words, and the vectors would be wrong without an error; so it gets the decoded text.
 */
function fitTokens(
  { input, model }: EmbeddingsQuery,
  traits: EmbeddingCapabilities,
  known: KnownEmbedding | undefined,
  tokenArrays: Model["tokenArrays"],
): ParameterChanges {
  if (input.kind === "text") return unchanged;
  if (tokenArrays === "refuse" || (tokenArrays === "pass" && !traits.tokens)) {
    return { ...unchanged, refusal: textsOnly(model) };
  }
  // A catalog model without a tokenizer here has a vocabulary of its own, whatever server serves it.
  const tokenizer = known ? known.tokenizer : traits.tokenizer;
  if (traits.tokens && (tokenArrays === "pass" || tokenizer === usualTokenizer)) return unchanged;
  return { ...unchanged, adapted: ["input"], decodeWith: tokenizer ?? usualTokenizer };
}

const textsOnly = (model: string): GatewayError =>
  new GatewayError(
    "invalid_input",
    `'$.input' is invalid. The model \`${model}\` takes texts, not tokens: send strings (in LangChain for Python: check_embedding_ctx_length=False).`,
  );

function fitPurpose(
  { taskType: purpose, model }: EmbeddingsQuery,
  { taskTypes: purposes }: EmbeddingCapabilities,
): ParameterChanges {
  if (!purpose || purposes === "as-given") return unchanged;
  if (purposes === "indifferent") return { ...unchanged, dropped: [purpose.field] };
  const word = vendorTaskType(purpose, purposes);
  if (word !== undefined) {
    const same = word === purpose.given && purposes.field === purpose.field;
    return same ? unchanged : { ...unchanged, adapted: [purpose.field] };
  }
  const words = Object.values(purposes.values);
  return {
    ...unchanged,
    refusal: new GatewayError(
      "invalid_value",
      `Invalid value: '${purpose.given.slice(0, 100)}'. ${words.length > 0 ? `Supported values of '${purpose.field}' for the model \`${model}\` are: ${words.map((one) => `'${one}'`).join(", ")}.` : `The model \`${model}\` has no task types: omit '${purpose.field}', and put the prompt that the model expects before the text into the input.`}`,
      { param: purpose.field },
    ),
  };
}
