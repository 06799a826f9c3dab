/** Builds a vendor from a row of dialects.ts: an OpenAI-compatible API with small differences. */
import { z } from "zod";
import type { Adapter } from "../../adapter.ts";
import type { EmbeddingCapabilities } from "../../contract.ts";
import type { Vendor } from "../../vendor.ts";
import { readOpenaiError } from "../wire/openai-errors.ts";
import { openaiEmbeddings } from "./embeddings.ts";
import { openaiEndpoints } from "./endpoints.ts";
import { openaiCompatibleImages, openaiImages } from "./image-endpoints.ts";

export interface Dialect {
  readonly name: string;
  /** Absent: the configuration must have it. */
  readonly baseUrl?: string;
  /** Works without a key. */
  readonly open?: boolean;
  /** It does not serve images, or with its own API. */
  readonly serves?: "embedding";
  /** Embedding capabilities, if they differ from the default. */
  readonly embeddings?: EmbeddingCapabilities;
  /** Models that can take something else, by their names. The first that fits counts. */
  readonly models?: readonly (readonly [RegExp, Partial<EmbeddingCapabilities>])[];
}

/** Of an unknown server: OpenAI's own limits, without options that some servers refuse. */
export const openServerCapabilities: EmbeddingCapabilities = {
  maxItems: 2048,
  base64: false,
  tokens: true,
  dimensions: "any",
  user: true,
  taskTypes: "as-given",
};

const { dimensions: _, ...whole } = openServerCapabilities;

/** The same of one that does not shorten its vectors. */
export const fullLengthCapabilities: EmbeddingCapabilities = whole;

/** Texts in, whole vectors out: all that many vendors of open models document. */
export const textOnlyCapabilities: EmbeddingCapabilities = {
  maxItems: 2048,
  base64: false,
  tokens: false,
  user: true,
  taskTypes: "indifferent",
};

/** OpenAI's documented limits: 2048 inputs, 300,000 tokens together. Its models make no difference between purposes. */
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
export type OwnImages = Pick<Adapter, "generations" | "edits" | "imageCapabilities" | "readError">;

export const fromDialect = (dialect: Dialect, ownImages?: OwnImages): Vendor => {
  const { name, baseUrl, open, serves, embeddings = openServerCapabilities, models = [] } = dialect;
  const resolveEndpoint = openaiEndpoints(baseUrl);
  const images =
    name === "openai" ? openaiImages(resolveEndpoint) : openaiCompatibleImages(resolveEndpoint);
  const known = (model: string): EmbeddingCapabilities => ({
    ...embeddings,
    ...models.find(([name]) => name.test(model))?.[1],
  });
  return {
    kind: {
      name,
      ...(baseUrl !== undefined && { baseUrl }),
      needs: [...(baseUrl ? [] : ["baseUrl"]), ...(open ? [] : ["apiKey"])],
      ...(serves && { serves }),
      options: { base64: z.boolean().optional() },
    },
    adapter: {
      name,
      embeddings: openaiEmbeddings(resolveEndpoint, known),
      readError: readOpenaiError,
      ...(ownImages ?? (serves !== "embedding" && images)),
    },
  };
};
