/**
 * Detects truncated images. Upstreams do send files that end early, and a viewer shows half of the image or nothing.
 * Only the first and the last bytes are checked, so an image of megabytes passes undecoded. Where the last bytes are
 * unusual, the whole file is read for the end of the image: a billed image is not rejected because of trailing bytes.
 */

import { InvalidBase64 } from "../lib/base64-stream.ts";
import { type BorrowedBytes, viewOf } from "../lib/borrowed-bytes.ts";
import { base64Length } from "../lib/json-stream.ts";
import type { LoadedImage } from "../upstream/contract.ts";
import { invalidResponse } from "../upstream/invalid-response.ts";
import { sizeOf } from "../workers/image/worker-input.ts";
import { bytesOf, firstBytes, imageTypeOf, readDimensions } from "./image-head.ts";

/** Throws GatewayError where the bytes are not an image, or are truncated. */
export async function checkTruncation(image: LoadedImage): Promise<void> {
  const type = imageTypeOf(image);
  if (type === undefined) throw invalidResponse("it contains data that is not an image");
  const check = formatChecks[type];
  if (!check) return;
  if (check.hasValidEnd(await readLastBytes(image), image)) return;
  const hasSize = type !== "image/png" || (await readDimensions(image)) !== undefined;
  if (hasSize && check.end && (await hasEnd(image, check.end()))) return;
  throw invalidResponse("its image is truncated");
}

/** Bytes that are read before other requests get a turn. */
const bytesPerTurn = 1024 * 1024;

async function hasEnd(image: LoadedImage, search: EndSearch): Promise<boolean> {
  let bytesInTurn = 0;
  try {
    for await (const chunk of bytesOf(image)) {
      const found = search.take(chunk);
      if (found !== undefined) return found;
      bytesInTurn += chunk.length;
      if (bytesInTurn < bytesPerTurn) continue;
      bytesInTurn = 0;
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
    hasValidEnd: (_, image) => webpLength(firstBytes(image)) <= sizeOf(image),
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

/**
 * How many bytes at the end of a file are searched for the mark of its end. If they do not have it (some writers pad a
 * file with zeros), the whole file is parsed.
 */
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

/**
 * Finds the end of an image file while its bytes are read, chunk by chunk: bytes after the end do not matter. A search
 * returns true at the end of the image, false where there is none, and undefined where it needs more bytes.
 */
interface EndSearch {
  take(chunk: BorrowedBytes): boolean | undefined;
}

const iend = 0x49454e44;

/** Walks the chunks of a PNG file up to IEND. */
class PngEnd implements EndSearch {
  /** Bytes to pass over: first the signature. */
  #skip = 8;
  readonly #head = Buffer.alloc(8);
  #headLength = 0;
  #isLast = false;

  take(chunk: BorrowedBytes): boolean | undefined {
    for (let at = 0; at < chunk.length; ) {
      const skipped = Math.min(this.#skip, chunk.length - at);
      this.#skip -= skipped;
      at += skipped;
      if (this.#skip > 0) return undefined;
      if (this.#isLast) return true;
      while (at < chunk.length && this.#headLength < this.#head.length) {
        this.#head[this.#headLength++] = chunk[at++] as number;
      }
      if (this.#headLength < this.#head.length) return undefined;
      this.#headLength = 0;
      this.#isLast = this.#head.readUInt32BE(4) === iend;
      // The data of the chunk, and its checksum.
      this.#skip = (this.#isLast ? 0 : this.#head.readUInt32BE(0)) + 4;
    }
    return undefined;
  }
}

const endMarker = Buffer.from([0xff, 0xd9]);

/**
 * Walks the segments of a JPEG file up to the start of scan. After it, the end marker is unambiguous: in entropy-coded
 * data, 0xff is followed by 0x00. Segments before it may contain a thumbnail with an end marker of its own.
 */
class JpegEnd implements EndSearch {
  /** Bytes to pass over: first the start marker. */
  #skip = 2;
  /** A marker and its length. */
  #head: number[] = [];
  #isInScan = false;
  #last: number | undefined;

  take(chunk: BorrowedBytes): boolean | undefined {
    for (let at = 0; at < chunk.length; ) {
      if (this.#isInScan) return this.#search(chunk.subarray(at));
      const skipped = Math.min(this.#skip, chunk.length - at);
      this.#skip -= skipped;
      at += skipped;
      if (at < chunk.length) this.#head.push(chunk[at++] as number);
      while (this.#head.length === 4) if (!this.#readHead()) return false;
    }
    return undefined;
  }

  /** Returns whether the bytes are a marker. */
  #readHead(): boolean {
    const [first, marker = 0, high = 0, low = 0] = this.#head;
    if (first !== 0xff) return false;
    const hasNoLength = marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7);
    const segmentLength = hasNoLength ? 2 : 2 + 256 * high + low;
    const length = marker === 0xff ? 1 : segmentLength;
    this.#isInScan = marker === 0xda;
    this.#last = low;
    this.#head = this.#isInScan ? [] : this.#head.slice(length);
    this.#skip = this.#isInScan ? 0 : Math.max(0, length - 4);
    return true;
  }

  #search(chunk: BorrowedBytes): true | undefined {
    const { buffer, byteOffset, length } = viewOf(chunk);
    const bytes = Buffer.from(buffer, byteOffset, length);
    const isSplit = this.#last === endMarker[0] && bytes[0] === endMarker[1];
    this.#last = bytes.at(-1);
    return isSplit || bytes.includes(endMarker) || undefined;
  }
}
