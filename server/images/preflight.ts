/**
 * Preflight check of image requests, before any upstream request: refuses parameters that no target supports and, for
 * an edit, images that cannot be decoded completely, or a mask or markup that does not fit. An edit with a mask is
 * inpainting.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import { outOfRange } from "../lib/out-of-range.ts";
import { quotedList } from "../lib/quoted-list.ts";
import { runConcurrently } from "../lib/tasks.ts";
import { isDataUrl } from "../lib/url-scheme.ts";
import type { Stage, StageRequest } from "../request/stage.ts";
import type { RequestTemp } from "../temp-storage/request-temp.ts";
import type {
  EditQuery,
  FilePart,
  GenerationQuery,
  ImageResponse,
  ImageSource,
  Target,
} from "../upstream/contract.ts";
import { imagesField } from "../upstream/edit-sources.ts";
import type { ImageCapabilities } from "../upstream/image-capabilities.ts";
import type { ImageWorker } from "../workers/image/image-worker.ts";
import type { ImageInspection } from "../workers/image/messages.ts";
import { isFile, sizeOf, type WorkerInput } from "../workers/image/worker-input.ts";
import { decodeDataUrl } from "./inline-image.ts";

export interface EditRules {
  readonly imageWorker: Pick<ImageWorker, "inspect">;
  /** Temp storage for large images from data: URLs. */
  readonly temp: RequestTemp;
  /** Media types that the model accepts besides png, jpeg and webp, such as image/gif. */
  readonly reads?: readonly string[];
  /** Maximum size of one image. */
  readonly maxBytes?: number;
  /** The API key that the decoding time is charged to. */
  readonly key?: string | undefined;
}

/** OpenAI's limit of input images. */
const maxImages = 16;
const defaultTypes = ["image/jpeg", "image/png", "image/webp"];
/**
 * OpenAI's limit for an image. Its docs say 4 MB for a mask, which was the limit of dall-e-2; a mask for a larger
 * image may exceed that, and an upstream with a lower limit states it in its capabilities.
 */
const defaultMaxBytes = 50 * 1024 * 1024;
/** Concurrent inspections of one request: sixteen images of one client must not occupy all workers. */
const maxParallel = 2;

/**
 * Returns the same query, with files in place of data: URLs. Other URLs and file ids stay as they are: the code that
 * downloads one calls `checkImage`, and `checkMask` for a mask or `checkMarkup` for markup.
 */
export async function checkEdit(
  query: EditQuery,
  rules: EditRules,
  signal: AbortSignal,
): Promise<EditQuery> {
  if (query.images.length > maxImages) throw tooManyImages(query.images);
  if (query.mask && query.markup) throw markupWithMask();
  const local = await withFiles(query, rules.temp);
  const inspections = new Map<FilePart, ImageInspection>();
  const inspect = async ({ file, field, types }: InspectionTask): Promise<void> => {
    inspections.set(file, await checkImage(file, field, { ...rules, types }, signal));
  };
  // Settles only when no inspection is running: a file is never closed while it is read.
  await runConcurrently(inspectionTasks(local, rules).toReversed(), maxParallel, inspect);
  const [first] = local.images;
  const image = first && inspectionOf(first, inspections);
  const mask = local.mask && inspectionOf(local.mask, inspections);
  if (mask && local.mask) checkMask(mask, image, fieldName(local.mask, "mask"));
  const markup = local.markup && inspectionOf(local.markup, inspections);
  if (markup && local.markup) checkMarkup(markup, image, fieldName(local.markup, "markup"));
  return local;
}

interface ImageRules extends Pick<EditRules, "imageWorker" | "maxBytes" | "key"> {
  /** Accepted media types. The default is png, jpeg and webp. */
  readonly types?: readonly string[];
}

