/**
 * LocalAI: OpenAI-compatible embeddings and generations. A generation with an image is an edit; inpainting is a form.
 */
import { GatewayError } from "../../lib/gateway-error.ts";
import type { ImageAdapter, UpstreamRequest, Vendor } from "../adapter.ts";
import type {
  EditQuery,
  ExtraFields,
  FilePart,
  GenerationQuery,
  ImageOperation,
  Target,
} from "../contract.ts";
import { anyEdges, type ImageCapabilities } from "../image-capabilities.ts";
import { fromDialect, fullLengthCapabilities } from "./openai/dialect.ts";
import { imagesAlone, openaiGenerations } from "./openai/images.ts";
import {
  asBase64,
  fieldParts,
  imageFormRequest,
  imageJsonRequest,
  onlyFile,
  openaiEndpoints,
} from "./wire/build-request.ts";
import { edgesOf } from "./wire/edges.ts";
import { nativeErrorReader } from "./wire/native-errors.ts";
import { readOpenaiError } from "./wire/openai-errors.ts";

const resolveEndpoint = openaiEndpoints(undefined);

/**
 * docs/content/features/image-generation.md: models for editing use `ref_images`, the others start from `file`. Only
 * the name distinguishes them.
 */
const usesReferences = ({ model }: Target): boolean => /kontext|edit|flux[-.]?2/i.test(model);

// core/http/endpoints/openai/image.go: `n`, `size` and `response_format`; other options are ignored. stb_image, which
// its main backend uses, does not read WebP. core/http/endpoints/openai/inpainting.go: "white = area to inpaint", one
// image per request.
const imageCapabilities = (target: Target, operation: ImageOperation): ImageCapabilities => ({
  maxImages: operation === "edits" ? 1 : 10,
  takes: {},
  sizes: anyEdges,
  edits: {
    maxImages: usesReferences(target) ? 16 : 1,
    mask: "white",
    reads: ["image/png", "image/jpeg"],
    // Its default is 512x512. Multiples of latent pixels, and no more pixels than the largest models support.
    matchFirstImage: { multipleOf: 64, minEdge: 64, maxEdge: 2048, maxPixels: 1024 * 1536 },
  },
});

const fieldsOf = (query: GenerationQuery, { model }: Target): ExtraFields => {
  const { extraFields, options, prompt } = query;
  const size = edgesOf(query);
  return {
    ...extraFields,
    model,
    prompt,
    n: options.n,
    // LocalAI silently replaces an unreadable size by 512x512.
    ...(size && { size: `${size.width}x${size.height}` }),
    // A link costs a download, and may name a host that only LocalAI can reach.
    response_format: "b64_json",
  };
};

const generationRequest = (target: Target, fields: ExtraFields): UpstreamRequest => {
  const { url, headers } = resolveEndpoint(target, "images/generations");
  return imageJsonRequest(url, headers, fields);
};

/** LocalAI does not count tokens: they are always 0. */
const fromUpstream = imagesAlone(openaiGenerations(resolveEndpoint).fromUpstream);

const generations: ImageAdapter = {
  toUpstream: (query, target) => generationRequest(target, fieldsOf(query, target)),
  fromUpstream,
};

const edits: ImageAdapter<EditQuery> = {
  toUpstream: (query, target) => {
    if (query.mask) return inpaintRequest(query, target, onlyFile([query.mask]));
    // Plain base64: LocalAI cannot read a `data:` URL, and would silently generate without the image.
    const images = query.images.map(asBase64);
    return generationRequest(target, {
      ...fieldsOf(query, target),
      ...(usesReferences(target) ? { ref_images: images } : { file: images[0] }),
    });
  },
  fromUpstream,
};

function inpaintRequest(query: EditQuery, target: Target, mask: FilePart): UpstreamRequest {
  const { extraFields, prompt, options, images } = query;
  if (images.length > 1) {
    throw new GatewayError(
      "invalid_value",
      "Invalid 'image': with a mask, the model takes one image.",
      { param: "image" },
    );
  }
  if (edgesOf(query) && options.size !== inpaintedSize) {
    throw new GatewayError(
      "invalid_size",
      `Invalid size '${options.size}'. With a mask, the model generates images of ${inpaintedSize} only.`,
      { param: "size" },
    );
  }
  const { headers } = resolveEndpoint(target, "images/generations");
  return imageFormRequest(`${target.upstream.baseUrl}/images/inpainting`, headers, [
    ...fieldParts({ ...extraFields, model: target.model, prompt }),
    { name: "image", file: onlyFile(images) },
    { name: "mask", file: mask },
  ]);
}

/** inpainting.go: "Determine width/height default"; the request's size is never used. */
const inpaintedSize = "512x512";

export const localai: Vendor = fromDialect(
  // LocalAI, core/http/endpoints/openai/embeddings.go: no `dimensions`.
  { name: "localai", open: true, embeddings: { ...fullLengthCapabilities, base64: true } },
  {
    generations,
    edits,
    imageCapabilities,
    readError: nativeErrorReader({
      // core/http/middleware/request.go: `model "…" not found. To see available models, call GET /v1/models`.
      classify: ({ status, message }) =>
        status === 404 && /^model\b.*\bnot found\b/.test(message) && "no such model",
      fallback: readOpenaiError,
    }),
  },
);
