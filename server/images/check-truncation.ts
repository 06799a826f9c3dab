/**
 * Detects truncated images. Upstreams do send files that end early, and a viewer shows half of the image or nothing.
 * Only the first and the last bytes are checked, so an image of megabytes passes undecoded. Where the last bytes are
 * unusual, the whole file is read for the end of the image: a billed image is not rejected because of trailing bytes.
 */
import { InvalidBase64 } from "../lib/base64-stream.ts";
import { base64Length } from "../lib/json-stream.ts";
import { invalidResponse } from "../request/invalid-response.ts";
import { type EndSearch, JpegEnd, PngEnd } from "./image-end.ts";
import {
  bytesOf,
  firstBytes,
  imageTypeOf,
  type LoadedImage,
  readDimensions,
} from "./image-head.ts";

/** Throws GatewayError where the bytes are not an image, or are truncated. */
export async function checkTruncation(image: LoadedImage): Promise<void> {
  const type = imageTypeOf(image);
  if (type === undefined) throw invalidResponse("it contains data that is not an image");
  const kind = formatChecks[type];
  if (!kind) return;
  if (kind.hasValidEnd(await readLastBytes(image), image)) return;
  const hasSize = type !== "image/png" || (await readDimensions(image)) !== undefined;
  if (hasSize && kind.end && (await hasEnd(image, kind.end()))) return;
  throw invalidResponse("its image is truncated");
}

/** Bytes that are read before other requests get a turn. */
const bytesPerTurn = 1024 * 1024;

async function hasEnd(image: LoadedImage, search: EndSearch): Promise<boolean> {
  let inTurn = 0;
  try {
    for await (const chunk of bytesOf(image)) {
      const found = search.take(chunk);
      if (found !== undefined) return found;
      inTurn += chunk.length;
      if (inTurn < bytesPerTurn) continue;
      inTurn = 0;
      await new Promise(setImmediate);
    }
  } catch (error) {
    if (!(error instanceof InvalidBase64)) throw error;
  }
  return false;
}

interface FormatCheck {
  /** Checks the last bytes and the bytes in memory. False if these are not conclusive. */
  hasValidEnd(end: Uint8Array, image: LoadedImage): boolean;
  /** Searches all bytes for the end of the image. Absent: the last bytes are always conclusive. */
  end?(): EndSearch;
}

const formatChecks: Readonly<Record<string, FormatCheck>> = {
  "image/png": { hasValidEnd: (end) => endsWith(end, pngEnd), end: () => new PngEnd() },
  "image/jpeg": { hasValidEnd: (end) => endsWith(end, jpegEnd), end: () => new JpegEnd() },
  "image/webp": {
    hasValidEnd: (_, image) => webpLength(firstBytes(image)) <= byteLengthOf(image),
  },
};

/** The IEND chunk without its length: the name and its checksum. */
const pngEnd = [0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82];
const jpegEnd = [0xff, 0xd9];

const endsWith = (bytes: Uint8Array, end: readonly number[]): boolean =>
  end.every((byte, at) => bytes[bytes.length - end.length + at] === byte);

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
