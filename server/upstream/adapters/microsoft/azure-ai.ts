/** Microsoft Foundry's models of other vendors: embeddings through the Model Inference API, and images. */
import { z } from "zod";
import type { Vendor } from "../../adapter.ts";
import type { EmbeddingCapabilities } from "../../contract.ts";
import { azureCredential } from "../../credentials/azure.ts";
import { azureAuth } from "../../credentials/azure-auth.ts";
import { imagesWithText } from "../../mixed-input.ts";
import { cohereImages, cohereLengths, cohereOutputTypes } from "../cohere.ts";
import { openaiCapabilities, textOnlyCapabilities } from "../openai/dialect.ts";
import { type EmbeddingsDialect, openaiEmbeddings } from "../openai/embeddings.ts";
import { dataUrlOf, type EndpointResolver } from "../wire/build-request.ts";
import { readOpenaiError } from "../wire/openai-errors.ts";
import { base64Option } from "../wire/options.ts";
import { azureHeaders } from "./endpoints.ts";
import { foundryImages, foundryRoot } from "./foundry-images.ts";

const resolveEndpoint: EndpointResolver = ({ upstream }, path) => {
  const { apiVersion = "2024-05-01-preview" } = upstream.options;
  return {
    url: `${foundryRoot(upstream)}/models/${path}?api-version=${encodeURIComponent(String(apiVersion))}`,
    headers: azureHeaders(upstream),
  };
};

// learn.microsoft.com/rest/api/aifoundry/model-inference/get-embeddings: texts and task types.
function capabilities(model: string): EmbeddingCapabilities {
  if (/^text-embedding-/.test(model))
    return { ...openaiCapabilities, base64: false, tokens: false };
  const dimensions = cohereLengths(model);
  return {
    ...textOnlyCapabilities,
    // docs.cohere.com/reference/embed.
    maxItems: 96,
    taskTypes: { field: "input_type", values: { query: "query", document: "document" } },
    ...(dimensions && { dimensions }),
    // azure-ai-inference 1.0.0b9, EmbeddingEncodingFormat. Other models than Cohere's refuse it with 422.
    ...(/cohere|^embed-v/i.test(model) && {
      ...cohereOutputTypes(model, "encoding_format"),
      ...imagesOf(model),
    }),
  };
}

/** azure-ai-inference 1.0.0b9, ImageEmbeddingInput: an image, and a text that Embed 3 refuses. */
function imagesOf(model: string): Pick<EmbeddingCapabilities, "images"> {
  const { images } = cohereImages(model);
  return images ? { images: images.fuses ? { ...images, fuses: "pair" } : images } : {};
}

/** At a path of their own: /models/images/embeddings. */
const imageDialect: EmbeddingsDialect = {
  imagePath: "images/embeddings",
  writeImages: (input) => ({
    input: imagesWithText(input).map(({ image, text }) => ({ text, image: dataUrlOf(image.file) })),
  }),
};

export const azureAi: Vendor = {
  kind: {
    name: "azure-ai",
    needs: ["baseUrl"],
    needsOneOf: [["apiKey"], ["auth"]],
    options: {
      apiVersion: z
        .string()
        .min(1)
        .max(100)
        .optional()
        .describe("The version of the embeddings API. The default is 2024-05-01-preview."),
      base64: base64Option,
      auth: azureAuth,
    },
  },
  adapter: {
    embeddings: openaiEmbeddings(resolveEndpoint, capabilities, imageDialect),
    ...foundryImages,
    credential: azureCredential,
    probe: (upstream) => {
      const { url, headers } = resolveEndpoint({ upstream, model: "" }, "embeddings");
      return { url: url.replace("/embeddings?", "/info?"), headers };
    },
    readError: readOpenaiError,
  },
};
