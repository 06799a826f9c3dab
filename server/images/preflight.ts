/** Before an edit is asked of anyone: every picture is what it should be, to the last byte, and the mask fits. */
import { GatewayError } from "../lib/gateway-error.ts";
import type { Scratch } from "../lib/request-temp.ts";
import { workOff } from "../lib/run-concurrently.ts";
import type { Signal } from "../lib/signal.ts";
import type { EditQuery, FilePart, ImageSource } from "../upstream/contract.ts";
import type { ImageWorker, Seen, Source } from "../workers/image/image-worker.ts";
import { isFile, sizeOf } from "../workers/image/worker-input.ts";
import { decodeDataUrl, isDataUrl } from "./inline-image.ts";

export interface EditRules {
  readonly imageWorker: Pick<ImageWorker, "inspect">;
  /** Where large pictures go that came as data: URLs. */
  readonly scratch: Scratch;
  /** Kinds of file that the model reads besides png, jpeg and webp, such as image/gif. */
  readonly reads?: readonly string[];
  /** Of one picture. */
  readonly maxBytes?: number;
  /** The API key that the time of decoding is charged to. */
  readonly key?: string;
}

export interface CheckedEdit {
  /** The same query, with files in the place of data: URLs. */
  readonly query: EditQuery;
  /** One for each of its images. Undefined of what is not here: a link, a file id. */
  readonly images: readonly (Seen | undefined)[];
  readonly mask?: Seen;
}

/** As many as OpenAI takes. */
const maxImages = 16;
const defaultTypes = ["image/jpeg", "image/png", "image/webp"];
/**
 * OpenAI's limit for a picture. For a mask its documents say 4 MB, which was the limit of dall-e-2; a mask that is as
 * large as a picture of today may well have more, and an upstream that cannot take it says so in its traits.
 */
const defaultMaxBytes = 50 * 1024 * 1024;
/** At once, of one call: one caller's sixteen pictures shall not take every turn. */
const maxParallel = 2;

/** Links and file ids are left as they are: whoever fetches one calls `checkPicture`, and `checkMask` for a mask. */
export async function checkEdit(
  query: EditQuery,
  rules: EditRules,
  signal: Signal,
): Promise<CheckedEdit> {
  if (query.images.length > maxImages) throw tooManyImages(query.images);
  const here = await withFiles(query, rules.scratch);
  const seen = new Map<FilePart, Seen>();
  const look = async ({ file, field, types: kinds }: InspectionTask): Promise<void> => {
    seen.set(file, await checkImage(file, field, { ...rules, types: kinds }, signal));
  };
  // Settles only when no look is under way any more: a file is never closed while it is looked at.
  await workOff(inspectionTasks(here, rules).toReversed(), maxParallel, look);
  const images = here.images.map((source) => inspectionOf(source, seen));
  const mask = here.mask && inspectionOf(here.mask, seen);
  if (mask && here.mask) checkMask(mask, images[0], fieldName(here.mask, "mask"));
  return { query: here, images, ...(mask && { mask }) };
}

export interface ImageRules extends Pick<EditRules, "imageWorker" | "maxBytes" | "key"> {
  /** Kinds of file that may be. Absent: png, jpeg and webp. */
  readonly types?: readonly string[];
}

/** One picture of a caller's, wherever it came from. `field`: what the caller calls it. */
export async function checkImage(
  picture: Source,
  field: string,
  {
    imageWorker: darkroom,
    maxBytes = defaultMaxBytes,
    types: kinds = defaultTypes,
    key,
  }: ImageRules,
  signal: Signal,
): Promise<Seen> {
  const size = sizeOf(picture);
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
  // Of an upload the first bytes are known already: no process need look at what is no picture.
  if (isFile(picture)) checkType(picture.type, field, kinds);
  const seen = await darkroom.inspect(picture, signal, field, key);
  checkType(seen.type, field, kinds);
  return seen;
}

