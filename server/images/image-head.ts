/**
 * Reads the head of an image, in memory or spilled to disk: its type, dimensions and alpha channel; and the metadata of
 * a delivered image, which are those facts and otherwise what the upstream reported or the client requested.
 */
import { decodeBase64Stream } from "../lib/base64-stream.ts";
import { type BorrowedBytes, copyOf } from "../lib/borrowed-bytes.ts";
import { base64Length, encodeBase64Stream, StreamedString } from "../lib/json-stream.ts";
import { imageSize, sniffImage, sniffLength } from "../lib/sniff-image.ts";
import type { ImageMetadata, LoadedImage } from "../upstream/contract.ts";
import { parseSize, ratioDistance } from "../upstream/image-sizes.ts";

/** The first `bytes` bytes; by default enough to detect the image type. */
export function firstBytes(image: LoadedImage, bytes = sniffLength): Uint8Array {
  if (image.kind === "bytes") return image.bytes.subarray(0, bytes);
  if (image.kind === "base64") {
    return Buffer.from(image.base64.slice(0, base64Length(bytes)), "base64");
  }
  const { encoding, start } = image.spilled;
  return encoding === "raw" ? start.subarray(0, bytes) : decodeBase64(start, base64Length(bytes));
}

const svgStart = /^\s*(<\?xml|<svg)/;

/** The media type. Undefined where the bytes are not an image. */
export function imageTypeOf(image: LoadedImage): string | undefined {
  const start = firstBytes(image);
  const type = sniffImage(start);
  if (type) return type;
  return svgStart.test(Buffer.from(start).toString("latin1")) ? "image/svg+xml" : undefined;
}

/** The decoded first bytes, as many as are in memory. */
function headInMemory(image: LoadedImage): Uint8Array {
  if (image.kind !== "spilled") return firstBytes(image, inMemoryHeadBytes);
  const { encoding, start } = image.spilled;
  return encoding === "raw" ? start : decodeBase64(start, start.length);
}

/** The dimensions: in the first bytes of most formats, after a color profile or a C2PA manifest in some. */
const readDimensions = (image: LoadedImage) => findInHead(image, imageSize);

/** Whether the image has an alpha channel. Undefined where its head does not say. */
export const readAlpha = (image: LoadedImage): Promise<boolean | undefined> =>
  findInHead(image, (head) => imageSize(head)?.alpha);

/** In as few bytes as possible. */
async function findInHead<T>(
  image: LoadedImage,
  find: (head: Uint8Array) => T | undefined,
): Promise<T | undefined> {
  return (
    find(headInMemory(image)) ??
    find(await readHead(image)) ??
    find(await readHead(image, longHeadBytes))
  );
}

const inMemoryHeadBytes = 96;
/** A JPEG may contain a long color profile before its dimensions. */
const headBytes = 64 * 1024;
/** A C2PA manifest may contain thumbnails. */
const longHeadBytes = 1024 * 1024;

const decodeBase64 = (base64: Uint8Array, length: number): Uint8Array =>
  Buffer.from(
    Buffer.from(base64.buffer, base64.byteOffset, Math.min(length, base64.length)).toString(
      "latin1",
    ),
    "base64",
  );

export async function readHead(image: LoadedImage, bytes = headBytes): Promise<Uint8Array> {
  if (image.kind !== "spilled") return firstBytes(image, bytes);
  const { spilled } = image;
  const wanted = spilled.encoding === "raw" ? bytes : base64Length(bytes);
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of spilled.stream()) {
    const part = copyOf(chunk.subarray(0, wanted - length));
    parts.push(part);
    length += part.length;
    if (length === wanted) break;
  }
  const head = Buffer.concat(parts);
  return spilled.encoding === "raw" ? head : decodeBase64(head, wanted);
}

/** All bytes. Throws InvalidBase64. */
export async function* bytesOf(image: LoadedImage): AsyncGenerator<BorrowedBytes> {
  if (image.kind === "bytes") yield image.bytes;
  else if (image.kind === "base64") yield Buffer.from(image.base64, "base64");
  else if (image.spilled.encoding === "raw") yield* image.spilled.stream();
  else yield* decodeBase64Stream(image.spilled.stream());
}

/**
 * Base64 for a JSON response: a string when the image is in memory, streamed when it is spilled to disk. Always padded:
 * some upstreams omit the padding, and many clients' decoders refuse base64 without it.
 */
export function toJsonBase64(image: LoadedImage): string | StreamedString {
  if (image.kind === "base64") return withPadding(image.base64);
  if (image.kind === "bytes") return Buffer.from(image.bytes).toString("base64");
  const { spilled } = image;
  return spilled.encoding === "base64"
    ? new StreamedString(spilled.length, () => spilled.stream(), {
        suffix: paddingFor(spilled.length),
      })
    : new StreamedString(base64Length(spilled.length), () => encodeBase64Stream(spilled.stream()));
}

