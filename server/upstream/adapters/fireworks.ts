/**
 * Fireworks: OpenAI-compatible embeddings, and three image APIs, chosen by the model's name. FLUX returns the image,
 * Kontext an operation.
 */
import type {
  ImageAdapter,
  ImageRequestContext,
  PendingOperation,
  ReadImages,
  UpstreamRequest,
  Vendor,
} from "../adapter.ts";
import type {
  BufferedImageResponse,
  EditQuery,
  ExtraFields,
  GenerationQuery,
  ImageOperation,
  Target,
  Upstream,
} from "../contract.ts";
import type { ImageCapabilities } from "../image-capabilities.ts";
import { invalidResponse } from "../invalid-response.ts";
import { fromDialect, textOnlyCapabilities } from "./openai/dialect.ts";
import { isFiltered, isImageResponse, readBinaryImage } from "./wire/binary-image.ts";
import {
  asDataUrl,
  bearer,
  bearerJsonRequest,
  imageJsonRequest,
  modelPath,
} from "./wire/build-request.ts";
import { readDocument } from "./wire/document.ts";
import { edgesOf } from "./wire/edges.ts";
import { imageContentIn } from "./wire/image-list.ts";
import { codeIn, extraFieldsOf, memberOf, textIn } from "./wire/members.ts";
import {
  type ErrorMeaning,
  nativeErrorReader,
  toMappedError,
  type VendorError,
} from "./wire/native-errors.ts";
import { readOpenaiError } from "./wire/openai-errors.ts";
import { operationIdOf, stillPending } from "./wire/operations.ts";

const baseUrl = "https://api.fireworks.ai/inference/v1";

const baseUrlOf = ({ baseUrl: configured = baseUrl }: Upstream): string => configured;

/** The APIs of Fireworks for images; they differ in path, fields and sizes. */
type ApiFamily = "flux" | "kontext" | "sdxl";
/** @ai-sdk/fireworks, modelToBackendConfig. Unlisted models generate as FLUX does, and edit as Kontext. */
function apiFamilyOf({ model }: Target, operation: ImageOperation): ApiFamily {
  if (/kontext/i.test(model)) return "kontext";
  if (/stable-diffusion|playground-v2|SSD-1B/i.test(model)) return "sdxl";
  return operation === "edits" && !/flux-1-/i.test(model) ? "kontext" : "flux";
}

// docs.fireworks.ai/api-reference: generate-a-new-image-from-a-text-prompt, and the same page for Kontext.
const ratios = ["1:1", "21:9", "16:9", "3:2", "5:4", "4:3", "4:5", "3:4", "2:3", "9:16", "9:21"];

// Stability's sizes for SDXL, on which the models of this API are based.
const sdxlSizes = [
  "1024x1024",
  "1152x896",
  "896x1152",
  "1216x832",
  "832x1216",
  "1344x768",
  "768x1344",
  "1536x640",
  "640x1536",
];

function imageCapabilities(target: Target, operation: ImageOperation): ImageCapabilities {
  const apiFamily = apiFamilyOf(target, operation);
  return {
    // The response body is the image itself, so there is one image per response.
    maxImages: 1,
    takes: { output_format: ["png", "jpeg"] },
    sizes: apiFamily === "sdxl" ? { list: sdxlSizes } : { ratios },
    ...(apiFamily === "kontext" && { edits: { maxImages: 1 } }),
  };
}