/** Checks one image of the client, wherever it came from. `field`: the client's name of the parameter. */
export async function checkImage(
  image: WorkerInput,
  field: string,
  { imageWorker, maxBytes = defaultMaxBytes, types = defaultTypes, key }: ImageRules,
  signal: AbortSignal,
): Promise<ImageInspection> {
  const size = sizeOf(image);
  if (size === 0) {
    throw new GatewayError("invalid_image_file", `Invalid file '${field}': it is empty.`, {
      param: field,
    });
  }
  if (size > maxBytes) {
    throw new GatewayError(
      "request_too_large",
      `The file '${field}' is larger than the ${maxBytes} bytes that are allowed.`,
      { param: field },
    );
  }
  // The type of an upload is known from its first bytes: a file that is not an image is not sent to the worker.
  if (isFile(image)) checkType(image.type, field, types);
  const inspection = await imageWorker.inspect(image, signal, field, key);
  checkType(inspection.type, field, types);
  return inspection;
}

/** Checks a mask. `image`: undefined if the image is not downloaded yet, so its size is unknown. */
export function checkMask(
  mask: ImageInspection,
  image: ImageInspection | undefined,
  field: string,
): void {
  checkType(mask.type, field, ["image/png"]);
  if (!mask.alpha) {
    throw invalidValue(
      field,
      "the mask has no alpha channel. Its fully transparent areas say what may change",
    );
  }
  // Compared as shown: the EXIF orientation is applied.
  if (image && (mask.width !== image.width || mask.height !== image.height)) {
    throw invalidValue(
      field,
      `the mask is ${mask.width}x${mask.height} and the image ${image.width}x${image.height}. Both must have the same width and height`,
    );
  }
  if (mask.opaque) {
    throw invalidValue(
      field,
      "the mask is opaque everywhere, so nothing may change. Make the area to change fully transparent",
    );
  }
}

/**
 * Checks markup. openai-python 3.51.0: it "must match that image's dimensions after orientation and contain transparent
 * pixels". `image`: undefined if the image is not downloaded yet.
 */
export function checkMarkup(
  markup: ImageInspection,
  image: ImageInspection | undefined,
  field: string,
): void {
  checkType(markup.type, field, ["image/png"]);
  if (image && (markup.width !== image.width || markup.height !== image.height)) {
    throw invalidValue(
      field,
      `the markup is ${markup.width}x${markup.height} and the first image ${image.width}x${image.height}. Both must have the same width and height`,
    );
  }
  if (markup.opaque) {
    throw invalidValue(
      field,
      "the markup has no transparent pixels, so it hides the first image. Make everything but the drawings transparent",
    );
  }
}

const markupWithMask = (): GatewayError =>
  invalidValue("markup", "it cannot be combined with 'mask'. Send one of the two");

function checkType(type: string, field: string, types: readonly string[]): void {
  if (types.includes(type)) return;
  throw new GatewayError(
    "unsupported_file_mimetype",
    `Invalid file '${field}': unsupported mimetype ('${type}'). ${listSupportedTypes(types)}`,
    { param: field },
  );
}

/** OpenAI's wording, for three types. */
function listSupportedTypes(types: readonly string[]): string {
  if (types.length < 2) return `The supported file format is ${quotedList(types)}.`;
  return `Supported file formats are ${quotedList(types)}.`;
}

async function withFiles(query: EditQuery, temp: RequestTemp): Promise<EditQuery> {
  const fileFor = async (source: ImageSource, role: string): Promise<ImageSource> =>
    source.kind === "url" && isDataUrl(source.url)
      ? { kind: "file", file: await decodeDataUrl(source.url, `${role}.image_url`, temp) }
      : source;
  const images: ImageSource[] = [];
  // Sequential: each may be large while it is decoded.
  for (const [at, source] of query.images.entries()) {
    images.push(await fileFor(source, `images[${at}]`));
  }
  const mask = query.mask && (await fileFor(query.mask, "mask"));
  const markup = query.markup && (await fileFor(query.markup, "markup"));
  return { ...query, images, ...(mask && { mask }), ...(markup && { markup }) };
}

