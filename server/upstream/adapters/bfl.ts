/**
 * Black Forest Labs: the model is in the URL, the response is an operation, and the image is a link that expires after
 * ten minutes.
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
import type { ImageCapabilities, Sizes } from "../image-capabilities.ts";
import { invalidResponse } from "../invalid-response.ts";
import { asBase64, headersOf, imageJsonRequest, modelPath } from "./wire/build-request.ts";
import { edgesOf } from "./wire/edges.ts";
import { imageContentIn, revised } from "./wire/image-list.ts";
import { codeIn, extraFieldsOf, listOf, memberOf, textIn } from "./wire/members.ts";
import { nativeErrorReader, toMappedError, waitInBody } from "./wire/native-errors.ts";
import { operationIdOf, operationLink, pollRequest, stillPending } from "./wire/operations.ts";

const baseUrl = "https://api.bfl.ai/v1";
// docs.bfl.ml/api_integration: an operation is polled at its `polling_url`, which names a region such as
// api.eu2.bfl.ai.
const domains = ["bfl.ai", "bfl.ml"];

const baseUrlOf = ({ baseUrl: configured = baseUrl }: Upstream): string => configured;

const authHeaders = (upstream: Upstream) => headersOf(upstream, (key) => ({ "x-key": key }));

interface Family {
  readonly sizes: Sizes;
  /** The field of the first image; the others append _2, _3 … */
  readonly source?: "input_image" | "image";
  /** Maximum input images of an edit. */
  readonly sources?: number;
  readonly mask?: "white";
  readonly editsOnly?: true;
}

// help.bfl.ai, "FLUX.2 Technical Specifications": multiples of 16, from 64 x 64 to 4 megapixels. The longest edge is
// not documented.
const flux2: Family = {
  sizes: { rule: { multipleOf: 16, minEdge: 64, maxEdge: 4096, maxPixels: 2048 * 2048 } },
  source: "input_image",
  // The vendor's pages document 8 through the API; @ai-sdk/black-forest-labs 1.0.33 sends up to `input_image_10`. A
  // request with nine or ten images is sent, and the vendor decides.
  sources: 10,
};
// docs.bfl.ml, FLUX 1.1 [pro] ultra and Kontext: any aspect ratio from 21:9 to 9:21; these are the common ones.
const aspectRatios: Sizes = {
  ratios: ["21:9", "16:9", "3:2", "4:3", "5:4", "1:1", "4:5", "3:4", "2:3", "9:16", "9:21"],
};

// Sources: the OpenAPI pages of docs.bfl.ml, and types/inputs of github.com/black-forest-labs/blackforest.
const families: readonly (readonly [RegExp, Family])[] = [
  [/^flux-2-klein/, { ...flux2, sources: 4 }],
  [/^flux-2/, flux2],
  [/kontext/, { sizes: aspectRatios, source: "input_image", sources: 4 }],
  // The output has the size of the input image; white mask pixels are filled.
  [/-fill/, { sizes: { list: [] }, source: "image", mask: "white", editsOnly: true }],
  [/-expand/, { sizes: { list: [] }, source: "image", editsOnly: true }],
  [/-ultra/, { sizes: aspectRatios }],
  [/^flux-(pro|dev)/, { sizes: { rule: { multipleOf: 32, minEdge: 256, maxEdge: 1440 } } }],
];

/** An unknown model is treated as one of the newest family. */
const familyOf = (model: string): Family =>
  families.find(([name]) => name.test(model))?.[1] ?? flux2;

function imageCapabilities({ model }: Target): ImageCapabilities {
  const { sizes, source, sources = 1, mask, editsOnly } = familyOf(model);
  return {
    maxImages: 1,
    takes: { output_format: ["jpeg", "png"] },
    sizes,
    ...(editsOnly && { editsOnly }),
    // GenericImageValidation of the vendor's own client: 20 MB in base64.
    ...(source && {
      edits: { maxImages: sources, ...(mask && { mask }), maxBytes: 15 * 1024 * 1024 },
    }),
  };
}

const body = (query: GenerationQuery): ExtraFields => ({
  ...query.extraFields,
  prompt: query.prompt,
  ...edgesOf(query),
  aspect_ratio: query.aspectRatio,
  output_format: query.options.output_format,
});

