/** Replicate: any hosted model, as a prediction that is created and polled. */
import type {
  ImageAdapter,
  ImageRequestContext,
  PendingOperation,
  ReadImages,
  UpstreamRequest,
  Vendor,
} from "../../adapter.ts";
import type {
  BufferedImageResponse,
  EditQuery,
  ExtraFields,
  GenerationQuery,
  Target,
  Upstream,
} from "../../contract.ts";
import type { ImageCapabilities } from "../../image-capabilities.ts";
import { invalidResponse } from "../../invalid-response.ts";
import {
  asDataUrl,
  bearer,
  bearerRequest,
  imageJsonRequest,
  modelPath,
} from "../wire/build-request.ts";
import { readDocument } from "../wire/document.ts";
import { edgesOf } from "../wire/edges.ts";
import { imageContentIn } from "../wire/image-list.ts";
import { extraFieldsOf, memberOf, textIn } from "../wire/members.ts";
import {
  type ErrorMeaning,
  nativeErrorReader,
  toMappedError,
  waitInBody,
} from "../wire/native-errors.ts";
import {
  isRouted,
  operationIdOf,
  operationLink,
  pollRequest,
  routedLink,
} from "../wire/operations.ts";
import { replicateFamilyOf } from "./families.ts";

const baseUrl = "https://api.replicate.com/v1";
const domains = ["replicate.com"];

const baseUrlOf = ({ baseUrl: configured = baseUrl }: Upstream): string => configured;

// replicate-javascript, lib/util.js: files inside the JSON may have ten megabytes.
const maxBytes = 10_000_000;

function imageCapabilities({ model }: Target): ImageCapabilities {
  const { sizes, count, formats, source, mask, takes, editsOnly } = replicateFamilyOf(model);
  return {
    maxImages: count?.[1] ?? 1,
    takes: { ...takes, ...(formats && { output_format: formats }) },
    sizes,
    ...(editsOnly && { editsOnly }),
    ...(source && { edits: { maxImages: source[2], ...(mask && { mask }), maxBytes } }),
  };
}

function inputOf(query: GenerationQuery, { model }: Target): ExtraFields {
  const { count, custom, sizeField } = replicateFamilyOf(model);
  const { n, size, output_format, response_format: _, user, ...options } = query.options;
  const edges = sizeField ? undefined : edgesOf(query);
  return {
    ...query.extraFields,
    ...options,
    prompt: query.prompt,
    aspect_ratio: query.aspectRatio ?? query.extraFields.aspect_ratio,
    ...(edges && { ...custom, ...edges }),
    ...(sizeField && size !== "auto" && { [sizeField]: size }),
    ...(count && n !== undefined && { [count[0]]: n }),
    ...(output_format !== undefined && { output_format: formatOf(output_format, model) }),
    ...(user !== undefined && { user_id: user }),
  };
}

/** All except OpenAI's own models use `jpg`. */
const formatOf = (format: string, model: string): string =>
  format === "jpeg" && !model.startsWith("openai/") ? "jpg" : format;

function editSources({ images, mask }: EditQuery, { model }: Target): ExtraFields {
  const [field, how] = replicateFamilyOf(model).source ?? ["image", "one"];
  const urls = images.map(asDataUrl);
  return { [field]: how === "list" ? urls : urls[0], ...(mask && { mask: asDataUrl(mask) }) };
}

/**
 * `owner/name` is an official model, which is always running; `owner/name:version` or a version alone a community
 * model; `deployments/owner/name` a deployment of the operator.
 */
function endpointOf(model: string): { readonly path: string; readonly version?: string } {
  const colon = model.indexOf(":");
  if (colon >= 0) return { path: "predictions", version: model.slice(colon + 1) };
  if (/^[0-9a-f]{64}$/.test(model)) return { path: "predictions", version: model };
  const [, deployed] = /^deployments\/(.+)$/.exec(model) ?? [];
  return deployed === undefined
    ? { path: `models/${modelPath(model)}/predictions` }
    : { path: `deployments/${modelPath(deployed)}/predictions` };
}

