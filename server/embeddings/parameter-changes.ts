/**
 * Changes of an unsupported parameter: what a request needs before a target can serve it, or the error if the target
 * cannot.
 */
import type { Model } from "../config/snapshot.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { isEmptyObject } from "../lib/large-json.ts";
import { quotedList } from "../lib/quoted-list.ts";
import { loadOf, type RequestLoad } from "../limits/request-demand.ts";
import { canTruncateTo, type KnownEmbedding } from "../upstream/catalog/index.ts";
import type { EmbeddingCapabilities, EmbeddingsQuery } from "../upstream/contract.ts";
import { hasImage, hasTokens } from "../upstream/mixed-input.ts";
import { vendorTaskType } from "../upstream/task-type.ts";
import type { TokenizerName } from "../upstream/tokenizers.ts";
import { imageRefusal, needsConversion } from "./multimodal/image-refusal.ts";
import { quantizedTypes } from "./output-type.ts";
import { isBits, notWholeBytes } from "./quantized-vectors.ts";
import { strictestImageLimits, strictestLimits, type UnsplittableReason } from "./split.ts";

export interface ParameterChanges {
  /** The client's fields that are emulated instead of passed on. */
  readonly adapted: readonly string[];
  /** Fields that have no effect on the target, and are not sent. */
  readonly dropped: readonly string[];
  /** `dimensions` is not sent to the target. If the target's vectors are longer than this, they are truncated to it. */
  readonly truncateTo?: number;
  /** The target gets no output type: its float32 vectors are packed into bits. */
  readonly packs?: true;
  /** The tokenizer that decodes the tokens to texts. */
  readonly decodeWith?: TokenizerName;
  readonly refusal?: GatewayError;
}

const unchanged: ParameterChanges = { adapted: [], dropped: [] };

export function parameterChanges(
  query: EmbeddingsQuery,
  capabilities: EmbeddingCapabilities,
  { known, dimensions, tokenArrays }: Pick<Model, "known" | "dimensions" | "tokenArrays">,
): ParameterChanges {
  const ignored = ignoredFields(query, capabilities);
  const forDimensions = adaptDimensions(query, capabilities, known, dimensions);
  const forTokens = adaptTokens(query, capabilities, known, tokenArrays);
  const forTaskType = adaptTaskType(query, capabilities);
  const forType = adaptOutputType(query, capabilities, {
    length: query.dimensions ?? dimensions ?? known?.dimensions,
    isTruncated: forDimensions.adapted.length > 0,
  });
  const { input } = query;
  const refusal = input.kind === "mixed" ? imageRefusal(query, input, capabilities) : undefined;
  const isConverted =
    input.kind === "mixed" && capabilities.images && needsConversion(input, capabilities.images);
  return {
    ...forType,
    ...forTaskType,
    ...forTokens,
    ...forDimensions,
    ...(refusal && { refusal }),
    adapted: [
      ...[forDimensions, forTokens, forTaskType, forType].flatMap(({ adapted }) => adapted),
      ...(isConverted ? ["input"] : []),
    ],
    // `user` changes no vector, so an upstream without such a field can ignore it.
    dropped: [
      ...forTaskType.dropped,
      ...(query.taskType?.duplicateFields ?? []),
      ...(query.user !== undefined && capabilities.user !== true ? ["user"] : []),
      ...ignored,
    ],
  };
}

const ignoredFields = (
  { extraFields }: EmbeddingsQuery,
  { extras }: EmbeddingCapabilities,
): readonly string[] =>
  extras && !isEmptyObject(extraFields)
    ? Object.keys(extraFields).filter((name) => !extras.includes(name))
    : [];

