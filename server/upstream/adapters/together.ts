/** Together: OpenAI-compatible embeddings; images by width and height, with an edit's input images in the same body. */
import type { ImageAdapter, ReadImages, Vendor } from "../adapter.ts";
import type { EditQuery, ExtraFields, GenerationQuery, Target } from "../contract.ts";
import type { EditCapabilities, ImageCapabilities } from "../image-capabilities.ts";
import { fromDialect, textOnlyCapabilities } from "./openai/dialect.ts";
import { asDataUrl, bearer, imageJsonRequest } from "./wire/build-request.ts";
import { edgesOf } from "./wire/edges.ts";
import { readImageList } from "./wire/image-list.ts";
import { extraFieldsOf, memberOf } from "./wire/members.ts";
import { type ErrorMeaning, nativeErrorReader, type VendorError } from "./wire/native-errors.ts";
import { readOpenaiError } from "./wire/openai-errors.ts";

/** togethercomputer/openapi#257 (2026-04-28) and together 3.0.0. The former host, api.together.xyz, still works. */
const baseUrl = "https://api.together.ai/v1";

/**
 * togethercomputer/skills, together-images, references/models.md: Kontext takes one image as `image_url`; FLUX.2 and
 * Google's models several as `reference_images`. Eight is FLUX.2's limit at its vendor.
 */
const severalImages: EditCapabilities = { maxImages: 8 };
const families: readonly (readonly [RegExp, EditCapabilities | undefined])[] = [
  [/kontext/i, { maxImages: 1 }],
  [/FLUX\.2|gemini|flash-image/i, severalImages],
  // Text-to-image models, which would ignore an input image.
  [/FLUX\.1|imagen|seedream-3|stable-diffusion|hidream|dreamshaper|juggernaut/i, undefined],
];

const editsOf = (model: string): EditCapabilities | undefined => {
  const known = families.find(([name]) => name.test(model));
  return known ? known[1] : severalImages;
};

const takesOneImage = (model: string): boolean => editsOf(model)?.maxImages === 1;

// The same, references/api-reference.md: four images per request; `output_format` is FLUX.2's. The supported sizes
// depend on the model.
function imageCapabilities({ model }: Target): ImageCapabilities {
  const edits = editsOf(model);
  return {
    maxImages: 4,
    takes: {
      response_format: ["url", "b64_json"],
      ...(/FLUX\.2/i.test(model) && { output_format: ["png", "jpeg"] }),
    },
    sizes: { rule: { multipleOf: 1, minEdge: 64, maxEdge: 8192 } },
    ...(edits && { edits }),
  };
}

const buildRequest = (query: GenerationQuery, target: Target, sources: ExtraFields = {}) => {
  const { extraFields, prompt, options } = query;
  const { upstream } = target;
  const url = `${upstream.baseUrl ?? baseUrl}/images/generations`;
  return imageJsonRequest(url, bearer(upstream), {
    ...extraFields,
    model: target.model,
    prompt,
    n: options.n,
    ...edgesOf(query),
    output_format: options.output_format,
    // togethercomputer/openapi: the request value is `base64`, though the response has `b64_json`.
    response_format: options.response_format === "url" ? "url" : "base64",
    ...sources,
  });
};

const fromUpstream: ReadImages = (response, context) =>
  readImageList(response, context, {
    entryFields: (entry) => extraFieldsOf(entry, ["timings"]),
  });

const generations: ImageAdapter = {
  toUpstream: (query, target) => buildRequest(query, target),
  fromUpstream,
};

const edits: ImageAdapter<EditQuery> = {
  toUpstream: (query, target) => {
    const sources = query.images.map(asDataUrl);
    return buildRequest(
      query,
      target,
      takesOneImage(target.model) ? { image_url: sources[0] } : { reference_images: sources },
    );
  },
  fromUpstream,
};

/** Errors from user reports that differ from OpenAI's: "Unable to access model …", NSFW, 402. */
function classify({ status, message, body }: VendorError): ErrorMeaning | undefined {
  const code = memberOf(memberOf(body, "error"), "code");
  if (/\bnsfw\b|\bcontent (policy|moderation)\b/i.test(message)) return "moderated";
  if (code === "model_not_available" || /^unable to access model\b/i.test(message)) {
    return "no such model";
  }
  return status === 402 || code === "credit_limit_exceeded" ? "no credit" : undefined;
}

export const together: Vendor = fromDialect(
  // togethercomputer/openapi: EmbeddingsRequest has only `model` and `input`.
  { name: "together", baseUrl, embeddings: textOnlyCapabilities },
  {
    generations,
    edits,
    imageCapabilities,
    readError: nativeErrorReader({ classify, fallback: readOpenaiError }),
  },
);
