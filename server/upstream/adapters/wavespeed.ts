/**
 * WaveSpeed: the model is in the URL, the response is a prediction, which is polled. Also behind Hugging Face's router.
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
  Target,
  Upstream,
} from "../contract.ts";
import { anyEdges, type ImageCapabilities } from "../image-capabilities.ts";
import { invalidResponse } from "../invalid-response.ts";
import { asDataUrl, bearer, imageJsonRequest, modelPath } from "./wire/build-request.ts";
import { readDocument } from "./wire/document.ts";
import { edgesOf } from "./wire/edges.ts";
import { imageContentIn } from "./wire/image-list.ts";
import { listOf, memberOf, textIn } from "./wire/members.ts";
import { nativeErrorReader, toMappedError } from "./wire/native-errors.ts";
import {
  isRouted,
  operationIdOf,
  operationLink,
  pollRequest,
  routedLink,
  stillPending,
} from "./wire/operations.ts";

const baseUrl = "https://api.wavespeed.ai/api/v3";
const domains = ["wavespeed.ai"];

const baseUrlOf = ({ baseUrl: configured = baseUrl }: Upstream): string => configured;

// wavespeed.ai/docs/docs-api/flux-dev-ultra-fast and wavespeed.ai/models/wavespeed-ai/flux-srpo/llms.txt, read on
// 2026-11-18: `size` as width*height, `output_format`. An edit takes `image` (huggingface_hub 2.4.0, _providers).
const imageCapabilities: ImageCapabilities = {
  maxImages: 1,
  takes: { output_format: ["jpeg", "png", "webp"] },
  sizes: anyEdges,
  edits: { maxImages: 1 },
};

function body(query: GenerationQuery): ExtraFields {
  const edges = edgesOf(query);
  return {
    ...query.extraFields,
    prompt: query.prompt,
    ...(edges && { size: `${edges.width}*${edges.height}` }),
    output_format: query.options.output_format,
  };
}

const buildRequest = ({ upstream, model }: Target, fields: ExtraFields): UpstreamRequest =>
  imageJsonRequest(`${baseUrlOf(upstream)}/${modelPath(model)}`, bearer(upstream), fields);

const fromUpstream: ReadImages = async (response, context) => {
  const data = memberOf(await readDocument(response, context.temp), "data");
  const operation = operationIdOf(memberOf(data, "id"), context);
  switch (memberOf(data, "status")) {
    case "completed":
      return done(data);
    case "failed":
      throw failed(data, context);
    case "created":
    case "processing":
      return {
        ...(context.operationId === undefined ? accepted(data, context) : stillPending),
        ...operation,
      };
    default:
      throw invalidResponse("it is not a prediction");
  }
};

function accepted(data: unknown, { target: { upstream } }: ImageRequestContext): PendingOperation {
  const link = memberOf(memberOf(data, "urls"), "get");
  const url = isRouted(upstream)
    ? routedLink(link, baseUrlOf(upstream))
    : operationLink(link, baseUrlOf(upstream), domains);
  return { kind: "pending", poll: pollRequest(url, bearer(upstream)) };
}

const done = (data: unknown): BufferedImageResponse => ({
  kind: "buffered",
  results: listOf(memberOf(data, "outputs")).map((output) => {
    const image = imageContentIn(output);
    if (!image) throw invalidResponse("an entry of its outputs is no image");
    return { image };
  }),
  metadata: {},
});

function failed(data: unknown, context: ImageRequestContext) {
  const message = textIn(data, "error");
  const flagged = /\bnsfw\b|content (policy|moderation)|flagged/i.test(message ?? "");
  return toMappedError(flagged ? "moderated" : undefined, message, context);
}

const generations: ImageAdapter = {
  toUpstream: (query, target) => buildRequest(target, body(query)),
  fromUpstream,
};

const edits: ImageAdapter<EditQuery> = {
  toUpstream: (query, target) => {
    const [image] = query.images.map(asDataUrl);
    return buildRequest(target, { ...body(query), image });
  },
  fromUpstream,
};

export const wavespeed: Vendor = {
  kind: { name: "wavespeed", baseUrl, needs: ["apiKey"], serves: "image", options: {} },
  adapter: {
    generations,
    edits,
    imageCapabilities: () => imageCapabilities,
    probe: (upstream) => ({
      url: `${baseUrlOf(upstream)}/balance`,
      headers: bearer(upstream),
    }),
    // A model is a path, so an unknown model is a plain 404.
    readError: nativeErrorReader({ classify: ({ status }) => status === 404 && "no such model" }),
  },
};
