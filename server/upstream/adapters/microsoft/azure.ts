/** Azure OpenAI: OpenAI's API at Azure's own URLs. */
import { z } from "zod";
import type { Vendor } from "../../adapter.ts";
import type { EmbeddingCapabilities } from "../../contract.ts";
import { azureCredential } from "../../credentials/azure.ts";
import { azureAuth } from "../../credentials/azure-auth.ts";
import { openaiCapabilities } from "../openai/dialect.ts";
import { openaiEmbeddings } from "../openai/embeddings.ts";
import { openaiImages } from "../openai/image-endpoints.ts";
import { readOpenaiError } from "../wire/openai-errors.ts";
import { base64Option } from "../wire/options.ts";
import { azureEndpoint, azureHeaders, azureRoot } from "./endpoints.ts";

/**
 * learn.microsoft.com/azure/ai-foundry/openai/quotas-limits: 2048 inputs; the token limits of the models are OpenAI's.
 * The name of a deployment does not show its model, so Azure decides what an old model supports.
 */
const capabilities: EmbeddingCapabilities = {
  ...openaiCapabilities,
  maxItems: 2048,
  maxTokens: 300_000,
};

export const azure: Vendor = {
  kind: {
    name: "azure",
    needs: ["baseUrl"],
    needsOneOf: [["apiKey"], ["auth"]],
    options: {
      apiVersion: z
        .string()
        .min(1)
        .max(100)
        .optional()
        .describe(
          "The version of the deployments API, such as 2024-10-21. The default is the v1 API.",
        ),
      base64: base64Option,
      auth: azureAuth,
    },
  },
  adapter: {
    embeddings: openaiEmbeddings(azureEndpoint, () => capabilities),
    ...openaiImages(azureEndpoint),
    credential: azureCredential,
    probe: (upstream) => ({
      url: `${azureRoot(upstream)}/openai/v1/models`,
      headers: azureHeaders(upstream),
    }),
    readError: readOpenaiError,
  },
};
