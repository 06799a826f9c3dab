/** DeepInfra: OpenAI-compatible embeddings and images; images in base64 only, and its own error format. */

import type { Vendor } from "../adapter.ts";
import type { ImageOperation, Target } from "../contract.ts";
import type { ImageCapabilities } from "../image-capabilities.ts";
import { fromDialect, openServerCapabilities } from "./openai/dialect.ts";
import { openaiEdits, openaiGenerations, unstreamed } from "./openai/images.ts";
import { openaiEndpoints } from "./wire/build-request.ts";
import { type ErrorMeaning, nativeErrorReader, type VendorError } from "./wire/native-errors.ts";
import { readOpenaiError } from "./wire/openai-errors.ts";

const baseUrl = "https://api.deepinfra.com/v1/openai";
const resolveEndpoint = openaiEndpoints(baseUrl);

/**
 * api.deepinfra.com/openapi.json: OpenAIImagesGenerationsIn and OpenAIImagesEditsIn. Four images per request;
 * "Available sizes depend on the model", so the model decides.
 */
const imageCapabilities = (_: Target, operation: ImageOperation): ImageCapabilities => ({
  maxImages: 4,
  takes: {
    user: "any",
    ...(operation === "generations" && { quality: "any", style: "any" }),
  },
  sizes: { rule: { multipleOf: 1, minEdge: 1, maxEdge: 8192 } },
  // The same: one image, and a mask in OpenAI's format.
  edits: { maxImages: 1, mask: "transparent" },
});

/** `{detail: {error: "…"}}` where OpenAI has `{error: {message: "…"}}`: @ai-sdk/deepinfra, deepInfraErrorSchema. */
function classify({ status, message }: VendorError): ErrorMeaning | undefined {
  if (/\b(nsfw|content (policy|moderation|filter)|safety (system|checker))\b/i.test(message)) {
    return "moderated";
  }
  if (status === 402 || /\b(payment method|inference prohibited)\b/i.test(message))
    return "no credit";
  return status === 404 && /\bmodel\b/i.test(message) ? "no such model" : undefined;
}

export const deepinfra: Vendor = fromDialect(
  // langchain-community, DeepInfraEmbeddings: "limited by DeepInfra API to a maximum of 1024".
  {
    name: "deepinfra",
    baseUrl,
    embeddings: { ...openServerCapabilities, maxItems: 1024, tokens: false },
  },
  {
    generations: unstreamed(openaiGenerations(resolveEndpoint)),
    edits: unstreamed(openaiEdits(resolveEndpoint)),
    imageCapabilities,
    readError: nativeErrorReader({ classify, fallback: readOpenaiError }),
  },
);
