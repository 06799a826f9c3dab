/**
 * Xinference: OpenAI-compatible embeddings and images. It ignores fields of a generation that it does not know: options
 * of a model are read from `kwargs`, a JSON text. An edit has no such field.
 */
import { GatewayError } from "../../lib/gateway-error.ts";
import type { ImageAdapter } from "../adapter.ts";
import type {
  EditQuery,
  ExtraFields,
  GenerationQuery,
  ImageOperation,
  Target,
} from "../contract.ts";
import type { ImageCapabilities } from "../image-capabilities.ts";
import { fromDialect, textOnlyCapabilities } from "./openai/dialect.ts";
import { xinferenceImages } from "./openai/image-dialects.ts";
import { openaiGenerations } from "./openai/images.ts";
import {
  fieldParts,
  filesOf,
  imageFormRequest,
  imageJsonRequest,
  openaiEndpoints,
  type Part,
} from "./wire/build-request.ts";
import { edgesOf } from "./wire/edges.ts";
import { asObject } from "./wire/members.ts";
import { nativeErrorReader } from "./wire/native-errors.ts";
import { readOpenaiError } from "./wire/openai-errors.ts";

const baseUrl = "http://127.0.0.1:9997/v1";
const resolveEndpoint = openaiEndpoints(baseUrl);

/**
 * xinference 4.1.0, api/restful_api.py: create_images and create_image_edits read the model, the prompt, `n` and `size`.
 * model/image/stable_diffusion/core.py: the pipelines of diffusers repaint what is white in a mask, and need a size for
 * it. Edges that are no multiple of 8 fail: "have to be divisible by 8".
 */
const imageCapabilities = (_target: Target, operation: ImageOperation): ImageCapabilities => ({
  maxImages: 10,
  takes: {},
  sizes: { rule: { multipleOf: 8, minEdge: 8, maxEdge: 99_992 } },
  mayIgnoreN: true,
  ...(operation === "edits" && { extras: [] }),
  edits: {
    maxImages: 16,
    mask: "white",
    // No more pixels than the largest models support.
    matchFirstImage: { multipleOf: 8, minEdge: 64, maxEdge: 2048, maxPixels: 1024 * 1536 },
    matchMasked: true,
  },
});

const fieldsOf = (query: GenerationQuery, { model }: Target): ExtraFields => {
  const size = edgesOf(query);
  return {
    model,
    prompt: query.prompt,
    n: query.options.n,
    // `auto` is no size for Xinference.
    ...(size && { size: `${size.width}x${size.height}` }),
    // Its `url` is a path on its own disk.
    response_format: "b64_json",
  };
};

/** The client's `kwargs`, and its other extra fields. */
function kwargsOf({ kwargs, ...others }: ExtraFields): string | undefined {
  const given = typeof kwargs === "string" ? asObject(parsedJson(kwargs)) : asObject(kwargs ?? {});
  if (!given) {
    throw new GatewayError(
      "invalid_value",
      "Invalid 'kwargs': it must be a JSON object, or the text of one.",
      { param: "kwargs" },
    );
  }
  const options = { ...given, ...others };
  return Object.keys(options).length > 0 ? JSON.stringify(options) : undefined;
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const { fromUpstream } = openaiGenerations(resolveEndpoint);

const generations: ImageAdapter = {
  toUpstream: (query, target) => {
    const { url, headers } = resolveEndpoint(target, "images/generations");
    return imageJsonRequest(url, headers, {
      ...fieldsOf(query, target),
      kwargs: kwargsOf(query.extraFields),
    });
  },
  fromUpstream,
};

const edits: ImageAdapter<EditQuery> = {
  toUpstream: (query, target) => {
    const { url, headers } = resolveEndpoint(target, "images/edits");
    const { images, mask } = query;
    return imageFormRequest(url, headers, [
      ...fieldParts(fieldsOf(query, target)),
      ...filesOf(images).map((file): Part => ({ name: "image", file })),
      ...filesOf(mask ? [mask] : []).map((file): Part => ({ name: "mask", file })),
    ]);
  },
  fromUpstream,
};

export const xinference = fromDialect(
  {
    name: "xinference",
    baseUrl,
    open: true,
    listsEveryModel: true,
    truncatesSilently: true,
    // The same file passes unknown fields to the model, which then fails.
    embeddings: { ...textOnlyCapabilities, dimensions: "own" },
    ...xinferenceImages,
  },
  {
    generations,
    edits,
    imageCapabilities,
    readError: nativeErrorReader({
      classify: ({ message }) => {
        // api/utils.py: 400 or 404, for a model that is not launched.
        if (/\bmodel not found in the model list\b/i.test(message)) return "no such model";
        // diffusers, with status 500.
        return /\bhave to be divisible by \d+/.test(message) && "rejected";
      },
      fallback: readOpenaiError,
    }),
  },
);
