/** Azure OpenAI: OpenAI's own language, at addresses of its own. */
import { z } from "zod";
import type { EmbeddingTraits } from "../contract.ts";
import type { Vendor } from "../vendor.ts";
import { openaiTraits } from "./dialect.ts";
import { openaiEmbeddings } from "./openai-embeddings.ts";
import { openaiEdits, openaiGenerations } from "./openai-images.ts";
import { azurePlace } from "./place.ts";
import { readFault } from "./upstream-fault.ts";

/**
 * learn.microsoft.com/azure/ai-foundry/openai/quotas-limits: 2048 inputs; the models' own limit of tokens is OpenAI's.
 * A deployment's name does not tell its model, so what an old one cannot do it has to say itself.
 */
const traits: EmbeddingTraits = { ...openaiTraits, maxItems: 2048, maxTokens: 300_000 };

export const azure: Vendor = {
  kind: {
    name: "azure",
    needs: ["baseUrl", "apiKey"],
    options: { apiVersion: z.string().min(1).optional(), base64: z.boolean().optional() },
  },
  adapter: {
    name: "azure",
    embeddings: openaiEmbeddings(azurePlace, () => traits),
    generations: openaiGenerations(azurePlace),
    edits: openaiEdits(azurePlace),
    fault: readFault,
  },
};
