/** Builds a vendor from a row of dialects.ts: an OpenAI-compatible API with small differences. */
import type { Adapter, Vendor } from "../../adapter.ts";
import { knownEmbedding } from "../../catalog/index.ts";
import type { EmbeddingCapabilities } from "../../contract.ts";
import { openaiEndpoints } from "../wire/build-request.ts";
import { readOpenaiError } from "../wire/openai-errors.ts";
import { base64Option } from "../wire/options.ts";
import {
  capabilitiesByModel,
  type EmbeddingsDialect,
  type ModelExceptions,
  openaiEmbeddings,
} from "./embeddings.ts";
import { openaiCompatibleImages, openaiImages } from "./image-endpoints.ts";

export interface Dialect extends EmbeddingsDialect {
  readonly name: string;
  /** If absent, the configuration must set it. */
  readonly baseUrl?: string;
  /** It works without an API key. */
  readonly open?: boolean;
  /** It serves no images, or only through its own API. */
  readonly serves?: "embedding";
  /** The path of its API, which is appended to a base URL that lacks it. */
  readonly basePath?: string;
  /** Its list of models has every model that it serves. */
  readonly listsEveryModel?: true;
  /** Embedding capabilities, if they differ from the default. */
  readonly embeddings?: EmbeddingCapabilities;
  readonly models?: ModelExceptions;
  /**
   * It applies `dimensions` to every model, even if truncated vectors are not valid, and does not normalize them. So
   * the gateway shortens the vectors of known models.
   */
  readonly cutsAnyModel?: true;
}

/** Capabilities of an unknown server: OpenAI's limits, without options that some servers reject. */
export const openServerCapabilities: EmbeddingCapabilities = {
  maxItems: 2048,
  base64: false,
  tokens: true,
  dimensions: "any",
  user: true,
  taskTypes: "as-given",
};

const { dimensions: _, ...withoutDimensions } = openServerCapabilities;

/** The same for a server that does not support `dimensions`. */
export const fullLengthCapabilities: EmbeddingCapabilities = withoutDimensions;

/** Texts only, full-length vectors only: many vendors of open models document no more than that. */
export const textOnlyCapabilities: EmbeddingCapabilities = {
  maxItems: 2048,
  base64: false,
  tokens: false,
  user: true,
  taskTypes: "indifferent",
};

/** OpenAI's documented limits: 2048 inputs, 300,000 tokens together. Its models have no task types. */
export const openaiCapabilities: EmbeddingCapabilities = {
  maxItems: 2048,
  maxTokens: 300_000,
  base64: true,
  tokens: true,
  tokenizer: "cl100k_base",
  dimensions: "any",
  user: true,
  taskTypes: "indifferent",
  normalized: true,
};

/** The image adapter of a vendor with OpenAI-compatible embeddings and its own image API. */
type OwnImages = Pick<Adapter, "generations" | "edits" | "imageCapabilities" | "readError">;

export const fromDialect = (dialect: Dialect, ownImages?: OwnImages): Vendor => {
  const { name, baseUrl, open, serves, embeddings = openServerCapabilities, models = [] } = dialect;
  const { basePath, listsEveryModel, cutsAnyModel } = dialect;
  const resolveEndpoint = openaiEndpoints(baseUrl, basePath);
  const capabilitiesOf = capabilitiesByModel(embeddings, models);
  const images =
    name === "openai" ? openaiImages(resolveEndpoint) : openaiCompatibleImages(resolveEndpoint);
  return {
    kind: {
      name,
      ...(baseUrl !== undefined && { baseUrl }),
      needs: [...(baseUrl ? [] : ["baseUrl"]), ...(open ? [] : ["apiKey"])],
      ...(serves && { serves }),
      ...(listsEveryModel && { listsEveryModel }),
      options: { base64: base64Option },
    },
    adapter: {
      embeddings: openaiEmbeddings(
        resolveEndpoint,
        cutsAnyModel
          ? (model) => withoutCut(capabilitiesOf(model), knownEmbedding(model, name) !== undefined)
          : capabilitiesOf,
        dialect,
      ),
      readError: readOpenaiError,
      ...(ownImages ?? (serves !== "embedding" && images)),
    },
  };
};

const withoutCut = (
  { dimensions, ...others }: EmbeddingCapabilities,
  isKnown: boolean,
): EmbeddingCapabilities => (isKnown || !dimensions ? others : { ...others, dimensions });