function withPadding(base64: string): string {
  if (base64.length % 4 === 0) return base64;
  // Line breaks do not count towards the groups of four characters.
  const characters = base64.replace(/\s+/g, "");
  return characters + paddingFor(characters.length);
}

const paddingFor = (characters: number): string => "=".repeat((4 - (characters % 4)) % 4);

/** The parameters that the target got natively. */
export interface RequestedMetadata extends ImageMetadata {
  /** Instead of a size, where the target takes aspect ratios only. */
  readonly aspect?: string;
}

interface MetadataSources {
  /** The parameters that the target got natively. */
  readonly requested: RequestedMetadata;
  /** Metadata that the upstream reports. */
  readonly reported: ImageMetadata;
  /** The gateway has flattened the image onto white. */
  readonly flattened: boolean;
}

/** Metadata read from the bytes, and reported metadata that the bytes do not contradict. */
export async function readMetadata(
  image: LoadedImage,
  { requested, reported, flattened }: MetadataSources,
): Promise<ImageMetadata> {
  const type = imageTypeOf(image);
  const dimensions = await readDimensions(image);
  const background = flattened ? "opaque" : await readBackground(image, requested, reported);
  return {
    ...(dimensions && { size: `${dimensions.width}x${dimensions.height}` }),
    ...(type && { output_format: type.replace(/^image\/(?:svg\+)?/, "").replace("xml", "svg") }),
    ...(background !== undefined && { background }),
  };
}

/**
 * An image without an alpha channel is opaque, even if the upstream reports otherwise. An image with an alpha channel
 * may be opaque too: only its pixels decide, which are not decoded here. So the upstream's report takes precedence over
 * the request.
 */
async function readBackground(
  image: LoadedImage,
  requested: ImageMetadata,
  reported: ImageMetadata,
): Promise<string | undefined> {
  const claim = reported.background ?? requested.background;
  if (claim !== "transparent" && claim !== "opaque") return reported.background;
  const alpha = await readAlpha(image);
  if (alpha === false) return "opaque";
  return reported.background ?? (alpha && claim === "transparent" ? claim : undefined);
}

/** Metadata that all images of a response have in common. */
export const commonMetadata = (
  before: ImageMetadata | undefined,
  next: ImageMetadata,
): ImageMetadata =>
  before === undefined
    ? next
    : Object.fromEntries(
        Object.entries(before).filter(
          ([name, value]) => next[name as keyof ImageMetadata] === value,
        ),
      );

/** Metadata that only an inspection shows is not reported for images that were not inspected. */
export function uninspectedMetadata(
  reported: ImageMetadata,
  inspectedCount: number,
  imageCount: number,
): ImageMetadata {
  const { size, output_format, background, ...uninspectable } = reported;
  const isInspected = inspectedCount === imageCount;
  return {
    ...uninspectable,
    ...(isInspected && size !== undefined && { size }),
    ...(isInspected && output_format !== undefined && { output_format }),
    ...(inspectedCount === 0 && background !== undefined && { background }),
  };
}

/** An upstream that accepted a quality and reports none has applied it. `auto` is not a quality. */
export function resolveQuality(requested: ImageMetadata, reported: ImageMetadata): ImageMetadata {
  const quality =
    reported.quality ?? (requested.quality === "auto" ? undefined : requested.quality);
  return quality === undefined ? {} : { quality };
}

/**
 * Tolerated deviation from an aspect ratio: vendors round sizes to steps of their own. Imagen's 4:3 is 1280x896, 7 %
 * too wide.
 */
const ratioTolerance = Math.log(1.08);

/** Options that the target accepted and ignored, as the generated image shows. */
export function ignoredOptions(
  requested: RequestedMetadata,
  actual: ImageMetadata,
): readonly (keyof ImageMetadata)[] {
  const names: (keyof ImageMetadata)[] = [];
  if (actual.size !== undefined && !matchesSize(actual.size, requested)) names.push("size");
  if (requested.background === "transparent" && actual.background === "opaque")
    names.push("background");
  if (isOtherFormat(requested, actual)) names.push("output_format");
  return names;
}

/** Images are converted to other formats, and then the conversion reports what it could not do. */
const unconvertedFormats: readonly unknown[] = ["gif", "svg"];

const isOtherFormat = (
  { output_format: requested }: ImageMetadata,
  { output_format: actual }: ImageMetadata,
): boolean =>
  actual !== undefined && actual !== requested && unconvertedFormats.includes(requested);

/** Exact where a size was requested. Names such as 2K cannot be verified. */
function matchesSize(actual: string, { size, aspect }: RequestedMetadata): boolean {
  if (size !== undefined && parseSize(size)) return actual === size;
  if (aspect === undefined) return true;
  const dimensions = parseSize(actual);
  return dimensions === undefined || ratioDistance(dimensions, aspect) <= ratioTolerance;
}
