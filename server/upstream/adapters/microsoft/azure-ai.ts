/** Azure AI Foundry's models of other houses, such as Cohere's, through the Model Inference API. */
import { z } from "zod";
import type { EmbeddingTraits } from "../../contract.ts";
import type { Vendor } from "../../vendor.ts";
import { modest, openaiTraits } from "../openai/dialect.ts";
import { openaiEmbeddings } from "../openai/embeddings.ts";
import type { Place } from "../openai/place.ts";
import { readFault } from "../wire/upstream-fault.ts";
import { azureHeaders } from "./place.ts";

/** `https://my-resource.services.ai.azure.com`, with or without `/models`. */
const place: Place = ({ upstream }, path) => {
  const { apiVersion = "2024-05-01-preview" } = upstream.options;
  const root = (upstream.baseUrl ?? "").replace(/\/models$/, "");
  return {
    url: `${root}/models/${path}?api-version=${encodeURIComponent(String(apiVersion))}`,
    headers: azureHeaders(upstream),
  };
};

// learn.microsoft.com/rest/api/aifoundry/model-inference/get-embeddings: texts, and what they are for.
const traits = (model: string): EmbeddingTraits =>
  /^text-embedding-/.test(model)
    ? { ...openaiTraits, base64: false, tokens: false }
    : {
        ...modest,
        // docs.cohere.com/reference/embed.
        maxItems: 96,
        purposes: { field: "input_type", words: { query: "query", document: "document" } },
        ...(/embed-v-?4/i.test(model) && { dimensions: [256, 512, 1024, 1536] }),
      };

export const azureAi: Vendor = {
  kind: {
    name: "azure-ai",
    needs: ["baseUrl", "apiKey"],
    serves: "embedding",
    options: { apiVersion: z.string().min(1).optional(), base64: z.boolean().optional() },
  },
  adapter: {
    name: "azure-ai",
    embeddings: openaiEmbeddings(place, traits),
    probe: (upstream) => {
      const { url, headers } = place({ upstream, model: "" }, "embeddings");
      return { url: url.replace("/embeddings?", "/info?"), headers };
    },
    fault: readFault,
  },
};