/** The mask of a picture: undefined where that is not here, and its size not known. */
export function checkMask(mask: Seen, image: Seen | undefined, field = "mask"): void {
  checkType(mask.type, field, ["image/png"]);
  if (!mask.alpha) {
    throw invalidValue(
      field,
      "the mask has no alpha channel. Its fully transparent areas say what may change",
    );
  }
  if (image && !maskOrientation(mask, image)) {
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
 * A photograph that lies on its side may have a mask for either: some tools turn it before they show it, some do not. Where
 * its size does not tell, a mask is drawn on what people see. Undefined: it fits neither.
 */
export function maskOrientation(mask: Seen, image: Seen): "shown" | "stored" | undefined {
  if (mask.width === image.width && mask.height === image.height) return "shown";
  const isTurned = image.orientation >= 5;
  return isTurned && mask.width === image.height && mask.height === image.width
    ? "stored"
    : undefined;
}

function checkType(type: string, field: string, kinds: readonly string[]): void {
  if (kinds.includes(type)) return;
  throw new GatewayError(
    "unsupported_file_mimetype",
    `Invalid file '${field}': unsupported mimetype ('${type}'). ${listSupportedTypes(kinds)}`,
    { param: field },
  );
}

/** OpenAI's own words, for three. */
function listSupportedTypes(kinds: readonly string[]): string {
  const names = kinds.map((kind) => `'${kind}'`);
  const last = names.at(-1) ?? "";
  if (names.length < 2) return `The supported file format is ${last}.`;
  return `Supported file formats are ${names.slice(0, -1).join(", ")}, and ${last}.`;
}

async function withFiles(query: EditQuery, scratch: Scratch): Promise<EditQuery> {
  const fileFor = async (source: ImageSource, role: string): Promise<ImageSource> =>
    source.kind === "url" && isDataUrl(source.url)
      ? { kind: "file", file: await decodeDataUrl(source.url, `${role}.image_url`, scratch) }
      : source;
  const images: ImageSource[] = [];
  // One after the other: each may be large while it is decoded.
  for (const [at, source] of query.images.entries()) {
    images.push(await fileFor(source, `images[${at}]`));
  }
  const mask = query.mask && (await fileFor(query.mask, "mask"));
  return { ...query, images, ...(mask && { mask }) };
}

interface InspectionTask {
  readonly file: FilePart;
  readonly field: string;
  readonly types: readonly string[];
}

function inspectionTasks(
  { images, mask, files }: EditQuery,
  { reads = [] }: EditRules,
): InspectionTask[] {
  const kinds = [...new Set([...defaultTypes, ...reads])];
  const several = images.length > 1;
  const looks: InspectionTask[] = images.flatMap((source, at) =>
    source.kind === "file"
      ? [
          {
            file: source.file,
            field: fieldName(source, several ? `image[${at}]` : "image"),
            types: kinds,
          },
        ]
      : [],
  );
  if (mask?.kind === "file") {
    looks.push({ file: mask.file, field: fieldName(mask, "mask"), types: ["image/png"] });
  }
  return [...looks, ...files.map((file) => ({ file, field: file.field, types: kinds }))];
}

/** As the caller spelled it where that tells which one it is: `image[3]`, `images[0].image_url`. */
function fieldName(source: ImageSource, otherwise: string): string {
  const field = source.kind === "file" ? source.file.field : "";
  return /\[\d+\]|\.image_url$/.test(field) ? field : otherwise;
}

const inspectionOf = (source: ImageSource, seen: ReadonlyMap<FilePart, Seen>): Seen | undefined =>
  source.kind === "file" ? seen.get(source.file) : undefined;

const invalidValue = (field: string, why: string): GatewayError =>
  new GatewayError("invalid_value", `Invalid '${field}': ${why}.`, { param: field });

function tooManyImages(images: readonly ImageSource[]): GatewayError {
  const field = images.some(({ kind }) => kind === "file") ? "image" : "images";
  return new GatewayError(
    "invalid_value",
    `Invalid '${field}': too many pictures. Expected at most ${maxImages}, but got ${images.length}.`,
    { param: field },
  );
}
