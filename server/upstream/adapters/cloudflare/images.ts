/** Images of Workers AI. Its models take three formats: JSON, JSON with a mask as an array of numbers, and forms. */
import type { GatewayError } from "../../../lib/gateway-error.ts";
import type {
  ImageAdapter,
  ImageRequestContext,
  ReadImages,
  UpstreamRequest,
} from "../../adapter.ts";
import type {
  EditQuery,
  ExtraFields,
  FilePart,
  GenerationQuery,
  Target,
  Upstream,
} from "../../contract.ts";
import { anyEdges, type ImageCapabilities } from "../../image-capabilities.ts";
import { invalidResponse } from "../../invalid-response.ts";
import { readSingleImage } from "../wire/binary-image.ts";
import {
  bearer,
  FileContent,
  fieldParts,
  filesOf,
  imageFormRequest,
  imageJsonRequest,
  modelPath,
  onlyFile,
  type Part,
} from "../wire/build-request.ts";
import { edgesOf } from "../wire/edges.ts";
import { messageIn } from "../wire/error-body.ts";
import { imageContentIn } from "../wire/image-list.ts";
import { memberOf } from "../wire/members.ts";
import { toMappedError } from "../wire/native-errors.ts";
import { flaggedIn } from "./errors.ts";
import { withMask } from "./mask.ts";

export const cloudflareBaseUrl = "https://api.cloudflare.com/client/v4";

/** The account and the model are in the path. */
export const aiOf = ({ baseUrl = cloudflareBaseUrl, options }: Upstream): string =>
  `${baseUrl}/accounts/${encodeURIComponent(String(options.accountId))}/ai`;

export const runOf = ({ upstream, model }: Target): string =>
  `${aiOf(upstream)}/run/${modelPath(model)}`;

const edgesBetween = (minEdge: number, maxEdge: number): Pick<ImageCapabilities, "sizes"> => ({
  sizes: { rule: { multipleOf: 1, minEdge, maxEdge } },
});

/** One image per request, and none of OpenAI's options. */
const plain = { maxImages: 1, takes: {} } as const;

/** cloudflare-docs, src/content/workers-ai-models/<model>.json. The first match applies. */
const families: readonly (readonly [RegExp, ImageCapabilities])[] = [
  // This model takes a prompt and a number of steps, and always generates this size.
  [/flux-1-schnell/, { ...plain, sizes: { list: ["1024x1024"] }, maxPrompt: 2048 }],
  // changelog/2025-11-25-flux-2-dev-workers-ai: "up to 4 image inputs", edges from 256 to 1920.
  [
    /flux-2/,
    {
      ...plain,
      ...edgesBetween(256, 1920),
      edits: {
        maxImages: 4,
        // The same changelog: 1024x768 by default. Multiples that every model of this family supports.
        matchFirstImage: { multipleOf: 16, minEdge: 256, maxEdge: 1920, maxPixels: 1024 * 1536 },
      },
    },
  ],
  [/inpainting/, { ...plain, ...edgesBetween(256, 2048), edits: { maxImages: 1, mask: "white" } }],
  [
    /stable-diffusion|dreamshaper/,
    { ...plain, ...edgesBetween(256, 2048), edits: { maxImages: 1 } },
  ],
  [/lucid-origin/, { ...plain, ...edgesBetween(1, 2500) }],
  [/phoenix/, { ...plain, ...edgesBetween(1, 2048) }],
];

/** The fields that most models support. */
const unknown: ImageCapabilities = { ...plain, sizes: anyEdges, edits: { maxImages: 1 } };

export const cloudflareImageCapabilities = ({ model }: Target): ImageCapabilities =>
  families.find(([name]) => name.test(model))?.[1] ?? unknown;

/** The changelog named above: it "takes multipart form data inputs, even if you just have a prompt". */
const takesForms = ({ model }: Target): boolean => /flux-2/.test(model);

/** flux-1-schnell has one size and no field for the size. */
const sizeOf = (query: GenerationQuery, { model }: Target) =>
  /flux-1-schnell/.test(model) ? undefined : edgesOf(query);

const fieldsOf = (query: GenerationQuery, target: Target): ExtraFields => ({
  ...query.extraFields,
  prompt: query.prompt,
  ...sizeOf(query, target),
});

const formRequest = (
  target: Target,
  fields: ExtraFields,
  files: readonly FilePart[] = [],
): UpstreamRequest =>
  imageFormRequest(runOf(target), bearer(target.upstream), [
    ...fieldParts(fields),
    ...files.map((file, at): Part => ({ name: `input_image_${at}`, file })),
  ]);

/** Stable Diffusion and Phoenix send the image's bytes, the others base64 in JSON. */
const read: ReadImages = (response, context) =>
  readSingleImage(response, context, (body) => {
    if (memberOf(body, "success") === false) throw failed(body, context);
    const image = imageContentIn(memberOf(memberOf(body, "result"), "image"));
    if (image) return image;
    throw invalidResponse("it has no image");
  });

export const cloudflareGenerations: ImageAdapter = {
  toUpstream: (query, target) =>
    takesForms(target)
      ? formRequest(target, fieldsOf(query, target))
      : imageJsonRequest(runOf(target), bearer(target.upstream), fieldsOf(query, target)),
  fromUpstream: read,
};

export const cloudflareEdits: ImageAdapter<EditQuery> = {
  toUpstream: (query, target) => {
    const fields = fieldsOf(query, target);
    if (takesForms(target)) return formRequest(target, fields, filesOf(query.images));
    const body = { ...fields, image_b64: new FileContent(onlyFile(query.images)) };
    const request = imageJsonRequest(runOf(target), bearer(target.upstream), body);
    return query.mask ? { ...request, body: withMask(body, onlyFile([query.mask])) } : request;
  },
  fromUpstream: read,
};

/** Refusals of the safety system have been seen with status 200, too. */
function failed(response: unknown, context: ImageRequestContext): GatewayError {
  const flagged = flaggedIn(messageIn(response) ?? "");
  return flagged === undefined
    ? invalidResponse("it reports that it failed")
    : toMappedError("moderated", flagged, context);
}