/** A configuration may have the short model name, as the vendor's own pages do. */
const pathOf = ({ model }: Target): string =>
  modelPath(/^accounts\//.test(model) ? model : `accounts/fireworks/models/${model}`);

function endpointOf(target: Target, apiFamily: ApiFamily): string {
  const root = baseUrlOf(target.upstream);
  const path = pathOf(target);
  switch (apiFamily) {
    case "sdxl":
      return `${root}/image_generation/${path}`;
    case "kontext":
      return `${root}/workflows/${path}`;
    case "flux":
      return `${root}/workflows/${path}/text_to_image`;
  }
}

function buildRequest(
  query: GenerationQuery,
  target: Target,
  apiFamily: ApiFamily,
  sources: ExtraFields = {},
): UpstreamRequest {
  const { extraFields, prompt, aspectRatio: aspect, options } = query;
  const { output_format = "png" } = options;
  const request = imageJsonRequest(endpointOf(target, apiFamily), bearer(target.upstream), {
    ...extraFields,
    prompt,
    ...(aspect !== undefined && { aspect_ratio: aspect }),
    ...(apiFamily === "sdxl" && edgesOf(query)),
    ...(apiFamily === "kontext" && { output_format }),
    ...sources,
  });
  // The `accept` header selects the image format, unless the response is an operation.
  const accept = apiFamily === "kontext" ? "application/json" : `image/${output_format}`;
  return { ...request, headers: { ...request.headers, accept } };
}

const fromUpstream: ReadImages = async (response, context) => {
  if (isImageResponse(response)) return readBinaryImage(response, context);
  const body = await readDocument(response, context.temp);
  const operation = memberOf(body, "request_id");
  if (typeof operation === "string") {
    return { kind: "pending", operationId: operation, poll: pollOf(operation, context.target) };
  }
  operationIdOf(memberOf(body, "id"), context);
  return memberOf(body, "status") === undefined
    ? readImages(body, context)
    : readOperation(body, context);
};

const generations: ImageAdapter = {
  toUpstream: (query, target) => buildRequest(query, target, apiFamilyOf(target, "generations")),
  fromUpstream,
};

const edits: ImageAdapter<EditQuery> = {
  toUpstream: (query, target) => {
    const [source] = query.images;
    const sources = source && { input_image: asDataUrl(source) };
    return buildRequest(query, target, apiFamilyOf(target, "edits"), sources);
  },
  fromUpstream,
};

/** docs.fireworks.ai/api-reference/get-generated-image-from-flux-kontex: polled with POST, free of charge. */
const pollOf = (id: string, target: Target): UpstreamRequest => ({
  ...bearerJsonRequest(`${endpointOf(target, "kontext")}/get_result`, target.upstream, { id }),
  streams: true,
});

/** The same page: `{base64: ["…"], finishReason, seed}`; SDXL returns a list of these, with one string each. */
function readImages(response: unknown, context: ImageRequestContext): BufferedImageResponse {
  const results = (Array.isArray(response) ? response : [response]).flatMap((entry: unknown) => {
    if (isFiltered(memberOf(entry, "finishReason")))
      throw toMappedError("moderated", undefined, context);
    const texts = memberOf(entry, "base64");
    return (Array.isArray(texts) ? texts : [texts]).map((text: unknown) => {
      const image = imageContentIn(text);
      if (!image) throw invalidResponse("it has no `base64`");
      return { image, ...extraFieldsOf(entry, ["seed"]) };
    });
  });
  return { kind: "buffered", results, metadata: {} };
}

/**
 * Kontext is Black Forest Labs' own service behind Fireworks, with the same states. A task that is not found may have
 * been accepted just now: it is polled until the request's deadline.
 */
function readOperation(
  response: unknown,
  context: ImageRequestContext,
): BufferedImageResponse | PendingOperation {
  const status = codeIn(response, "status");
  if (/moderated/i.test(status)) throw toMappedError("moderated", status, context);
  if (/^(error|failed)$/i.test(status)) {
    throw toMappedError(
      undefined,
      textIn(response, "error") ?? textIn(response, "details"),
      context,
    );
  }
  if (!/^ready$/i.test(status)) return stillPending;
  const result = memberOf(response, "result");
  const image = imageContentIn(memberOf(result, "sample"));
  if (!image) throw invalidResponse("its status is ready, but it has no `sample`");
  return {
    kind: "buffered",
    results: [{ image, ...extraFieldsOf(result, ["seed"]) }],
    metadata: {},
  };
}

/** OpenAI's error format with other codes, such as NOT_FOUND; accounts that cannot pay are "suspended". */
function classify({ status, message, body }: VendorError): ErrorMeaning | undefined {
  const code = memberOf(memberOf(body, "error"), "code");
  if (/\b(nsfw|content (filter|moderation|policy)|safety)\b/i.test(message)) return "moderated";
  if (status === 404 && (code === "NOT_FOUND" || /^model not found/i.test(message))) {
    return "no such model";
  }
  return status === 402 || /\bsuspended\b.*\b(spending limit|past invoices)/i.test(message)
    ? "no credit"
    : undefined;
}

export const fireworks: Vendor = fromDialect(
  // docs.fireworks.ai/api-reference: additionalProperties false, an array of at most 2048.
  {
    name: "fireworks",
    baseUrl,
    embeddings: { ...textOnlyCapabilities, dimensions: "any" },
  },
  {
    generations,
    edits,
    imageCapabilities,
    readError: nativeErrorReader({ classify, fallback: readOpenaiError }),
  },
);