function buildRequest({ upstream, model }: Target, input: ExtraFields): UpstreamRequest {
  const { path, version } = endpointOf(model);
  // Fast models return the result in the first response. Slow ones soon return their id, so that they can be canceled.
  // huggingface_hub 2.4.0, _providers/replicate.py, waits as long as Replicate does, and polls no operation.
  const headers = { ...bearer(upstream), prefer: isRouted(upstream) ? "wait" : "wait=5" };
  return imageJsonRequest(`${baseUrlOf(upstream)}/${path}`, headers, { version, input });
}

const fromUpstream: ReadImages = async (response, context) => {
  const prediction = await readDocument(response, context.temp);
  const operation = operationIdOf(memberOf(prediction, "id"), context);
  switch (memberOf(prediction, "status")) {
    case "succeeded":
      return done(prediction);
    case "failed":
    case "canceled":
    case "aborted":
      throw failed(prediction, context);
    case "starting":
    case "queued":
    case "processing":
      return { ...pendingOperation(prediction, context.target), ...operation };
    default:
      throw invalidResponse("it is not a prediction");
  }
};

function pendingOperation(prediction: unknown, { upstream }: Target): PendingOperation {
  const urls = memberOf(prediction, "urls");
  const link = (name: string) =>
    isRouted(upstream)
      ? routedLink(memberOf(urls, name), baseUrlOf(upstream))
      : operationLink(memberOf(urls, name), baseUrlOf(upstream), domains);
  const headers = bearer(upstream);
  return {
    kind: "pending",
    poll: pollRequest(link("get"), headers),
    ...(memberOf(urls, "cancel") !== undefined && {
      cancel: { url: link("cancel"), headers, method: "POST" },
    }),
  };
}

function done(prediction: unknown): BufferedImageResponse {
  const output = memberOf(prediction, "output");
  const list: readonly unknown[] = Array.isArray(output) ? output : [output];
  return {
    kind: "buffered",
    results: list.map((entry) => {
      const image = imageContentIn(entry);
      if (!image) throw invalidResponse("its output is neither an image nor a list of images");
      return { image };
    }),
    metadata: {},
    ...extraFieldsOf(prediction, ["metrics"]),
  };
}

function failed(prediction: unknown, context: ImageRequestContext) {
  const message = textIn(prediction, "error");
  return toMappedError(meaningOf(message ?? ""), message, context);
}

/** An error message is written by the model's author; an E… code in it is the vendor's, without a public list. */
function meaningOf(message: string): ErrorMeaning | undefined {
  if (/\bnsfw\b|flagged as|safety (system|filter|check)|content policy|\(E005\)/i.test(message)) {
    return "moderated";
  }
  if (/high demand|\(E003\)|currently unavailable/i.test(message)) return "busy";
  return /^input validation error/i.test(message) ? "rejected" : undefined;
}

const generations: ImageAdapter = {
  toUpstream: (query, target) => buildRequest(target, inputOf(query, target)),
  fromUpstream,
};

const edits: ImageAdapter<EditQuery> = {
  toUpstream: (query, target) =>
    buildRequest(target, { ...inputOf(query, target), ...editSources(query, target) }),
  fromUpstream,
};

export const replicate: Vendor = {
  kind: { name: "replicate", baseUrl, needs: ["apiKey"], serves: "image", options: {} },
  adapter: {
    generations,
    edits,
    imageCapabilities,
    probe: (upstream) => bearerRequest(`${baseUrlOf(upstream)}/account`, upstream),
    readError: nativeErrorReader({
      classify: ({ status, message }) => {
        if (status < 500 && meaningOf(message) === "moderated") return "moderated";
        const unknown = status === 422 && /\bversion does not exist\b/.test(message);
        return (status === 404 || unknown) && "no such model";
      },
      // nodetool-ai/nodetool#5196: {"detail":"Request was throttled. …","status":429,"retry_after":5}.
      retryAfterMs: waitInBody,
    }),
  },
};
