/** OpenAI's embeddings API, also for OpenAI-compatible vendors. */
import { releaseBuffer } from "../../../lib/byte-memory.ts";
import { GatewayError } from "../../../lib/gateway-error.ts";
import { EncodedVector } from "../../../lib/vector-codec/index.ts";
import type { EmbeddingsAdapter, UpstreamResponse } from "../../adapter.ts";
import type {
  EmbeddingCapabilities,
  EmbeddingInput,
  EmbeddingsQuery,
  EmbeddingsResponse,
  ExtraFields,
  MixedInput,
  Target,
  Vector,
} from "../../contract.ts";
import { invalidResponse } from "../../invalid-response.ts";
import type { VectorsJson } from "../../parse-vectors-json.ts";
import { vendorTaskType } from "../../task-type.ts";
import { type EndpointResolver, jsonRequestFor } from "../wire/build-request.ts";
import { isCount } from "../wire/members.ts";
import { isNumberList } from "../wire/native-embeddings.ts";
import { checkLengths, isTruncated } from "../wire/silent-truncation.ts";
import { isEstimated } from "./images.ts";
import { parseEmbeddingsResponse } from "./parse-embeddings-response.ts";

/** How an OpenAI-compatible vendor differs from OpenAI. */
export interface EmbeddingsDialect {
  /** `usage.cost` of a response is its cost in US dollars. */
  readonly reportsCost?: boolean;
  /** The fields of a request with images, in place of `input`. If absent, no model reads images. */
  readonly writeImages?: (input: MixedInput, model: string) => ExtraFields;
  /** The fields of a request with texts, in place of `input`. The default is `input`. */
  readonly writeTexts?: (texts: readonly string[], model: string) => ExtraFields | undefined;
  /** It truncates inputs that are too long for the model, and does not report it. */
  readonly truncatesSilently?: boolean;
  /** It serves any model name with the model that it has, which its response names. */
  readonly servesAnyName?: boolean;
  /** Its `usage` counts characters. */
  readonly countsCharacters?: boolean;
  /** The path of requests with images. The default is that of texts. */
  readonly imagePath?: "images/embeddings";
}

/** `capabilitiesOf`: returns the capabilities of a model by the vendor's name for it. */
export const openaiEmbeddings = (
  resolveEndpoint: EndpointResolver,
  capabilitiesOf: (model: string) => EmbeddingCapabilities,
  dialect: EmbeddingsDialect = {},
): EmbeddingsAdapter => {
  const { writeImages = refuseImages, writeTexts, imagePath } = dialect;
  const { reportsCost, truncatesSilently, servesAnyName, countsCharacters } = dialect;
  const readsBody = reportsCost || truncatesSilently || servesAnyName || countsCharacters;
  // A target of a snapshot never changes, so its capabilities are looked up once.
  const capabilitiesByTarget = new WeakMap<Target, EmbeddingCapabilities>();
  const capabilities = (target: Target): EmbeddingCapabilities => {
    const found =
      capabilitiesByTarget.get(target) ?? asConfigured(target, capabilitiesOf(target.model));
    capabilitiesByTarget.set(target, found);
    return found;
  };
  const inputFields = (query: EmbeddingsQuery, model: string): ExtraFields => {
    const { input } = query;
    if (input.kind === "mixed") return writeImages(input, model);
    const texts = input.kind === "text" ? writeTexts?.(input.texts, model) : undefined;
    return texts ?? { input: rawInput(query) };
  };
  return {
    capabilities,
    toUpstream: (given, target) => {
      const query = truncatesSilently ? checkLengths(given, target) : given;
      const isMixed = query.input.kind === "mixed";
      const { url, headers } = resolveEndpoint(target, (isMixed && imagePath) || "embeddings");
      const { base64, taskTypes, outputTypes } = capabilities(target);
      const { outputType } = query;
      return jsonRequestFor(query)(url, headers, {
        ...query.extraFields,
        ...taskTypeField(query, taskTypes),
        model: target.model,
        ...inputFields(query, target.model),
        // Never null, and never sent to a server that does not support it (BerriAI/litellm#19174).
        encoding_format: base64 && !outputType ? "base64" : undefined,
        dimensions: query.dimensions,
        user: query.user,
        ...(outputType && outputTypes && { [outputTypes.field]: outputType.type }),
      });
    },
    fromUpstream: async (response, query, target) => {
      if (readsBody) return readWithFacts(response, query, target, dialect);
      const embeddings = await readEmbeddingsResponse(response, query);
      // Only for a Vexel upstream, because reading the headers of every response costs time.
      const estimated = target.upstream.kind === "vexel" && isEstimated(response);
      return estimated ? { vectors: embeddings.vectors } : embeddings;
    },
  };
};

