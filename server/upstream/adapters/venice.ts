/**
 * Venice: OpenAI-compatible embeddings; generations at OpenAI's path with fewer options, edits as JSON at two paths of
 * its own, whose responses are the image's bytes. All facts about images: veniceai/api-docs, swagger.yaml (2026-08-22);
 * both schemas refuse unknown fields.
 */
import type {
  ImageAdapter,
  ImageRequestContext,
  UpstreamRequest,
  UpstreamResponse,
  Vendor,
} from "../adapter.ts";
import type { EditQuery, ExtraFields, ImageOperation, ImageSource, Target } from "../contract.ts";
import type { ImageCapabilities } from "../image-capabilities.ts";
import { invalidResponse } from "../invalid-response.ts";
import { fromDialect, openServerCapabilities } from "./openai/dialect.ts";
import { readSingleImage } from "./wire/binary-image.ts";
import { asBase64, bearer, bearerRequest, imageJsonRequest } from "./wire/build-request.ts";
import { createdIn, readImageList } from "./wire/image-list.ts";
import { membersOfList } from "./wire/members.ts";
import { nativeErrorReader, toMappedError } from "./wire/native-errors.ts";
import { readOpenaiError } from "./wire/openai-errors.ts";

const baseUrl = "https://api.venice.ai/api/v1";

const formats = ["jpeg", "png", "webp"];

// SimpleGenerateImageRequest: `quality`, `background`, `style`, `output_compression` and `user` are accepted and "not
// used".
const generationCapabilities: ImageCapabilities = {
  maxImages: 1,
  takes: { output_format: formats, moderation: ["low", "auto"] },
  sizes: {
    list: ["256x256", "512x512", "1024x1024", "1536x1024", "1024x1536", "1792x1024", "1024x1792"],
  },
  maxPrompt: 1500,
  extras: [],
  edits: { maxImages: 16, links: true, maxBytes: 25_000_000 },
};

/**
 * EditImageRequest and MultiEditImageRequest. The maximum number of images depends on the model, and Venice decides.
 */
const editCapabilities: ImageCapabilities = {
  ...generationCapabilities,
  sizes: { ratios: ["1:1", "3:2", "16:9", "21:9", "9:16", "2:3", "3:4", "4:5"] },
  maxPrompt: 32_768,
  extras: [
    "aspect_ratio",
    "resolution",
    "safe_mode",
    "enhance_prompt",
    "disable_prompt_optimization_thinking",
  ],
};

/** All models that edit have `edit` in their names, and none of them generates. */
const imageCapabilities = ({ model }: Target, operation: ImageOperation): ImageCapabilities => ({
  ...(operation === "edits" ? editCapabilities : generationCapabilities),
  ...(/\bedit\b/.test(model) && { editsOnly: true }),
});

const buildRequest = ({ upstream }: Target, path: string, body: ExtraFields): UpstreamRequest =>
  imageJsonRequest(`${upstream.baseUrl ?? baseUrl}/${path}`, bearer(upstream), body);

const generations: ImageAdapter = {
  // SimpleGenerateImageRequest, `model`: "If a non-existent model is specified (ie an OpenAI model name), it will
  // default to Venice's default image model", and no field or header of the response names the model.
  models: {
    request: (upstream) =>
      bearerRequest(`${upstream.baseUrl ?? baseUrl}/models?type=image`, upstream),
    read: membersOfList("data", "id"),
  },
  toUpstream: (query, target) => {
    const { extraFields, prompt, options } = query;
    const { size, output_format, moderation } = options;
    const body = { ...extraFields, model: target.model, prompt, size, output_format, moderation };
    return buildRequest(target, "images/generations", body);
  },
  fromUpstream: async (response, context) => {
    checkResponse(response, context);
    return readImageList(response, context, { responseFields: (body) => createdIn(body) });
  },
};

/** Base64 without a prefix, or the link that the client gave. */
const sourceOf = (source: ImageSource) => (source.kind === "url" ? source.url : asBase64(source));

/** One image goes to `image/edit`, several to `image/multi-edit`, where the model has another name. */
const edits: ImageAdapter<EditQuery> = {
  toUpstream: (query, target) => {
    const { extraFields, prompt, aspectRatio: aspect, options, images } = query;
    const { output_format, moderation } = options;
    const fields = {
      ...(moderation !== undefined && { safe_mode: moderation !== "low" }),
      ...extraFields,
      prompt,
      output_format,
      ...(aspect !== undefined && { aspect_ratio: aspect }),
    };
    const [first, ...others] = images.map(sourceOf);
    return others.length === 0
      ? buildRequest(target, "image/edit", {
          ...fields,
          model: target.model,
          image: first,
        })
      : buildRequest(target, "image/multi-edit", {
          ...fields,
          modelId: target.model,
          images: [first, ...others],
        });
  },
  fromUpstream: (response, context) => {
    checkResponse(response, context);
    return readSingleImage(response, context, () => {
      throw invalidResponse("it is JSON where an image was expected");
    });
  },
};

/** The headers report whether the image was withheld, and which model generated it. */
function checkResponse({ headers }: UpstreamResponse, context: ImageRequestContext): void {
  const flagged = ["x-venice-is-content-violation", "x-venice-is-blurred"];
  if (flagged.some((name) => headers.get(name) === "true")) {
    throw toMappedError("moderated", undefined, context);
  }
  // "The ID of the model used for the edit": an image of another model is not what the client requested.
  const used = headers.get("x-venice-model-id");
  if (used !== null && used.toLowerCase() !== context.target.model.toLowerCase()) {
    throw toMappedError("no such model", undefined, context);
  }
}

export const venice: Vendor = fromDialect(
  // docs.venice.ai/api-reference/endpoint/embeddings/generate.
  { name: "venice", baseUrl, embeddings: { ...openServerCapabilities, base64: true } },
  {
    generations,
    edits,
    imageCapabilities,
    // veniceai/api-docs, swagger.yaml: `{error: "…", details: {…}}`, and 402 with INSUFFICIENT_BALANCE.
    readError: nativeErrorReader({
      classify: ({ status, message }) => {
        if (status === 402) return "no credit";
        if (status === 404 && /\bmodel\b/i.test(message)) return "no such model";
        return undefined;
      },
      fallback: readOpenaiError,
    }),
  },
);