interface InspectionTask {
  readonly file: FilePart;
  readonly field: string;
  readonly types: readonly string[];
}

function inspectionTasks(
  { images, mask, markup, files }: EditQuery,
  { reads = [] }: EditRules,
): InspectionTask[] {
  const types = [...new Set([...defaultTypes, ...reads])];
  const name = imagesField({ images });
  const isList = images.length > 1;
  const tasks: InspectionTask[] = images.flatMap((source, at) =>
    source.kind === "file"
      ? [
          {
            file: source.file,
            field: fieldName(source, isList ? `${name}[${at}]` : name),
            types,
          },
        ]
      : [],
  );
  if (mask?.kind === "file") {
    tasks.push({ file: mask.file, field: fieldName(mask, "mask"), types: ["image/png"] });
  }
  if (markup?.kind === "file") {
    tasks.push({ file: markup.file, field: fieldName(markup, "markup"), types: ["image/png"] });
  }
  return [...tasks, ...files.map((file) => ({ file, field: file.field, types }))];
}

/** The client's name of the parameter if it identifies the image: `image[3]`, `images[0].image_url`. */
function fieldName(source: ImageSource, fallback: string): string {
  const field = source.kind === "file" ? source.file.field : "";
  return /\[\d+\]|\.image_url$/.test(field) ? field : fallback;
}

const inspectionOf = (
  source: ImageSource,
  inspections: ReadonlyMap<FilePart, ImageInspection>,
): ImageInspection | undefined =>
  source.kind === "file" ? inspections.get(source.file) : undefined;

const invalidValue = (field: string, reason: string): GatewayError =>
  new GatewayError("invalid_value", `Invalid '${field}': ${reason}.`, { param: field });

function tooManyImages(images: readonly ImageSource[]): GatewayError {
  return outOfRange(imagesField({ images }), "array", { maximum: maxImages }, images);
}

/** Preflight stage: refuses a request for more images than the model may generate at once. */
export const limitImageCount =
  <Q extends GenerationQuery>(): Stage<Q, ImageResponse> =>
  (next) =>
  (request) => {
    checkImageCount(request.query, request.model);
    return next(request);
  };

export function checkImageCount(
  { options: { n } }: Pick<GenerationQuery, "options">,
  { maxImages }: { readonly maxImages: number },
): void {
  if (n === undefined || n <= maxImages) return;
  throw outOfRange("n", "integer", { maximum: maxImages }, n);
}

interface PreflightOptions {
  /** The reason why this target cannot serve the request. Undefined if it can. */
  readonly rejectionReason: (request: StageRequest<GenerationQuery>, target: Target) => unknown;
  readonly capabilitiesOf: (target: Target, operation: "edits") => ImageCapabilities;
  /** How uploads are inspected, to the last pixel. */
  readonly uploads: Pick<EditRules, "imageWorker" | "maxBytes">;
}

export const preflight =
  <Q extends GenerationQuery>({
    rejectionReason,
    capabilitiesOf,
    uploads,
  }: PreflightOptions): Stage<Q, ImageResponse> =>
  (next) =>
  async (request) => {
    requireCapableTarget(request.model.targets.map((target) => rejectionReason(request, target)));
    const { query, model, context, temp, signal } = request;
    if (!("images" in query)) return next(request);
    const reads = model.targets.flatMap(
      (target) => capabilitiesOf(target, "edits").edits?.reads ?? [],
    );
    const rules = { ...uploads, temp, reads, key: context.caller?.id ?? "" };
    const checked = await checkEdit(query as GenerationQuery as EditQuery, rules, signal());
    return next({ ...request, query: { ...query, ...checked } });
  };

/**
 * `reasons`: why each target cannot serve the request. The first is reported: its target is the operator's preferred
 * one.
 */
export function requireCapableTarget(reasons: readonly unknown[]): void {
  if (reasons.length > 0 && reasons.every((reason) => reason !== undefined)) throw reasons[0];
}
