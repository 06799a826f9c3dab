/** Stability AI: every request is a form, every response the image itself; its metadata is in headers. */
import type {
  ImageAdapter,
  PendingOperation,
  ReadImages,
  UpstreamRequest,
  Vendor,
} from "../../adapter.ts";
import type { EditQuery, ExtraFields, GenerationQuery, Target, Upstream } from "../../contract.ts";
import { invalidResponse } from "../../invalid-response.ts";
import { isFiltered, isImageResponse, readBinaryImage } from "../wire/binary-image.ts";
import {
  bearer,
  bearerRequest,
  fieldParts,
  filesOf,
  imageFormRequest,
  type Part,
} from "../wire/build-request.ts";
import { readDocument } from "../wire/document.ts";
import { imageContentIn } from "../wire/image-list.ts";
import { extraFieldsOf, memberOf } from "../wire/members.ts";
import { nativeErrorReader, toMappedError } from "../wire/native-errors.ts";
import { operationIdOf, pollRequest } from "../wire/operations.ts";
import {
  editService,
  generationService,
  type Service,
  stabilityImageCapabilities,
} from "./endpoints.ts";

const baseUrl = "https://api.stability.ai";

/** A configured base URL may include the API version. */
const baseUrlOf = ({ baseUrl: configured = baseUrl }: Upstream): string =>
  configured.replace(/\/v2beta$/, "");

// The reference, "stability-client-user-id": at most 256 characters. Not every character is allowed in a header.
const clientHeaders = ({ options }: GenerationQuery): Record<string, string> =>
  options.user === undefined
    ? {}
    : { "stability-client-user-id": encodeURIComponent(options.user).slice(0, 256) };

function buildRequest(
  query: GenerationQuery,
  { upstream }: Target,
  service: Service,
  files: readonly Part[] = [],
): UpstreamRequest {
  const { extraFields, prompt, aspectRatio: aspect, options } = query;
  const { defaultFields, model, path } = service;
  const fields: ExtraFields = {
    ...defaultFields,
    ...extraFields,
    ...(service.prompt !== undefined && { [service.prompt]: prompt }),
    model,
    ...(aspect !== undefined && { aspect_ratio: aspect }),
    output_format: options.output_format,
  };
  const headers = { ...bearer(upstream), ...clientHeaders(query), accept: "image/*" };
  const url = `${baseUrlOf(upstream)}/v2beta/stable-image/${path}`;
  return imageFormRequest(url, headers, [...fieldParts(fields), ...files]);
}

/** The reference, "Fetch async generation result": not more often than this. */
const pollIntervalMs = 10_000;

const fromUpstream: ReadImages = async (response, context) => {
  if (isImageResponse(response)) return readBinaryImage(response, context);
  const body = await readDocument(response, context.temp);
  const operation = memberOf(body, "id");
  if (typeof operation === "string") {
    return { ...pending(operation, context.target), ...operationIdOf(operation, context) };
  }
  if (isFiltered(memberOf(body, "finish_reason")))
    throw toMappedError("moderated", undefined, context);
  const image = imageContentIn(memberOf(body, "image"));
  if (!image) throw invalidResponse("it is not an image and contains none");
  return {
    kind: "buffered",
    results: [{ image, ...extraFieldsOf(body, ["seed"]) }],
    metadata: {},
  };
};

const generations: ImageAdapter = {
  toUpstream: (query, target) => buildRequest(query, target, generationService(target.model)),
  fromUpstream,
};

const edits: ImageAdapter<EditQuery> = {
  toUpstream: (query, target) => {
    const { images, mask } = query;
    const service = editService(target.model, mask !== undefined);
    const names = service.images ?? [];
    return buildRequest(query, target, service, [
      ...filesOf(images).map((file, at): Part => ({ name: names[at] ?? "image", file })),
      ...filesOf(mask ? [mask] : []).map((file): Part => ({ name: "mask", file })),
    ]);
  },
  fromUpstream,
};

/** An operation that was accepted, or (202) is still running: both responses contain its id. */
const pending = (operation: string, { upstream }: Target): PendingOperation => ({
  kind: "pending",
  poll: pollRequest(`${baseUrlOf(upstream)}/v2beta/results/${encodeURIComponent(operation)}`, {
    ...bearer(upstream),
    accept: "image/*",
  }),
  afterMs: pollIntervalMs,
});

/** kb.stability.ai, API key rate limits: exceeding the limit locks a key out for a minute. No header reports it. */
const lockoutMs = 60_000;

const readError = nativeErrorReader({
  /** `{id, name, errors: ["…"]}`. */
  classify: ({ status, message, body }) => {
    const name = memberOf(body, "name");
    if (name === "content_moderation") return "moderated";
    if (status === 402 || name === "payment_required") return "no credit";
    return (status === 404 || /^model\b/.test(message)) && "no such model";
  },
  retryAfterMs: ({ status }) => (status === 429 ? lockoutMs : undefined),
});

export const stability: Vendor = {
  kind: { name: "stability", baseUrl, needs: ["apiKey"], serves: "image", options: {} },
  adapter: {
    generations,
    edits,
    imageCapabilities: ({ model }, operation) => stabilityImageCapabilities(model, operation),
    probe: (upstream) => bearerRequest(`${baseUrlOf(upstream)}/v1/user/balance`, upstream),
    readError,
  },
};
