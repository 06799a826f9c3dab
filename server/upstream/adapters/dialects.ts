/** Vendors that speak OpenAI's language with an accent. A compatible vendor costs one row. */
import { z } from "zod";
import type { EmbeddingTraits } from "../contract.ts";
import type { Vendor } from "../vendor.ts";
import { openaiEmbeddings } from "./openai-embeddings.ts";
import { openaiEdits, openaiGenerations } from "./openai-images.ts";
import { openaiPlace } from "./place.ts";
import { readFault } from "./upstream-fault.ts";

export interface Dialect {
  readonly name: string;
  /** Absent: the configuration must say. */
  readonly baseUrl?: string;
  /** Works without a key. */
  readonly open?: boolean;
  /** What its embeddings can do, where that is not what `plain` says. */
  readonly embeddings?: Partial<EmbeddingTraits>;
}

/** Of a server nobody knows: OpenAI's own limits, and nothing that some refuse. */
export const plain: EmbeddingTraits = {
  maxItems: 2048,
  base64: false,
  tokens: true,
  dimensions: "any",
  purposes: "as-given",
};

/** OpenAI's documented limits: 2048 inputs, 300,000 tokens together. Its models make no difference between purposes. */
export const openaiTraits: EmbeddingTraits = {
  maxItems: 2048,
  maxTokens: 300_000,
  base64: true,
  tokens: true,
  dimensions: "any",
  purposes: "indifferent",
  normalised: true,
};

export const dialects: readonly Dialect[] = [
  { name: "openai", baseUrl: "https://api.openai.com/v1", embeddings: openaiTraits },
  { name: "openai-compatible", open: true },
  { name: "vexel", embeddings: { base64: true } },
  { name: "vllm", embeddings: { base64: true }, open: true },
  { name: "ollama", baseUrl: "http://127.0.0.1:11434/v1", open: true },
  { name: "gemini", baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai" },
  { name: "mistral", baseUrl: "https://api.mistral.ai/v1" },
  { name: "together", baseUrl: "https://api.together.xyz/v1" },
  { name: "fireworks", baseUrl: "https://api.fireworks.ai/inference/v1" },
  { name: "deepinfra", baseUrl: "https://api.deepinfra.com/v1/openai" },
  { name: "nebius", baseUrl: "https://api.tokenfactory.nebius.com/v1" },
  { name: "siliconflow", baseUrl: "https://api.siliconflow.com/v1" },
  { name: "openrouter", baseUrl: "https://openrouter.ai/api/v1" },
  { name: "jina", baseUrl: "https://api.jina.ai/v1" },
];

export const fromDialect = ({ name, baseUrl, open, embeddings }: Dialect): Vendor => {
  const place = openaiPlace(baseUrl);
  return {
    kind: {
      name,
      ...(baseUrl !== undefined && { baseUrl }),
      needs: [...(baseUrl ? [] : ["baseUrl"]), ...(open ? [] : ["apiKey"])],
      options: { base64: z.boolean().optional() },
    },
    adapter: {
      name,
      embeddings: openaiEmbeddings(place, { ...plain, ...embeddings }),
      generations: openaiGenerations(place),
      edits: openaiEdits(place),
      fault: readFault,
    },
  };
};
