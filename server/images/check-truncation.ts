/**
 * Detects truncated images. Upstreams do send files that end early, and a viewer shows half of the image or nothing.
 * The end of an image is searched in its last bytes first, so an image of megabytes is not read as a whole.
 */

import { joinCopies } from "../lib/borrowed-bytes.ts";
import { base64Length } from "../lib/json-stream.ts";
import type { LoadedImage } from "../upstream/contract.ts";
import { invalidResponse } from "../upstream/invalid-response.ts";
import { sizeOf } from "../workers/image/worker-input.ts";
import { bytesOf, firstBytes, imageTypeOf, readHead } from "./image-head.ts";

/** Throws GatewayError where the bytes are not an image, or are truncated. */
export async function checkTruncation(image: LoadedImage): Promise<void> {
  const type = imageTypeOf(image);
  if (type === undefined) throw invalidResponse("it contains data that is not an image");
  if (await isTruncated(image, type)) throw invalidResponse("its image is truncated");
}

async function isTruncated(image: LoadedImage, type: string): Promise<boolean> {
  if (type === "image/webp") return webpLength(firstBytes(image)) > sizeOf(image);
  const end = endOf[type];
  if (end === undefined || (await readLastBytes(image)).includes(end)) return false;
  const from = type === "image/jpeg" ? jpegScanStart(await readHead(image)) : 0;
  return !(await includesAfter(image, end, from));
}

/** Searches the whole image, for one with more data after its end than `trailerBytes`. */
async function includesAfter(image: LoadedImage, end: Buffer, from: number): Promise<boolean> {
  let skipped = 0;
  let last: Buffer = Buffer.alloc(0);
  for await (const chunk of bytesOf(image)) {
    const start = Math.max(0, from - skipped);
    skipped += Math.min(start, chunk.length);
    const bytes = joinCopies([last, chunk.subarray(start)]);
    if (bytes.includes(end)) return true;
    last = bytes.subarray(Math.max(0, bytes.length - end.length + 1));
  }
  return false;
}

/** Where the pixels of a JPEG begin, or after the segments of its head: a preview in them has an end of its own. */
function jpegScanStart(head: Uint8Array): number {
  const view = new DataView(head.buffer, head.byteOffset, head.length);
  let at = 2;
  while (at + 4 <= head.length && view.getUint16(at) !== 0xff_da) at += 2 + view.getUint16(at + 2);
  return at;
}

/** The bytes at the end of a file. In the pixels of a JPEG, 0xff is followed by 0x00. */
const endOf: Readonly<Record<string, Buffer>> = {
  // The IEND chunk without its length: the name and its checksum.
  "image/png": Buffer.from([0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82]),
  "image/jpeg": Buffer.from([0xff, 0xd9]),
};

/** The length in the RIFF header, with the eight bytes of the header. */
const webpLength = (start: Uint8Array): number =>
  start.length < 8
    ? Number.POSITIVE_INFINITY
    : 8 + new DataView(start.buffer, start.byteOffset, start.length).getUint32(4, true);

/** Some writers add zeros or text after the end of an image: the end is searched in this many bytes first. */
const trailerBytes = 8 * 1024;

async function readLastBytes(image: LoadedImage): Promise<Buffer> {
  if (image.kind === "bytes") return Buffer.from(image.bytes.subarray(-trailerBytes));
  if (image.kind === "base64") return Buffer.from(image.base64, "base64").subarray(-trailerBytes);
  const { spilled } = image;
  if (spilled.encoding === "raw") return Buffer.from(await spilled.tail(trailerBytes));
  const end = Buffer.from(await spilled.tail(base64Length(trailerBytes)));
  return decodeBase64End(end.toString("latin1"), spilled.length);
}

/** `end`: the last characters of `length` characters. Four characters make three bytes. */
function decodeBase64End(end: string, length: number): Buffer {
  const text = end.replace(/\s+/g, "");
  // Groups of four are counted from the start of the text or, if it has line breaks, from its end, which is padded.
  const rest = text.length === end.length ? end.length - length : text.length;
  return Buffer.from(text.slice(((rest % 4) + 4) % 4), "base64");
}
