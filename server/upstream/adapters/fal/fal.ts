/** fal: a queue that takes an operation for any of its models and returns the URL to poll. */
import type {
  ImageAdapter,
  ImageRequestContext,
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
import { resolutionOf } from "../../image-sizes.ts";
import { invalidResponse } from "../../invalid-response.ts";
import { asDataUrl, headersOf, imageJsonRequest, modelPath } from "../wire/build-request.ts";
import { readDocument } from "../wire/document.ts";
import { edgesOf } from "../wire/edges.ts";
import { imageContentIn, revised } from "../wire/image-list.ts";
import { extraFieldsOf, listOf, memberOf } from "../wire/members.ts";
import { nativeErrorReader, toMappedError } from "../wire/native-errors.ts";
import {
  isRouted,
  operationIdOf,
  operationLink,
  pollRequest,
  routedLink,
} from "../wire/operations.ts";
import { falEndpoint, falImageCapabilities, falResolution, isOpenaiSize } from "./families.ts";
import { falMaskOf, placeSources } from "./sources.ts";

// fal.ai/docs/api-reference/inference-api: the queue keeps an operation when its runner dies; the synchronous address
// does not.
const baseUrl = "https://queue.fal.run";
const domains = ["fal.run"];

const baseUrlOf = ({ baseUrl: configured = baseUrl }: Upstream): string => configured;

const authHeaders = (upstream: Upstream) =>
  headersOf(upstream, (key) => ({
    authorization: isRouted(upstream) ? `Bearer ${key}` : `Key ${key}`,
  }));

/** huggingface_hub 2.4.0, _providers/fal_ai.py: the queue behind Hugging Face's router. */
const routedQueue = "?_subdomain=queue";

function inputOf(query: GenerationQuery, endpoint: string): ExtraFields {
  const { n, output_format, quality, background, input_fidelity } = query.options;
  return {
    ...query.extraFields,
    prompt: query.prompt,
    image_size: sizeOf(query, endpoint) ?? query.extraFields.image_size,
    resolution: query.extraFields.resolution ?? falResolution(endpoint, resolutionOf(query)),
    aspect_ratio: query.aspectRatio ?? query.extraFields.aspect_ratio,
    num_images: n,
    output_format,
    quality,
    background,
    input_fidelity,
  };
}

/** fal has its own names for some sizes, such as square_hd. */
function sizeOf(query: GenerationQuery, endpoint: string): unknown {
  const { size = "auto" } = query.options;
  if (size === "auto") return undefined;
  return isOpenaiSize(endpoint) || !/^\d+x\d+$/.test(size) ? size : edgesOf(query);
}

const editSources = ({ images, mask }: EditQuery, endpoint: string): ExtraFields => ({
  ...placeSources(endpoint, images.map(asDataUrl)),
  ...(mask && { [falMaskOf(endpoint) ?? "mask_url"]: asDataUrl(mask) }),
});

const buildRequest = (
  { upstream }: Target,
  endpoint: string,
  input: ExtraFields,
): UpstreamRequest => {
  const query = isRouted(upstream) ? routedQueue : "";
  const url = `${baseUrlOf(upstream)}/${modelPath(endpoint)}${query}`;
  return imageJsonRequest(url, authHeaders(upstream), input);
};

const fromUpstream: ReadImages = async (response, context) => {
  const body = await readDocument(response, context.temp);
  const status = memberOf(body, "status");
  const operation = operationIdOf(memberOf(body, "request_id"), context);
  if (typeof status !== "string" || memberOf(body, "response_url") === undefined) {
    return done(body, context);
  }
  const { upstream } = context.target;
  const headers = authHeaders(upstream);
  const link = (name: string) =>
    isRouted(upstream)
      ? routedLink(memberOf(body, name), baseUrlOf(upstream), routedQueue)
      : operationLink(memberOf(body, name), baseUrlOf(upstream), domains);
  // A failed operation has the status completed too: its error is at the URL of its result.
  if (status === "COMPLETED") {
    const poll = pollRequest(link("response_url"), headers);
    return { kind: "pending", ...operation, poll, afterMs: 100 };
  }
  return {
    kind: "pending",
    ...operation,
    poll: pollRequest(link("status_url"), headers),
    ...(memberOf(body, "cancel_url") !== undefined && {
      cancel: { url: link("cancel_url"), headers, method: "PUT" },
    }),
  };
};

function done(response: unknown, context: ImageRequestContext): BufferedImageResponse {
  const images = memberOf(response, "images") ?? memberOf(response, "image");
  if (images === undefined) throw invalidResponse("it has neither `images` nor `image`");
  const list: readonly unknown[] = Array.isArray(images) ? images : [images];
  const nsfwFlags = listOf(memberOf(response, "has_nsfw_concepts"));
  // The safety checker blacks out flagged images.
  const isChecked = context.query.extraFields.enable_safety_checker !== false;
  if (isChecked && nsfwFlags.length > 0 && nsfwFlags.every((flag) => flag === true)) {
    throw toMappedError("moderated", undefined, context);
  }
  return {
    kind: "buffered",
    results: list.map((entry, at) => {
      const image = imageContentIn(memberOf(entry, "url") ?? entry);
      if (!image) throw invalidResponse("an entry of its images has no `url`");
      return {
        image,
        ...revised(memberOf(response, "revised_prompt"), context),
        ...(nsfwFlags[at] === true && { extraFields: { has_nsfw_concepts: true } }),
      };
    }),
    metadata: {},
    ...extraFieldsOf(response, ["seed", "timings", "description"]),
  };
}

const generations: ImageAdapter = {
  toUpstream: (query, target) => {
    const endpoint = falEndpoint(target.model, "generations");
    return buildRequest(target, endpoint, inputOf(query, endpoint));
  },
  fromUpstream,
};

const edits: ImageAdapter<EditQuery> = {
  toUpstream: (query, target) => {
    const endpoint = falEndpoint(target.model, "edits", query.images.length);
    return buildRequest(target, endpoint, {
      ...inputOf(query, endpoint),
      ...editSources(query, endpoint),
    });
  },
  fromUpstream,
};

/** fal.ai/docs/documentation/model-apis/errors: the error type of moderated requests. */
const isModerated = (body: unknown): boolean =>
  listOf(memberOf(body, "detail")).some(
    (entry) => memberOf(entry, "type") === "content_policy_violation",
  );

export const fal: Vendor = {
  kind: { name: "fal", baseUrl, needs: ["apiKey"], serves: "image", options: {} },
  adapter: {
    generations,
    edits,
    imageCapabilities: ({ model }, operation) => falImageCapabilities(model, operation),
    // An unknown operation: with a valid API key the error is about the operation, otherwise about the key.
    probe: (upstream) => ({
      url: `${baseUrlOf(upstream)}/fal-ai/flux/requests/00000000-0000-0000-0000-000000000000/status`,
      headers: authHeaders(upstream),
    }),
    readError: nativeErrorReader({
      classify: ({ status, message, body }) => {
        if (isModerated(body)) return "moderated";
        // fal-ai/fal#1147: 403 {"detail":"User is locked. Reason: Exhausted balance. Top up …"}.
        if (status === 403 && /exhausted balance|\btop.?up\b/i.test(message)) return "no credit";
        return status === 404 && "no such model";
      },
    }),
  },
};
