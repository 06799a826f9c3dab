/** Voyage AI: three embeddings endpoints, one for each family of models, with names of their own for the options. */
import { GatewayError } from "../../lib/gateway-error.ts";
import type { EmbeddingsAdapter, UpstreamRequest, Vendor } from "../adapter.ts";
import { isContextualModel } from "../contextual.ts";
import type {
  EmbeddingCapabilities,
  EmbeddingsQuery,
  EmbeddingsResponse,
  ExtraFields,
  Target,
  Upstream,
} from "../contract.ts";
import type { LoadedPart } from "../mixed-input.ts";
import type { TaskTypeTable } from "../task-type.ts";
import { embeddingsIn, readEmbeddingsResponse } from "./openai/embeddings.ts";
import { bearer, bearerRequest, dataUrlOf, jsonRequestFor } from "./wire/build-request.ts";
import { readDocumentChunks, readDocuments } from "./wire/document-chunks.ts";
import { contentEntries, webImageTypes } from "./wire/image-parts.ts";
import { isCount, memberOf } from "./wire/members.ts";
import { taskTypeOf, textsOf } from "./wire/native-embeddings.ts";
import { nativeErrorReader } from "./wire/native-errors.ts";
import { truncation } from "./wire/truncation.ts";

const baseUrl = "https://api.voyageai.com/v1";
/** voyageai 0.5.0, `get_default_base_url`: keys made in MongoDB Atlas begin with `al-` and are valid there only. */
const atlasUrl = "https://ai.mongodb.com/v1";

function baseUrlOf({ baseUrl: configured = baseUrl, apiKey }: Upstream): string {
  return configured === baseUrl && apiKey?.startsWith("al-") ? atlasUrl : configured;
}

const taskTypes: TaskTypeTable = {
  field: "input_type",
  values: { query: "query", document: "document" },
};

const isMultimodal = (model: string): boolean => /^voyage-multimodal-/.test(model);

/** docs.voyageai.com/reference/embeddings-api: the maximum number of tokens of a request, model by model. */
function maxTokens(model: string): number {
  if (/-lite$/.test(model)) return 1_000_000;
  return /^voyage-(2|3|3\.5|4)$/.test(model) || isMultimodal(model) ? 320_000 : 120_000;
}

/** mongodb.com/docs/voyageai/models: these make vectors of four lengths, the others of one. */
const flexible = /^voyage-(4|3\.5|3-large|code-[3-9]|context-|multimodal-3\.5)/;

// docs.voyageai.com/reference: 1000 texts. Contextual models take 16,000 chunks, and 32,000 tokens if the client
// chunks.
const capabilities = ({ model }: Target): EmbeddingCapabilities => ({
  ...(isContextualModel(model)
    ? { maxItems: 16_000, maxTokens: 32_000 }
    : { maxItems: 1000, maxTokens: maxTokens(model) }),
  base64: true,
  tokens: false,
  taskTypes,
  ...(flexible.test(model) && { dimensions: [256, 512, 1024, 2048], outputTypes }),
  // docs.voyageai.com/docs/multimodal-embeddings (read on 2026-11-17): 16 million pixels, 20 MB, PNG, JPEG, WebP, GIF.
  ...(isMultimodal(model) && {
    images: {
      types: webImageTypes,
      fuses: "sequence",
      maxBytes: 20_000_000,
      maxPixels: 16_000_000,
    },
  }),
});

/** The same page: the models with several lengths also quantize. voyageai 0.5.0, `output_dtype`. */
const outputTypes = { field: "output_dtype", types: ["int8", "uint8", "ubinary"] } as const;

function buildRequest(
  path: string,
  query: EmbeddingsQuery,
  target: Target,
  body: ExtraFields,
): UpstreamRequest {
  const build = jsonRequestFor(query);
  return build(`${baseUrlOf(target.upstream)}/${path}`, bearer(target.upstream), {
    ...body,
    model: target.model,
    input_type: taskTypeOf(query, capabilities(target)),
    output_dimension: query.dimensions,
    // With base64, quantized vectors would be base64 of their bytes.
    encoding_format: query.outputType ? undefined : "base64",
    output_dtype: query.outputType?.type,
  });
}

