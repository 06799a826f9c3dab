/** Runway: image models of several vendors behind one endpoint. The response is a task, which is polled. */
import type { GatewayError } from "../../../lib/gateway-error.ts";
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
import { asDataUrl, headersOf, imageJsonRequest, type WireHeaders } from "../wire/build-request.ts";
import { imageContentIn } from "../wire/image-list.ts";
import { codeIn, listIn, memberOf, textIn } from "../wire/members.ts";
import { type ErrorMeaning, nativeErrorReader, toMappedError } from "../wire/native-errors.ts";
import { operationIdOf, pollRequest, stillPending } from "../wire/operations.ts";
import { runwayModel } from "./models.ts";

// runwayml 5.24.0, _client.py: the address, and the version of the API.
const baseUrl = "https://api.dev.runwayml.com";
const apiVersion = "2024-11-06";

const baseUrlOf = ({ baseUrl: configured = baseUrl }: Upstream): string =>
  configured.replace(/\/v1$/, "");

const authHeaders = (upstream: Upstream): WireHeaders =>
  headersOf(upstream, (key) => ({
    authorization: `Bearer ${key}`,
    "x-runway-version": apiVersion,
  }));

/** A data URL may have five megabytes, of which base64 leaves three quarters. */
const maxBytes = 3_900_000;

function imageCapabilities({ model }: Target): ImageCapabilities {
  const { takes = {}, count = 1, references, editSizes, editsOnly, maxPrompt } = runwayModel(model);
  return {
    maxImages: count,
    takes,
    // Each model has a list of its own, of up to 56 sizes: a size that it lacks is refused with that list.
    sizes: "any",
    ...(maxPrompt && { maxPrompt }),
    ...(editsOnly && { editsOnly }),
    ...(references && {
      edits: { maxImages: references, maxBytes, ...(editSizes && { matchFirstImage: editSizes }) },
    }),
  };
}

function body({ options, prompt, extraFields }: GenerationQuery, { model }: Target): ExtraFields {
  const { n, size = "auto", quality, background, output_format } = options;
  const { ratio, count } = runwayModel(model);
  return {
    ratio: size === "auto" ? ratio : size.replace("x", ":"),
    ...extraFields,
    model,
    promptText: prompt,
    outputCount: count === undefined ? undefined : n,
    quality,
    background,
    outputFormat: output_format,
  };
}

const buildRequest = ({ upstream }: Target, fields: ExtraFields): UpstreamRequest =>
  imageJsonRequest(`${baseUrlOf(upstream)}/v1/text_to_image`, authHeaders(upstream), fields);

/** One credit is one cent: docs.dev.runwayml.com/guides/pricing. */
function costIn(task: unknown, name: string): { readonly cost?: number } {
  const credits = memberOf(memberOf(task, name), "credits");
  return typeof credits === "number" && credits >= 0 ? { cost: credits / 100 } : {};
}

const fromUpstream: ReadImages = async (response, context) => {
  const task = await response.json();
  const operation = operationIdOf(memberOf(task, "id"), context);
  switch (memberOf(task, "status")) {
    case undefined:
      return { ...acceptedTask(task, context.target), ...operation };
    case "PENDING":
    case "THROTTLED":
    case "RUNNING":
      return { ...stillPending, ...operation };
    case "SUCCEEDED":
      return done(task);
    default:
      throw failed(task, context);
  }
};

function acceptedTask(task: unknown, { upstream }: Target): PendingOperation {
  const id = memberOf(task, "id");
  if (typeof id !== "string") throw invalidResponse("it has no `id`");
  const url = `${baseUrlOf(upstream)}/v1/tasks/${encodeURIComponent(id)}`;
  const headers = authHeaders(upstream);
  return {
    kind: "pending",
    poll: pollRequest(url, headers),
    cancel: { url, headers, method: "DELETE" },
    ...costIn(task, "estimatedCost"),
  };
}

const done = (task: unknown): BufferedImageResponse => ({
  kind: "buffered",
  results: listIn(task, "output").map((url) => {
    const image = imageContentIn(url);
    if (!image) throw invalidResponse("an entry of its output is no URL");
    return { image };
  }),
  metadata: {},
  ...costIn(task, "cost"),
});

/**
 * docs.dev.runwayml.com/errors/task-failures: `SAFETY.INPUT.TEXT`, `INPUT_PREPROCESSING.SAFETY.TEXT`, `ASSET.INVALID`.
 */
function failed(task: unknown, context: ImageRequestContext): GatewayError {
  const code = codeIn(task, "failureCode");
  const rejected = code.startsWith("ASSET.") && "rejected";
  const meaning: ErrorMeaning | false = /\bSAFETY\b/.test(code) ? "moderated" : rejected;
  return toMappedError(meaning || undefined, textIn(task, "failure"), context);
}

const generations: ImageAdapter = {
  toUpstream: (query, target) => buildRequest(target, body(query, target)),
  fromUpstream,
};

const edits: ImageAdapter<EditQuery> = {
  toUpstream: (query, target) =>
    buildRequest(target, {
      ...runwayModel(target.model).editFields,
      ...body(query, target),
      referenceImages: query.images.map((image) => ({ uri: asDataUrl(image) })),
    }),
  fromUpstream,
};

export const runway: Vendor = {
  kind: { name: "runway", baseUrl, needs: ["apiKey"], serves: "image", options: {} },
  adapter: {
    generations,
    edits,
    imageCapabilities,
    probe: (upstream) => ({
      url: `${baseUrlOf(upstream)}/v1/organization`,
      headers: authHeaders(upstream),
    }),
    readError: nativeErrorReader({
      classify: ({ status, message }) => {
        if (status === 400 && /\bnot\b.*\benough credits\b/i.test(message)) return "no credit";
        return status === 400 && /\bmodel variant\b|"model"/i.test(message) && "no such model";
      },
    }),
  },
};
