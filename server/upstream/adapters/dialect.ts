/** A dialect: OpenAI's language with an accent. What a row of the table in dialects.ts says, and the vendor made of it. */
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
  /** Has no pictures, or has them in another language. */
  readonly serves?: "embedding";
  /** What its embeddings can take, where that is not what `plain` says. */
  readonly embeddings?: EmbeddingTraits;
  /** Models that can take something else, by their names. The first that fits counts. */
  readonly models?: readonly (readonly [RegExp, Partial<EmbeddingTraits>])[];
}

/** Of a server nobody knows: OpenAI's own limits, and nothing that some refuse. */
export const plain: EmbeddingTraits = {
  maxItems: 2048,
  base64: false,
  tokens: true,
  dimensions: "any",
  user: true,
  purposes: "as-given",
};

/** Texts in, whole vectors out: all that many vendors of open models document. */
export const modest: EmbeddingTraits = {
  maxItems: 2048,
  base64: false,
  tokens: false,
  user: true,
  purposes: "indifferent",
};

/** OpenAI's documented limits: 2048 inputs, 300,000 tokens together. Its models make no difference between purposes. */
export const openaiTraits: EmbeddingTraits = {
  maxItems: 2048,
  maxTokens: 300_000,
  base64: true,
  tokens: true,
  dimensions: "any",
  user: true,
  purposes: "indifferent",
  normalised: true,
};

export const fromDialect = (dialect: Dialect): Vendor => {
  const { name, baseUrl, open, serves, embeddings = plain, models = [] } = dialect;
  const place = openaiPlace(baseUrl);
  const known = (model: string): EmbeddingTraits => ({
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
      embeddings: openaiEmbeddings(place, known),
      ...(serves !== "embedding" && {
        generations: openaiGenerations(place),
        edits: openaiEdits(place),
      }),
      fault: readFault,
    },
  };
};
