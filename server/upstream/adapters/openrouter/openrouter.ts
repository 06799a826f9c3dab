/**
 * OpenRouter: OpenAI-compatible embeddings, and an Image API with one request format for many vendors' models; buffered
 * responses or, for OpenAI's models, streams.
 */
import type { ImageAdapter, ReadImages, UpstreamRequest, Vendor } from "../../adapter.ts";
import type {
  EditQuery,
  ExtraFields,
  GenerationQuery,
  ImageSource,
  Target,
} from "../../contract.ts";
import type { ImageCapabilities } from "../../image-capabilities.ts";
import { resolutionOf } from "../../image-sizes.ts";
import { geminiImageModel } from "../google/gemini-images.ts";
import { fromDialect } from "../openai/dialect.ts";
import type { ModelExceptions } from "../openai/embeddings.ts";
import { asDataUrl, bearer, imageJsonRequest } from "../wire/build-request.ts";
import { readDocument } from "../wire/document.ts";
import { createdIn, imageListIn, isEventStream } from "../wire/image-list.ts";
import { commonImageTypes, contentEntries } from "../wire/image-parts.ts";
import { memberOf } from "../wire/members.ts";
import { errorIn, openrouterErrorReader } from "./errors.ts";
import { readOpenrouterEvents } from "./events.ts";
import { usageAndCostOf } from "./usage.ts";

const baseUrl = "https://openrouter.ai/api/v1";

// @openrouter/sdk 1.3.19, ImageGenerationRequest. "Providers that only support single-image generation reject n > 1",
// and "providers without a quality knob ignore" it: an option is offered only for models whose vendor is known to have
// it. `user` is OpenRouter's own field: "never sent to providers verbatim".
const user = { user: "any" } as const;
const commonCapabilities: ImageCapabilities = {
  maxImages: 1,
  takes: user,
  sizes: "any",
  edits: { maxImages: 16, links: true },
};

const openaiModelCapabilities = (quality: readonly string[]): Partial<ImageCapabilities> => ({
  maxImages: 10,
  takes: {
    ...user,
    quality,
    background: ["transparent", "opaque"],
    output_format: ["png", "jpeg", "webp"],
    output_compression: "any",
    partial_images: "any",
  },
  compresses: ["jpeg", "webp"],
  streams: true,
});

const families: readonly (readonly [RegExp, Partial<ImageCapabilities>])[] = [
  // `xhigh` and `max` are the tiers of GPT Image 2.5 and later: catalog/images/openai.ts.
  [
    /^openai\/gpt-(?:[\d.]+-)?image(?!-(?:2\.\d|[3-9]))/,
    openaiModelCapabilities(["low", "medium", "high"]),
  ],
  [/^openai\//, openaiModelCapabilities(["low", "medium", "high", "xhigh", "max"])],
  // "SVG is supported by vectorization models (e.g. Quiver)".
  [/^quiver(?:ai)?\//, { takes: { ...user, output_format: ["svg"] }, sizes: { list: [] } }],
];

const isGoogle = (model: string): boolean => model.startsWith("google/");

const imageCapabilities = ({ model }: Target): ImageCapabilities => ({
  ...commonCapabilities,
  ...families.find(([name]) => name.test(model))?.[1],
  // ImageGenerationRequestAspectRatio: "Providers clamp to their supported subset". So only ratios that Google itself
  // documents for the model.
  ...(isGoogle(model) && { sizes: { ratios: geminiImageModel(model).ratios } }),
  // openrouter.ai/docs/client-sdks/typescript/models/markup, read on 2026-11-17: "honored by models with markup-guided
  // editing (OpenAI gpt-image-2.6) and ignored otherwise".
  ...(/^openai\/gpt-image-2\.6/.test(model) && {
    edits: { maxImages: 16, links: true, markup: true },
  }),
});

/** "Normalized resolution tier": 512, 1K, 2K or 4K. Sent to Google's models that have more than one. */
function resolutionFor(query: GenerationQuery, model: string): ExtraFields {
  const resolution = resolutionOf(query);
  return isGoogle(model) && geminiImageModel(model).sized && resolution !== "1K"
    ? { resolution }
    : {};
}

const buildRequest = (
  query: GenerationQuery,
  target: Target,
  more: ExtraFields = {},
): UpstreamRequest => {
  const { extraFields, options, prompt, aspectRatio: aspect, stream } = query;
  const { n, size, quality, background, output_format, output_compression, user } = options;
  const { streams } = imageCapabilities(target);
  const { upstream } = target;
  return imageJsonRequest(`${upstream.baseUrl ?? baseUrl}/images`, bearer(upstream), {
    ...resolutionFor(query, target.model),
    ...extraFields,
    n,
    quality,
    background,
    output_format,
    output_compression,
    user,
    ...(size !== "auto" && { size }),
    ...(aspect !== undefined && { aspect_ratio: aspect }),
    ...more,
    model: target.model,
    prompt,
    ...(stream && streams && { stream: true }),
  });
};

const readResponse: ReadImages = async (response, imageRequest) => {
  const { query, target, temp } = imageRequest;
  const context = { target, model: query.model };
  if (isEventStream(response)) {
    const maxPartialImages = query.options.partial_images ?? 0;
    const events = readOpenrouterEvents(response, temp, maxPartialImages, context);
    return { kind: "stream", events };
  }
  const body = await readDocument(response, temp);
  if (memberOf(body, "error")) throw await errorIn(body, response, context);
  return imageListIn(body, imageRequest, {
    responseFields: (body) => ({ ...createdIn(body), ...usageAndCostOf(memberOf(body, "usage")) }),
  });
};

const generations: ImageAdapter = {
  toUpstream: (query, target) => buildRequest(query, target),
  fromUpstream: readResponse,
};

const edits: ImageAdapter<EditQuery> = {
  toUpstream: (query, target) =>
    buildRequest(query, target, {
      input_references: query.images.map(referenceTo),
      ...(query.markup && { markup: referenceTo(query.markup) }),
    }),
  fromUpstream: readResponse,
};

/** As base64 data URLs or as links, which OpenRouter opens itself. */
const referenceTo = (source: ImageSource): ExtraFields => ({
  type: "image_url",
  image_url: { url: asDataUrl(source) },
});

/**
 * Models that read images, by their vendors' documentation; OpenRouter documents no limits of its own. Formats that all
 * of these vendors read, and Google's six images in one request.
 */
const imageReaders: ModelExceptions = [
  [
    /^google\/gemini-embedding-2|^cohere\/embed-v?[45]|^voyageai\/voyage-multimodal|^nvidia\/.*-embed-vl-/,
    { images: { types: commonImageTypes, fuses: "sequence", maxPerEntry: 6, maxPerRequest: 6 } },
  ],
];

export const openrouter: Vendor = fromDialect(
  // openrouter.ai/docs/api/api-reference/embeddings. @openrouter/sdk 1.3.19, createembeddings.d.ts: `usage.cost`.
  {
    name: "openrouter",
    baseUrl,
    reportsCost: true,
    models: imageReaders,
    // createembeddings.d.ts: an entry of `input` is `{content: [{type: "text", text} | {type: "image_url", image_url}]}`.
    writeImages: (input) => ({ input: contentEntries(input) }),
  },
  {
    generations,
    edits,
    imageCapabilities,
    readError: openrouterErrorReader,
  },
);