/** Refuses a request that cannot be split and exceeds the limits of a target. */
export function rejectUnsplittable(
  { input, model }: EmbeddingsQuery,
  capabilities: EmbeddingCapabilities,
  unsplittable: UnsplittableReason,
): GatewayError | undefined {
  // Token counts are not compared: for texts they are estimates, and the upstream counts the tokens itself.
  if (input.kind === "mixed" && !input.entries.every(hasImage)) {
    return new GatewayError(
      "invalid_input",
      "'$.input' is invalid. Texts, token arrays and images are embedded in separate upstream requests, and this request cannot be split. Send entries of one kind in a request.",
    );
  }
  const limits =
    input.kind === "mixed" ? strictestImageLimits([capabilities]) : strictestLimits([capabilities]);
  const exceeded = exceededLimit(loadOf(input), limits);
  if (exceeded === undefined) return undefined;
  const cause =
    unsplittable === "large extra fields"
      ? "The extra fields of this request are large"
      : `The model \`${model}\` embeds the inputs of this request in each other's context`;
  return new GatewayError(
    "invalid_input",
    `'$.input' is invalid. ${cause}, so the request cannot be split. An upstream request takes at most ${exceeded}. Send fewer inputs in one request.`,
    { param: "input" },
  );
}

function exceededLimit(load: RequestLoad, limits: RequestLoad): string | undefined {
  for (const [name, unit] of loadUnits) {
    if (load[name] > limits[name])
      return `${limits[name]} ${unit}, and this request has ${load[name]}`;
  }
  return undefined;
}

const loadUnits = [
  ["items", "inputs"],
  ["images", "images"],
  ["bytes", "bytes of texts and images"],
] as const;

function adaptDimensions(
  { dimensions, model }: EmbeddingsQuery,
  capabilities: EmbeddingCapabilities,
  known: KnownEmbedding | undefined,
  configuredLength: number | undefined,
): ParameterChanges {
  if (dimensions === undefined) return unchanged;
  const { dimensions: supported } = capabilities;
  const isSupported =
    supported === "any" || (supported !== "own" && supported?.includes(dimensions));
  if (isSupported) return unchanged;
  // The model's own length need not be sent. If it is not known, the vectors show it.
  const ownLength = known?.dimensions ?? configuredLength;
  const mayBeOwn = supported === "own" && ownLength === undefined;
  if (mayBeOwn || ownLength === dimensions) return { ...unchanged, truncateTo: dimensions };
  if (known && canTruncateTo(known, dimensions)) {
    return { ...unchanged, adapted: ["dimensions"], truncateTo: dimensions };
  }
  return { ...unchanged, refusal: dimensionsUnsupported(model, dimensions, capabilities, known) };
}

function dimensionsUnsupported(
  model: string,
  dimensions: number,
  capabilities: EmbeddingCapabilities,
  known: KnownEmbedding | undefined,
): GatewayError {
  const lengths = lengthsOf(capabilities, known);
  const choice = rangeOf(known) ?? (lengths.length > 1 ? lengths.join(", ") : undefined);
  const message = choice
    ? `The model \`${model}\` does not support ${dimensions} dimensions. Supported: ${choice}. Send one of these, or omit \`dimensions\`.`
    : `This model does not support specifying dimensions${lengths.length > 0 ? `: its vectors always have ${lengths[0]} dimensions` : ""}. Omit \`dimensions\`.`;
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
  const supported = typeof dimensions === "string" ? [] : (dimensions ?? []);
  const all = [...supported, ...cuts, ...(known ? [known.dimensions] : [])];
  return [...new Set(all)].sort((a, b) => a - b);
}

/** The default tokenizer of token arrays: all of OpenAI's embedding models and clients use it. */
const defaultTokenizer: TokenizerName = "cl100k_base";

/**
 * A target gets token arrays unchanged only where its tokenizer is known to be the client's. For another tokenizer the
 * same numbers are other words, and the vectors would be wrong without an error; so such a target gets the decoded
 * text.
 */