/**
 * voyageai 0.5.0, object/multimodal_embeddings.py: an image is a data URL in `image_base64`. A request has either such
 * images or links, so links are always downloaded.
 */
const multimodalPart = (part: LoadedPart): ExtraFields =>
  part.kind === "text"
    ? { type: "text", text: part.text }
    : { type: "image_base64", image_base64: dataUrlOf(part.image.file) };

const multimodalInputs = (query: EmbeddingsQuery): readonly ExtraFields[] =>
  query.input.kind === "mixed"
    ? contentEntries(query.input, multimodalPart)
    : textsOf(query).map((text) => ({ content: [{ type: "text", text }] }));

function toUpstream(query: EmbeddingsQuery, target: Target): UpstreamRequest {
  // By default, Voyage truncates a text that is too long.
  const { mayTruncate, extraFields } = truncation(query);
  if (isMultimodal(target.model)) {
    return buildRequest("multimodalembeddings", query, target, {
      ...extraFields,
      inputs: multimodalInputs(query),
      truncation: mayTruncate,
    });
  }
  const texts = textsOf(query);
  if (isContextualModel(target.model)) {
    refuseAutoChunking(extraFields);
    // This endpoint has no `truncation` field, and rejects inputs that are too long.
    const inputs = isForQueries(query) ? texts.map((text) => [text]) : [texts];
    return buildRequest("contextualizedembeddings", query, target, { ...extraFields, inputs });
  }
  return buildRequest("embeddings", query, target, {
    ...extraFields,
    input: texts,
    truncation: mayTruncate,
  });
}

/** "If input_type is query, each inner list holds one query": several queries do not form one document. */
const isForQueries = ({ taskType }: EmbeddingsQuery): boolean => taskType?.meaning === "query";

/** Auto-chunking would return more vectors than there are inputs. */
function refuseAutoChunking({ enable_auto_chunking: chunking }: ExtraFields): void {
  if (chunking === undefined || chunking === false) return;
  throw new GatewayError(
    "invalid_value",
    "'enable_auto_chunking' gives several vectors for one input, which an embeddings response cannot represent. Omit it, and send the chunks of one document, in order, as the list `input`.",
    { param: "enable_auto_chunking" },
  );
}

/** `usage` has the tokens of texts, and the total of texts and images. */
function readMultimodal(body: unknown, query: EmbeddingsQuery): EmbeddingsResponse {
  const { vectors } = embeddingsIn(body, query);
  const usage = memberOf(body, "usage");
  const [total, text] = [memberOf(usage, "total_tokens"), memberOf(usage, "text_tokens")];
  if (!isCount(total)) return { vectors };
  const hasDetails = isCount(text) && text <= total;
  return {
    vectors,
    usage: { inputTokens: total, ...(hasDetails && { imageTokens: total - text }) },
  };
}

const embeddings: EmbeddingsAdapter = {
  capabilities,
  toUpstream,
  fromUpstream: async (response, query, { model }) => {
    if (query.input.kind === "mixed")
      return readMultimodal(await response.jsonWithVectors(), query);
    if (!isContextualModel(model)) return readEmbeddingsResponse(response, query);
    const body = await response.jsonWithVectors();
    return isForQueries(query) ? readDocuments(body, query) : readDocumentChunks(body, query);
  },
};

export const voyage: Vendor = {
  kind: { name: "voyage", baseUrl, needs: ["apiKey"], serves: "embedding", options: {} },
  adapter: {
    embeddings,
    probe: (upstream) => bearerRequest(`${baseUrlOf(upstream)}/models`, upstream),
    readError: nativeErrorReader({
      classify: ({ status, message }) => {
        if (status !== 400) return undefined;
        if (/\btokens per submitted batch\b/.test(message)) return "too much at once";
        return /^Model \S+ is not supported/i.test(message) && "no such model";
      },
    }),
  },
};