function editSources({ images, mask }: EditQuery, { model }: Target): ExtraFields {
  const { source = "input_image" } = familyOf(model);
  const fields = images.map((image, at): [string, unknown] => [
    at === 0 ? source : `${source}_${at + 1}`,
    asBase64(image),
  ]);
  return { ...Object.fromEntries(fields), ...(mask && { mask: asBase64(mask) }) };
}

const buildRequest = ({ upstream, model }: Target, fields: ExtraFields): UpstreamRequest =>
  imageJsonRequest(`${baseUrlOf(upstream)}/${modelPath(model)}`, authHeaders(upstream), fields);

const fromUpstream: ReadImages = async (response, context) => {
  const body = await response.json();
  const status = memberOf(body, "status");
  const operation = operationIdOf(memberOf(body, "id"), context);
  if (status === undefined) return { ...acceptedOperation(body, context.target), ...operation };
  if (status === "Ready") return readResult(memberOf(body, "result"), context);
  if (status === "Request Moderated" || status === "Content Moderated") {
    throw toMappedError("moderated", reasonsIn(body, status), context);
  }
  if (status === "Task not found")
    throw toMappedError(undefined, "it does not know the task", context);
  if (status === "Error" || status === "Failed") throw failed(body, context);
  return stillPending;
};

function acceptedOperation(response: unknown, { upstream }: Target): PendingOperation {
  const [id, link, cost] = ["id", "polling_url", "cost"].map((name) => memberOf(response, name));
  if (typeof id !== "string") throw invalidResponse("it has no `id`");
  const url = link ?? `${baseUrlOf(upstream)}/get_result?id=${encodeURIComponent(id)}`;
  return {
    kind: "pending",
    poll: pollRequest(operationLink(url, baseUrlOf(upstream), domains), authHeaders(upstream)),
    // In credits of one cent each: github.com/black-forest-labs/skills, bfl-api.
    ...(typeof cost === "number" && { cost: cost / 100 }),
  };
}

function readResult(result: unknown, context: ImageRequestContext): BufferedImageResponse {
  const image = imageContentIn(memberOf(result, "sample"));
  if (!image) throw invalidResponse("its status is ready, but it has no `sample`");
  const fields = {
    ...revised(memberOf(result, "prompt"), context),
    ...extraFieldsOf(result, ["seed"]),
  };
  return { kind: "buffered", results: [{ image, ...fields }], metadata: {} };
}

/** docs.bfl.ml/api_integration/errors: `{details: {"Moderation Reasons": ["…"]}}`. */
function reasonsIn(response: unknown, status: string): string {
  const reasons = listOf(memberOf(memberOf(response, "details"), "Moderation Reasons"));
  const list = reasons.length > 0 ? `: ${reasons.join(", ")}` : "";
  return `The upstream's safety system refused the request (${status}${list}).`;
}

function failed(response: unknown, context: ImageRequestContext) {
  const details = memberOf(response, "details");
  const message =
    textIn(response, "message") ??
    textIn(details, "error") ??
    textIn(details, "message") ??
    textIn(response, "details");
  const code = codeIn(response, "error");
  return toMappedError(
    /content_policy|moderat/i.test(code) ? "moderated" : undefined,
    message,
    context,
  );
}

const generations: ImageAdapter = {
  toUpstream: (query, target) => buildRequest(target, body(query)),
  fromUpstream,
};

const edits: ImageAdapter<EditQuery> = {
  toUpstream: (query, target) =>
    buildRequest(target, { ...body(query), ...editSources(query, target) }),
  fromUpstream,
};

export const bfl: Vendor = {
  kind: { name: "bfl", baseUrl, needs: ["apiKey"], serves: "image", options: {} },
  adapter: {
    generations,
    edits,
    imageCapabilities,
    probe: (upstream) => ({
      url: `${baseUrlOf(upstream)}/credits`,
      headers: authHeaders(upstream),
    }),
    readError: nativeErrorReader({
      classify: ({ status, message }) => {
        // gelasdev/ComfyUI-FLUX-BFL-API#16: 403 {"detail":"Not authenticated - Invalid Authentication"}.
        if (status === 403 && /authenticat/i.test(message)) return "wrong key";
        // A model is a path, so an unknown model is a plain 404.
        return status === 404 && "no such model";
      },
      retryAfterMs: waitInBody,
    }),
  },
};
