/** DigitalOcean: OpenAI-compatible embeddings and generations, with `n` in every request; no edits. */
import type { ImageAdapter, Vendor } from "../adapter.ts";
import { type ImageCapabilities, unrestrictedImages } from "../image-capabilities.ts";
import { fromDialect, textOnlyCapabilities } from "./openai/dialect.ts";
import { openaiGenerations } from "./openai/images.ts";
import { openaiEndpoints } from "./wire/build-request.ts";
import { readOpenaiError } from "./wire/openai-errors.ts";

const baseUrl = "https://inference.do-ai.run/v1";

/**
 * digitalocean/openapi, specification/resources/inference/models/create_image_request.yml (2026-08-07). Its list of
 * sizes is that of gpt-image-1 and lacks even 1024x1024, so any size is sent, and the vendor decides.
 */
const capabilities: ImageCapabilities = {
  maxImages: 10,
  takes: {
    quality: ["auto", "high", "medium", "low"],
    background: ["transparent", "opaque", "auto"],
    moderation: ["low", "auto"],
    output_format: ["png", "webp", "jpeg"],
    output_compression: "any",
    partial_images: "any",
    user: "any",
  },
  sizes: unrestrictedImages.sizes,
  maxPrompt: 32_000,
  userLength: { min: 1, max: 256 },
  streams: true,
  verbatim: true,
};

const openai = openaiGenerations(openaiEndpoints(baseUrl));

const generations: ImageAdapter = {
  ...openai,
  toUpstream: (query, target) => {
    const { n = 1, partial_images = 0 } = query.options;
    const options = { ...query.options, n };
    // "When stream is true, partial_images must be greater than 0": without partial images the response is buffered.
    return openai.toUpstream(
      { ...query, options, stream: query.stream && partial_images > 0 },
      target,
    );
  },
};

export const digitalocean: Vendor = fromDialect(
  // The same repository, resources/inference/models/embeddings_request.yml: extra fields are rejected.
  { name: "digitalocean", baseUrl, embeddings: { ...textOnlyCapabilities, base64: true } },
  { generations, imageCapabilities: () => capabilities, readError: readOpenaiError },
);
