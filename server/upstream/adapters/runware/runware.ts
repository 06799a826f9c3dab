/** Runware: one endpoint that takes a list of tasks for any vendor's model and responds when they are done. */
import type {
  ImageAdapter,
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
  ImageResult,
  Target,
  Upstream,
} from "../../contract.ts";
import {
  anyEdges,
  type EditCapabilities,
  type ImageCapabilities,
} from "../../image-capabilities.ts";
import { invalidResponse } from "../../invalid-response.ts";
import { asDataUrl, bearer, bearerJsonRequest, imageJsonRequest } from "../wire/build-request.ts";
import { readDocument } from "../wire/document.ts";
import { edgesOf } from "../wire/edges.ts";
import { replayBody } from "../wire/error-body.ts";
import { imageContentIn } from "../wire/image-list.ts";
import { extraFieldsOf, listIn, listOf, memberOf } from "../wire/members.ts";
import { nativeErrorReader } from "../wire/native-errors.ts";
import { renameNegativePrompt } from "../wire/negative-prompt.ts";
import { operationIdOf } from "../wire/operations.ts";
import { meaningOf, statusOf } from "./codes.ts";
import { runwareModel } from "./models.ts";

const baseUrl = "https://api.runware.ai/v1";

const baseUrlOf = ({ baseUrl: configured = baseUrl }: Upstream): string => configured;

function editCapabilities(model: string): EditCapabilities {
  return runwareModel(model).input === "references"
    ? { maxImages: 8 }
    : { maxImages: 1, mask: "white" };
}

const imageCapabilities = ({ model }: Target): ImageCapabilities => ({
  // runware.ai/docs, image inference: numberResults from 1 to 20. The maximum of other vendors' models is not
  // documented.
  maxImages: runwareModel(model).input === "seed" ? 20 : 4,
  takes: { output_format: ["jpeg", "png", "webp"], response_format: ["url", "b64_json"] },
  sizes: runwareModel(model).unsized ? { list: [] } : anyEdges,
  edits: editCapabilities(model),
});

const formats: Readonly<Record<string, string>> = { jpeg: "JPG", png: "PNG", webp: "WEBP" };

function taskOf(query: GenerationQuery, { model }: Target): ExtraFields {
  const { n, output_format, response_format } = query.options;
  return {
    ...renameNegativePrompt(query.extraFields, "negativePrompt"),
    taskType: "imageInference",
    taskUUID: crypto.randomUUID(),
    model,
    ...(!runwareModel(model).promptless && { positivePrompt: query.prompt }),
    ...edgesOf(query),
    includeCost: true,
    numberResults: n,
    outputType: response_format === "url" ? "URL" : "base64Data",
    ...(output_format !== undefined && { outputFormat: formats[output_format] ?? output_format }),
  };
}

/** Most models require a size; this is the default. */
function defaultEdges(query: GenerationQuery, model: string): ExtraFields {
  const hasOwnSize = "width" in query.extraFields || "resolution" in query.extraFields;
  if (hasOwnSize || runwareModel(model).unsized || edgesOf(query)) return {};
  // Seedream from 4.5 on supports no size below 3.7 megapixels.
  const edge = /seedream@(4\.[5-9]|[5-9])/.test(model) ? 2048 : 1024;
  return { width: edge, height: edge };
}

function editSources(query: EditQuery, { model }: Target): ExtraFields {
  const urls = query.images.map(asDataUrl);
  const mask = query.mask && asDataUrl(query.mask);
  const { input } = runwareModel(model);
  // In these two cases, the size of the first image is the default.
  if (input === "references") return { inputs: { referenceImages: urls } };
  if (input === "image") return { inputs: { image: urls[0], ...(mask && { mask }) } };
  return { ...defaultEdges(query, model), seedImage: urls[0], ...(mask && { maskImage: mask }) };
}

const buildRequest = ({ upstream }: Target, task: ExtraFields): UpstreamRequest =>
  imageJsonRequest(baseUrlOf(upstream), bearer(upstream), [task]);

const fromUpstream: ReadImages = async (response, context) => {
  const body = await readDocument(response, context.temp);
  const errors = listOf(memberOf(body, "errors"));
  const entries = memberOf(body, "data") === undefined ? [] : listIn(body, "data");
  const [operation = {}] = entries.map((entry) =>
    operationIdOf(memberOf(entry, "taskUUID"), context),
  );
  const generated = entries.filter((entry) => imageIn(entry) !== undefined);
  // Some of several images may fail: the delivered ones are billed.
  if (generated.length > 0) return bufferedResponse(generated);
  if (errors.length > 0) {
    const { query, target } = context;
    const errorResponse = replayBody(response, body, statusOf(body));
    throw await readError(errorResponse, { target, model: query.model });
  }
  if (entries.length === 0) throw invalidResponse("it has neither images nor errors");
  return { ...pendingOperation(entries[0], context.target), ...operation };
};

const imageIn = (entry: unknown) =>
  imageContentIn(memberOf(entry, "imageBase64Data")) ??
  imageContentIn(memberOf(entry, "imageURL")) ??
  imageContentIn(memberOf(entry, "imageDataURI"));

/** A task that must be polled: `deliveryMethod: async`. */
function pendingOperation(entry: unknown, target: Target): PendingOperation {
  const taskUUID = memberOf(entry, "taskUUID");
  if (typeof taskUUID !== "string")
    throw invalidResponse("an entry has neither an image nor a task");
  const { isNonIdempotent: _, ...poll } = buildRequest(target, {
    taskType: "getResponse",
    taskUUID,
  });
  return { kind: "pending", poll };
}

function bufferedResponse(generated: readonly unknown[]): BufferedImageResponse {
  const costs = generated.map((entry) => memberOf(entry, "cost"));
  const known = costs.filter((cost) => typeof cost === "number");
  return {
    kind: "buffered",
    results: generated.map((entry): ImageResult => {
      const image = imageIn(entry);
      if (!image) throw invalidResponse("an entry has no image");
      return { image, ...extraFieldsOf(entry, extraFieldNames(entry)) };
    }),
    metadata: {},
    // The cost is known only if every image reports one.
    ...(known.length === costs.length && { cost: known.reduce((sum, cost) => sum + cost, 0) }),
  };
}

/** A flagged image is generated and billed nevertheless: a client that requested the check gets its result. */
const extraFieldNames = (entry: unknown): readonly string[] =>
  memberOf(entry, "NSFWContent") === false ? ["seed"] : ["seed", "NSFWContent"];

const readError = nativeErrorReader({ classify: ({ body }) => meaningOf(body) });

const generations: ImageAdapter = {
  toUpstream: (query, target) =>
    buildRequest(target, { ...taskOf(query, target), ...defaultEdges(query, target.model) }),
  fromUpstream,
};

const edits: ImageAdapter<EditQuery> = {
  toUpstream: (query, target) =>
    buildRequest(target, { ...taskOf(query, target), ...editSources(query, target) }),
  fromUpstream,
};

export const runware: Vendor = {
  kind: { name: "runware", baseUrl, needs: ["apiKey"], serves: "image", options: {} },
  adapter: {
    generations,
    edits,
    imageCapabilities,
    probe: (upstream) =>
      bearerJsonRequest(baseUrlOf(upstream), upstream, [
        {
          taskType: "accountManagement",
          taskUUID: crypto.randomUUID(),
          operation: "getDetails",
        },
      ]),
    readError,
  },
};