const refuseImages = (): never => {
  throw new GatewayError("internal", "An image was sent to a target that reads texts only.");
};

/** Models whose capabilities differ, by the vendor's name for the model. The first match applies. */
export type ModelExceptions = readonly (readonly [RegExp, Partial<EmbeddingCapabilities>])[];

/** The capabilities of most models of a vendor, and its exceptions. */
export const capabilitiesByModel =
  (usual: EmbeddingCapabilities, exceptions: ModelExceptions) =>
  (model: string): EmbeddingCapabilities => ({
    ...usual,
    ...exceptions.find(([name]) => name.test(model))?.[1],
  });

/** A configured capability overrides the default of the kind: the operator knows the server. */
function asConfigured(
  { upstream }: Target,
  capabilities: EmbeddingCapabilities,
): EmbeddingCapabilities {
  const { base64 } = upstream.options;
  return typeof base64 === "boolean" ? { ...capabilities, base64 } : capabilities;
}

function taskTypeField(
  { taskType }: EmbeddingsQuery,
  taskTypes: EmbeddingCapabilities["taskTypes"],
): Record<string, string | undefined> {
  if (taskTypes === "indifferent") return {};
  if (taskTypes === "as-given") return taskType ? { [taskType.field]: taskType.given } : {};
  return {
    [taskTypes.field]: taskType ? vendorTaskType(taskType, taskTypes) : taskTypes.defaultValue,
  };
}

function rawInput({ input, single }: EmbeddingsQuery): unknown {
  const entries = inputsOf(input);
  return single ? entries[0] : entries;
}

const inputsOf = (input: EmbeddingInput): readonly unknown[] => {
  if (input.kind === "text") return input.texts;
  return input.kind === "tokens" ? input.tokens : input.entries;
};

interface EmbeddingEntry {
  readonly object?: unknown;
  readonly index?: unknown;
  readonly embedding?: unknown;
}

interface ResponseBody {
  readonly object?: unknown;
  readonly data?: unknown;
  readonly model?: unknown;
  readonly usage?: {
    readonly prompt_tokens?: unknown;
    readonly total_tokens?: unknown;
    readonly cost?: unknown;
    readonly prompt_tokens_details?: { readonly image_tokens?: unknown } | null;
  };
}

export async function readEmbeddingsResponse(
  response: UpstreamResponse,
  query: EmbeddingsQuery,
): Promise<EmbeddingsResponse> {
  const bytes = await response.bytes();
  return embeddingsOf(bytes, await parseEmbeddingsResponse(bytes), query);
}

/** The same for a vendor whose response says more than that of OpenAI, or less. */
async function readWithFacts(
  response: UpstreamResponse,
  query: EmbeddingsQuery,
  target: Target,
  { reportsCost, truncatesSilently, servesAnyName, countsCharacters }: EmbeddingsDialect,
): Promise<EmbeddingsResponse> {
  const bytes = await response.bytes();
  const parsed = await parseEmbeddingsResponse(bytes);
  const embeddings = embeddingsOf(bytes, parsed, query);
  const { model, usage } = parsed.value as ResponseBody;
  if (servesAnyName) checkServedModel(model, target);
  return {
    ...(countsCharacters ? { vectors: embeddings.vectors } : embeddings),
    ...(reportsCost && isCost(usage?.cost) ? { cost: usage.cost } : {}),
    ...(truncatesSilently && isTruncated(query, target) ? { truncated: true } : {}),
  };
}

/** Vectors of another model than the configured one would be wrong without an error. */
function checkServedModel(served: unknown, { upstream, model }: Target): void {
  if (served === model) return;
  const { kind, message } = invalidResponse("it is not of the configured model");
  const name = JSON.stringify(served)?.slice(0, 200);
  throw new GatewayError(
    kind,
    `${message} Ask the operator of this gateway to check the model's target.`,
    {
      logDetail: `The upstream ${upstream.id} serves ${name} for any name, and the target's model is ${JSON.stringify(model)}: correct it.`,
    },
  );
}

const isCost = (cost: unknown): cost is number =>
  typeof cost === "number" && Number.isFinite(cost) && cost >= 0;