function adaptTokens(
  { input, model }: EmbeddingsQuery,
  capabilities: EmbeddingCapabilities,
  known: KnownEmbedding | undefined,
  tokenArrays: Model["tokenArrays"],
): ParameterChanges {
  if (!hasTokens(input)) return unchanged;
  if (tokenArrays === "refuse" || (tokenArrays === "pass" && !capabilities.tokens)) {
    return { ...unchanged, refusal: tokensUnsupported(model) };
  }
  // A catalog model for which the catalog lists no tokenizer has a vocabulary of its own. The tokenizer of the server
  // does not count then.
  const tokenizer = known ? known.tokenizer : capabilities.tokenizer;
  if (capabilities.tokens && (tokenArrays === "pass" || tokenizer === defaultTokenizer))
    return unchanged;
  return { ...unchanged, adapted: ["input"], decodeWith: tokenizer ?? defaultTokenizer };
}

const tokensUnsupported = (model: string): GatewayError =>
  new GatewayError(
    "invalid_input",
    `'$.input' is invalid. The model \`${model}\` takes texts, not tokens: send strings (in LangChain for Python: check_embedding_ctx_length=False).`,
  );

function adaptTaskType(
  { taskType, model }: EmbeddingsQuery,
  { taskTypes }: EmbeddingCapabilities,
): ParameterChanges {
  if (!taskType || taskTypes === "as-given") return unchanged;
  if (taskTypes === "indifferent") return { ...unchanged, dropped: [taskType.field] };
  const vendorValue = vendorTaskType(taskType, taskTypes);
  if (vendorValue !== undefined) {
    const unchangedValue = vendorValue === taskType.given && taskTypes.field === taskType.field;
    return unchangedValue ? unchanged : { ...unchanged, adapted: [taskType.field] };
  }
  const supportedValues = [...Object.values(taskTypes.values), ...(taskTypes.otherValues ?? [])];
  const fix =
    supportedValues.length > 0
      ? `Supported values of '${taskType.field}' for the model \`${model}\` are: ${quotedList(supportedValues)}.`
      : `The model \`${model}\` has no task types: omit '${taskType.field}', and write the prompt that the model expects at the start of each input.`;
  return {
    ...unchanged,
    refusal: new GatewayError(
      "invalid_value",
      `Invalid value: '${taskType.given.slice(0, 100)}'. ${fix}`,
      { param: taskType.field },
    ),
  };
}

/**
 * Bits can be computed from float32 vectors. Bytes cannot: their scale is the vendor's. `length`: of the vectors, if it
 * is known. `isTruncated`: the gateway truncates the target's vectors, which it does with float32 vectors only.
 */
function adaptOutputType(
  { outputType, model }: EmbeddingsQuery,
  { outputTypes }: EmbeddingCapabilities,
  { length, isTruncated }: { length: number | undefined; isTruncated: boolean },
): ParameterChanges {
  if (!outputType) return unchanged;
  const { type, field } = outputType;
  const ofBits = isBits(type);
  if (ofBits && length !== undefined && length % 8 !== 0)
    return { ...unchanged, refusal: notWholeBytes(length, outputType) };
  const made = type === "binary" ? "ubinary" : type;
  if (!isTruncated && outputTypes?.types.includes(made)) return unchanged;
  if (ofBits) return { ...unchanged, adapted: [field], packs: true };
  const supported = quantizedTypes.filter(
    (one) => isBits(one) || outputTypes?.types.some((own) => own === one),
  );
  const reason =
    isTruncated && outputTypes?.types.includes(made)
      ? `does not make ${type} vectors of this length: omit \`dimensions\`, or send another type`
      : `does not make ${type} vectors, and they cannot be computed from float32 vectors`;
  return {
    ...unchanged,
    refusal: new GatewayError(
      "invalid_value",
      `Invalid value: '${type}'. The model \`${model}\` ${reason}. Supported values of '${field}' are: ${quotedList(["float", ...supported])}.`,
      { param: field },
    ),
  };
}
