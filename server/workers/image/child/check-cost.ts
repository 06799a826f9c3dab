/**
 * Decompression bomb guard: rejects small files that take very long to decode, because a running decoder can only be
 * stopped by ending its process. Parses the file structure in one pass and decodes no pixel. `open-image.ts` rejects
 * images of more than 64 million pixels, and never opens SVG, PDF and TIFF.
 */
import { constants, inflateSync } from "node:zlib";
import { errorCode } from "../../../lib/error-code.ts";
import { type ImageInput, UnprocessableImageError } from "./image-input.ts";
import { pngChunks } from "./png-chunks.ts";

interface CostBounds {
  /** The pixels of one page. */
  readonly pixels: number;
  readonly maxPixels: number;
}

/** Each scan of a progressive JPEG processes all pixels again. Encoders write about ten. */
const maxScans = 100;
/** Maximum scans of an image of the maximum size; a smaller one may have more. */
const scansOfLargest = 16;
/**
 * Maximum decompressed text and color profiles of a PNG: a kilobyte can decompress to a megabyte, and the decoder
 * reads all.
 */
const maxUnpacked = 8 * 1024 * 1024;
/** Enough for a PNG of the maximum size in chunks of a few hundred bytes. */
const maxPngChunks = 250_000;
/** Maximum frames of an animation. Each frame takes time besides its pixels. */
const maxFrames = 10_000;

export function checkCost(file: ImageInput, type: string, bounds: CostBounds): void {
  if (type === "image/jpeg") checkScans(file, bounds);
  else if (type === "image/png") checkPng(file);
  else if (type === "image/gif") checkFrames(gifFrames(file));
  else if (type === "image/webp") checkFrames(webpFrames(file));
}

const tooCostly = (problem: string): UnprocessableImageError =>
  new UnprocessableImageError("too costly", problem);

function checkScans(file: ImageInput, { pixels, maxPixels }: CostBounds): void {
  const largest = scansOfLargest * maxPixels;
  const most = Math.min(maxScans, Math.floor(largest / Math.max(1, pixels)));
  const scans = jpegScans(file);
  if (scans > most) {
    throw tooCostly(
      `is a progressive JPEG with ${scans} scans; at most ${most} are allowed for this size. Re-save it as a baseline JPEG`,
    );
  }
}

/** Start of scan, and end of image. */
const [sos, eoi] = [0xda, 0xd9];

function jpegScans(file: ImageInput): number {
  let scans = 0;
  for (let at = nextMarker(file, 2); at !== undefined; ) {
    const head = file.peek(at, 4);
    const marker = head[1];
    if (head.length < 4 || marker === eoi) break;
    if (marker === sos) scans += 1;
    at = nextMarker(file, at + 2 + Math.max(2, head.readUInt16BE(2)));
  }
  return scans;
}

const windowBytes = 64 * 1024;

/**
 * The offset of the next marker that has a length or ends the image: in entropy-coded data, 0xff is followed by 0 or a
 * restart marker.
 */
function nextMarker({ length, peek }: ImageInput, from: number): number | undefined {
  let at = from;
  while (at + 2 <= length) {
    const window = peek(at, windowBytes);
    if (window.length < 2) return undefined;
    let found = window.indexOf(0xff);
    while (found >= 0 && found + 1 < window.length) {
      const code = window[found + 1] as number;
      if (code > 0x01 && code !== 0xff && !(code >= 0xd0 && code <= 0xd8)) return at + found;
      found = window.indexOf(0xff, found + 1);
    }
    at += found < 0 ? window.length : found;
  }
  return undefined;
}

function checkPng(file: ImageInput): void {
  let [chunks, left] = [0, maxUnpacked];
  for (const { kind, at, length } of pngChunks(file)) {
    if (++chunks > maxPngChunks) {
      throw tooCostly(`is a PNG in more than ${maxPngChunks} chunks`);
    }
    if (kind === "zTXt" || kind === "iTXt" || kind === "iCCP") {
      left -= unpackedLength(file, kind, at + 8, length, left);
    }
  }
}

/** The decompressed length. Throws where it exceeds `most`. */
function unpackedLength(
  { peek }: ImageInput,
  kind: string,
  at: number,
  length: number,
  most: number,
): number {
  if (length > most) throw unpackedTooLarge();
  const content = peek(at, length);
  const packed = packedPart(content, kind);
  if (!packed) return content.length;
  try {
    const bounds = { maxOutputLength: Math.max(1, most), finishFlush: constants.Z_SYNC_FLUSH };
    return inflateSync(packed, bounds).length;
  } catch (error) {
    if (errorCode(error) === "ERR_BUFFER_TOO_LARGE") throw unpackedTooLarge();
    // The data is damaged after an unknown length, and the decoder may still read the image: half of the rest of the
    // limit counts as used.
    return Math.ceil(most / 2);
  }
}

const unpackedTooLarge = (): UnprocessableImageError =>
  tooCostly(
    `has text or color profiles that unpack to more than ${maxUnpacked / 1024 / 1024} MB. Save it without metadata`,
  );

/**
 * The compressed data: after the keyword, and in an iTXt after a flag, a language and a translation. If absent, it is
 * not compressed.
 */
function packedPart(content: Buffer, kind: string): Buffer | undefined {
  const afterKeyword = content.indexOf(0) + 1;
  if (afterKeyword === 0) return undefined;
  if (kind !== "iTXt") return content.subarray(afterKeyword + 1);
  if (content[afterKeyword] !== 1) return undefined;
  const language = content.indexOf(0, afterKeyword + 2) + 1;
  const translation = language === 0 ? 0 : content.indexOf(0, language) + 1;
  return translation === 0 ? undefined : content.subarray(translation);
}

function checkFrames(frames: number): void {
  if (frames > maxFrames) throw tooCostly(`is an animation of more than ${maxFrames} frames`);
}

/** Counts image descriptors: each follows extensions and precedes its pixels in blocks of at most 255 bytes. */
function gifFrames({ length, peek }: ImageInput): number {
  const byte = (at: number): number => peek(at, 1)[0] ?? 0;
  const colors = (flags: number): number => (flags >= 128 ? 3 * 2 ** ((flags % 8) + 1) : 0);
  const afterBlocks = (from: number): number => {
    let at = from;
    while (at < length && byte(at) > 0) at += byte(at) + 1;
    return at + 1;
  };
  let frames = 0;
  for (let at = 13 + colors(byte(10)); at < length && frames <= maxFrames; ) {
    const kind = byte(at);
    if (kind === 0x21) at = afterBlocks(at + 2);
    else if (kind === 0x2c) {
      frames += 1;
      at = afterBlocks(at + 11 + colors(byte(at + 9)));
    } else break;
  }
  return frames;
}

function webpFrames({ length, peek }: ImageInput): number {
  let frames = 0;
  for (let at = 12; at + 8 <= length && frames <= maxFrames; ) {
    const head = peek(at, 8);
    if (head.length < 8) break;
    if (head.toString("latin1", 0, 4) === "ANMF") frames += 1;
    const size = head.readUInt32LE(4);
    at += 8 + size + (size % 2);
  }
  return frames;
}