function embeddingsOf(
  bytes: Buffer,
  { value, areFloat32 }: VectorsJson,
  query: EmbeddingsQuery,
): EmbeddingsResponse {
  const response = embeddingsIn(value, query);
  const body = value as ResponseBody;
  const encoding = verbatimEncoding(body);
  // Float32 numbers are printed again, in fewer digits.
  if (encoding === query.encoding && !(encoding === "float" && areFloat32))
    return { ...response, verbatim: { body: bytes, model: body.model as string, encoding } };
  // Numbers were copied out of the bytes.
  if (response.vectors.every((vector) => vector instanceof Float32Array)) releaseBuffer(bytes);
  return response;
}

/** Reads the embeddings of a response that is already parsed, or that is part of another response. */
export function embeddingsIn(response: unknown, query: EmbeddingsQuery): EmbeddingsResponse {
  const { data, usage } = (response ?? {}) as ResponseBody;
  if (!Array.isArray(data)) throw invalidResponse("it has no list called `data`");
  const vectors = orderByIndex(data as (EmbeddingEntry | null)[], query);
  const { prompt_tokens: promptTokens, total_tokens: totalTokens } = usage ?? {};
  // Vectors have no tokens of their own: if only the total is reported, it is the count of the input. LM Studio and
  // LocalAI report 0 because they do not count. -1, which other servers report, is not a count.
  const counts = [promptTokens, totalTokens].filter(isCount);
  const tokens = counts.find((count) => count > 0) ?? counts[0];
  if (tokens === undefined) return { vectors };
  const isOtherTotal = isCount(totalTokens) && totalTokens !== tokens && isCount(promptTokens);
  const hasImages = query.input.kind === "mixed";
  const imageTokens = hasImages ? usage?.prompt_tokens_details?.image_tokens : undefined;
  return {
    vectors,
    usage: {
      inputTokens: tokens,
      ...(isOtherTotal && { totalTokens }),
      ...(isCount(imageTokens) && imageTokens <= tokens && { imageTokens }),
    },
  };
}

/** The encoding, if the response is exactly what OpenAI would send, in order and with nothing added. */
function verbatimEncoding(response: ResponseBody): "float" | "base64" | undefined {
  const { object, model, usage } = response;
  const entries = response.data as readonly (EmbeddingEntry | null)[];
  if (object !== "list" || typeof model !== "string" || sizeOf(response) !== 4) return;
  if (!isCount(usage?.prompt_tokens) || usage.total_tokens !== usage.prompt_tokens) return;
  if (sizeOf(usage) !== 2) return;
  const text = isText(entries[0]?.embedding);
  for (let at = 0; at < entries.length; at++) {
    const entry = entries[at];
    if (entry?.index !== at || entry.object !== "embedding" || sizeOf(entry) !== 3) return;
    if (isText(entry.embedding) !== text) return;
  }
  return text ? "base64" : "float";
}

const sizeOf = (fields: object): number => Object.keys(fields).length;

/** Sorted by `index` if every entry has one, else in response order. A duplicate or missing index is invalid. */
export function orderByIndex(
  entries: readonly (EmbeddingEntry | null)[],
  query: EmbeddingsQuery,
): Vector[] {
  const { input } = query;
  const inputCount = inputsOf(input).length;
  // The usual case: the entries are in order already.
  if (entries.length === inputCount && isSequence(entries)) return entries.map(vectorOf);
  if (entries.every((entry) => entry?.index === undefined)) return entries.map(vectorOf);
  const vectors = new Array<Vector | undefined>(inputCount).fill(undefined);
  for (const entry of entries) {
    const index = entry?.index;
    if (!isCount(index) || index >= inputCount)
      throw invalidResponse("an index points at no input");
    if (vectors[index] !== undefined) throw invalidResponse("two vectors have the same index");
    vectors[index] = vectorOf(entry);
  }
  return vectors.map((vector, at) => {
    if (vector === undefined) throw invalidResponse(`input ${at} has no vector`);
    return vector;
  });
}

function isSequence(entries: readonly (EmbeddingEntry | null)[]): boolean {
  for (let at = 0; at < entries.length; at++) if (entries[at]?.index !== at) return false;
  return true;
}

function vectorOf(entry: EmbeddingEntry | null): Vector {
  const embedding = entry?.embedding;
  if (isText(embedding) || isNumberList(embedding)) return embedding as Vector;
  throw invalidResponse("an entry has no `embedding`");
}

const isText = (embedding: unknown): boolean =>
  typeof embedding === "string" || embedding instanceof EncodedVector;
