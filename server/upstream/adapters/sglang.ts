/** SGLang: OpenAI-compatible embeddings and, of its diffusion server, images. */
import type { ImageAdapter } from "../adapter.ts";
import type { EditQuery, ExtraFields, GenerationQuery, Target } from "../contract.ts";
import { anyEdges, type ImageCapabilities } from "../image-capabilities.ts";
import { fromDialect, openServerCapabilities } from "./openai/dialect.ts";
import { sglangImages } from "./openai/image-dialects.ts";
import { imagesAlone, openaiGenerations } from "./openai/images.ts";
import {
  fieldParts,
  filesOf,
  imageFormRequest,
  imageJsonRequest,
  openaiEndpoints,
  type Part,
} from "./wire/build-request.ts";
import { edgesOf } from "./wire/edges.ts";
import { readOpenaiError } from "./wire/openai-errors.ts";

const resolveEndpoint = openaiEndpoints(undefined);

/**
 * sglang 0.5.23, multimodal_gen/runtime/entrypoints/openai/image_api.py and utils.py: a size is WIDTHxHEIGHT and not
 * `auto`; the mask of an edit is received, and not used; `background` only decides the default format.
 */
const imageCapabilities = (): ImageCapabilities => ({
  maxImages: 10,
  takes: { output_format: ["png", "jpeg", "webp"] },
  sizes: anyEdges,
  edits: { maxImages: 16 },
});

const fieldsOf = (query: GenerationQuery, { model }: Target): ExtraFields => {
  const { extraFields, options, prompt } = query;
  const size = edgesOf(query);
  return {
    ...extraFields,
    model,
    prompt,
    n: options.n,
    ...(size && { size: `${size.width}x${size.height}` }),
    output_format: options.output_format,
    // Without storage in a cloud, SGLang refuses links, which are its default for generations.
    response_format: "b64_json",
  };
};

/** Beside each image it has the prompt as `revised_prompt`, and may have a path on its own disk. */
const fromUpstream = imagesAlone(openaiGenerations(resolveEndpoint).fromUpstream);

const generations: ImageAdapter = {
  toUpstream: (query, target) => {
    const { url, headers } = resolveEndpoint(target, "images/generations");
    return imageJsonRequest(url, headers, fieldsOf(query, target));
  },
  fromUpstream,
};

const edits: ImageAdapter<EditQuery> = {
  toUpstream: (query, target) => {
    const { url, headers } = resolveEndpoint(target, "images/edits");
    return imageFormRequest(url, headers, [
      ...fieldParts(fieldsOf(query, target)),
      ...filesOf(query.images).map((file): Part => ({ name: "image", file })),
    ]);
  },
  fromUpstream,
};

export const sglang = fromDialect(
  // srt/entrypoints/openai/protocol.py: EmbeddingRequest.
  {
    name: "sglang",
    open: true,
    embeddings: { ...openServerCapabilities, base64: true },
    ...sglangImages,
  },
  { generations, edits, imageCapabilities, readError: readOpenaiError },
);
