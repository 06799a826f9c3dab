/**
 * Detects truncated images. Upstreams do send files that end early, and a viewer shows half of the image or nothing.
 * Only the first and the last bytes are checked, so an image of megabytes passes undecoded. Where the last bytes are
 * unusual, the whole file is parsed: a billed image is not rejected because of trailing bytes.
 */
import { imageSize } from "../lib/image-size.ts";
import { base64Length } from "../lib/json-stream.ts";
import { invalidResponse } from "../request/invalid-response.ts";
import { firstBytes, imageTypeOf, type LoadedImage, readBytes } from "./image-head.ts";

/** Throws GatewayError where the bytes are not an image, or are truncated. */
export async function checkTruncation(image: LoadedImage): Promise<void> {
  const type = imageTypeOf(image);
  if (type === undefined) throw invalidResponse("it contains data that is not an image");
  const kind = formatChecks[type];
  if (!kind) return;
  if (kind.hasValidEnd(await readLastBytes(image), image)) return;
  if (!kind.isComplete(await readBytes(image))) throw invalidResponse("its image is truncated");
}

interface FormatCheck {
  /** Checks the last bytes and the bytes in memory. False if these are not conclusive. */
  hasValidEnd(end: Uint8Array, image: LoadedImage): boolean;
  /** Checks all bytes. */
  isComplete(bytes: Uint8Array): boolean;
}

const formatChecks: Readonly<Record<string, FormatCheck>> = {
  "image/png": {
    hasValidEnd: (end) => endsWith(end, pngEnd),
    isComplete: (bytes) => imageSize(bytes) !== undefined && hasPngEnd(bytes),
  },
  "image/jpeg": { hasValidEnd: (end) => endsWith(end, jpegEnd), isComplete: hasJpegEnd },
  "image/webp": {
    hasValidEnd: (_, image) => webpLength(firstBytes(image)) <= byteLengthOf(image),
    isComplete: (bytes) => webpLength(bytes) <= bytes.length,
  },
};

/** The IEND chunk without its length: the name and its checksum. */
const pngEnd = [0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82];
const jpegEnd = [0xff, 0xd9];

const endsWith = (bytes: Uint8Array, end: readonly number[]): boolean =>
  end.every((byte, at) => bytes[bytes.length - end.length + at] === byte);

/** Walks the chunks: bytes after IEND do not matter. */
function hasPngEnd(bytes: Uint8Array): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 8; at + 12 <= bytes.length; at += 12 + view.getUint32(at)) {
    if (view.getUint32(at + 4) === 0x49454e44) return true;
  }
  return false;
}

/**
 * Walks the segments up to the start of scan. After it, the end marker is unambiguous: in entropy-coded data, 0xff is
 * followed by 0x00. Segments before it may contain a thumbnail with an end marker of its own.
 */
function hasJpegEnd(bytes: Uint8Array): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 2; at + 4 <= bytes.length && bytes[at] === 0xff; ) {
    const marker = bytes[at + 1] as number;
    if (marker === 0xda)
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(
        Buffer.from(jpegEnd),
        at,
      );
    const alone = marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7);
    at += marker === 0xff ? 1 : alone ? 2 : 2 + view.getUint16(at + 2);
  }
  return false;
}

/** The length in the RIFF header, with the eight bytes of the header. */
const webpLength = (start: Uint8Array): number =>
  start.length < 8
    ? Number.POSITIVE_INFINITY
    : 8 + new DataView(start.buffer, start.byteOffset, start.length).getUint32(4, true);

/** Some writers pad a file with zeros. Then these bytes are not the end, and the whole file is parsed. */
const trailerBytes = 12;

async function readLastBytes(image: LoadedImage): Promise<Uint8Array> {
  if (image.kind === "bytes") return image.bytes.subarray(-trailerBytes);
  if (image.kind === "base64") return decodeBase64End(image.base64, image.base64.length);
  const { spilled } = image;
  if (spilled.encoding === "raw") return spilled.tail(trailerBytes);
  const end = await spilled.tail(base64Length(trailerBytes) + 4);
  return decodeBase64End(Buffer.from(end).toString("latin1"), spilled.length);
}

/**
 * `end`: the last characters of `length` base64 characters, or all. Groups of four characters are counted from the
 * start.
 */
function decodeBase64End(end: string, length: number): Uint8Array {
  const first = length - end.length;
  const from = Math.max(first, length - base64Length(trailerBytes) - 4);
  return Buffer.from(end.slice(4 * Math.ceil(from / 4) - first), "base64");
}

/** In bytes. Base64 with line breaks gives a little more. */
function byteLengthOf(image: LoadedImage): number {
  if (image.kind === "bytes") return image.bytes.length;
  if (image.kind === "spilled" && image.spilled.encoding === "raw") return image.spilled.length;
  const characters = image.kind === "base64" ? image.base64.length : image.spilled.length;
  return Math.floor((characters * 3) / 4);
}
