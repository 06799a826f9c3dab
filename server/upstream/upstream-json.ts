/**
 * Bounds on upstream JSON. A member that no adapter reads, such as a deeply nested one, costs neither memory nor time,
 * and the rest of the document can still be read.
 */
import type { ChunkedBytes } from "../lib/chunked-bytes.ts";
import type { GatewayError } from "../lib/gateway-error.ts";
import { type FilterBounds, JsonFilter, JsonScan, mayExceedDepth } from "../lib/json-scan.ts";
import { InvalidUtf8, JsonSlices } from "../lib/json-slices.ts";
import { invalidResponse } from "./invalid-response.ts";

/** No API has more than a dozen levels. */
export const maxJsonDepth = 64;

/**
 * Bounds of a document without vectors, such as an image response or a stream event. Parsing one of this size takes a
 * few milliseconds.
 */
export const documentBounds: FilterBounds = {
  depth: maxJsonDepth,
  memberValues: 16_384,
  values: 65_536,
};

/** For documents with vectors, whose numbers are not counted: thousands of vectors have millions of numbers. */
const depthOnly: FilterBounds = {
  depth: maxJsonDepth,
  memberValues: Number.POSITIVE_INFINITY,
  values: Number.POSITIVE_INFINITY,
};

/** The maximum arrays and objects of a document: more than the largest number of inputs (VEXEL_MAX_INPUTS). */
const maxContainers = 131_072;
const maxFields = 262_144;

/**
 * The maximum entries of a list. A list at depth 2 is a field of the document, or the whole document, and has one entry
 * for each input. A deeper list may hold the numbers of all vectors, as Triton sends them.
 */
const maxListLength = (depth: number): number => (depth === 2 ? maxContainers : 16_777_216);

/** Bytes that are scanned at a time: about a tenth of a millisecond. */
const sliceLength = 128 * 1024;

/** As JSON.parse, with null in place of values that are nested too deep. Yields to other requests while it scans. */
export async function parseUpstreamJson(text: string): Promise<unknown> {
  if (!mayExceedDepth(text, maxJsonDepth)) return JSON.parse(text);
  const filter = new JsonFilter(depthOnly);
  const bytes = Buffer.from(text);
  const kept: Uint8Array[] = [];
  let isWhole = true;
  for (let from = 0; from < bytes.length; from += sliceLength) {
    if (from > 0) await nextTurn();
    const slice = bytes.subarray(from, from + sliceLength);
    const left = filter.push(slice);
    checkCounts(filter);
    isWhole &&= left === slice;
    kept.push(left);
  }
  return JSON.parse(isWhole ? text : Buffer.concat(kept).toString());
}

/** JSON of more bytes is parsed in slices. JSON.parse takes about 10 ms for this size. */
export const largeJsonBytes = 1024 * 1024;

/** Bytes that `parseLargeJson` scans before other requests get a turn of the event loop. */
const bytesPerTurn = 4 * sliceLength;

/**
 * As JSON.parse, for a large document: in slices, with a turn of the event loop for other requests after each. A list
 * that is longer than any adapter reads becomes null. Throws if the document has more structure than a response with
 * vectors needs, or one value of more than `maxValueBytes`.
 */
export async function parseLargeJson(
  document: ChunkedBytes,
  maxValueBytes = Number.POSITIVE_INFINITY,
): Promise<unknown> {
  using slices = new JsonSlices(largeJsonBytes, { maxListLength });
  // Only an object is parsed in slices, so a list becomes the field of one.
  const isList = firstByte(document) === openBracket;
  if (isList) slices.take(Buffer.from('{"list":'));
  let bytesInTurn = 0;
  try {
    for (const slice of slicesOf(document)) {
      slices.take(slice);
      if (slices.maxDepth > maxJsonDepth) throw tooDeep();
      checkCounts(slices);
      if (slices.whole.length - slices.readyBytes > maxValueBytes) {
        throw invalidResponse(`one value of it has more than ${maxValueBytes} bytes`);
      }
      bytesInTurn += slice.length;
      if (bytesInTurn < bytesPerTurn) continue;
      bytesInTurn = 0;
      await inTurns(slices.parseReady());
    }
    if (isList) slices.take(Buffer.from("}"));
    const fields = await inTurns(slices.end());
    return isList ? fields?.list : fields;
  } catch (error) {
    if (error instanceof InvalidUtf8) throw invalidResponse("it is not valid UTF-8");
    throw error;
  }
}

const openBracket = 0x5b;

/** The first byte that is not a space, if it is near the start. */
function firstByte(document: ChunkedBytes): number | undefined {
  for (let at = 0; at < sliceLength; at++) {
    const byte = document.byteAt(at);
    if (byte === undefined || byte > 0x20) return byte;
  }
  return undefined;
}

function* slicesOf({ list }: ChunkedBytes): Generator<Uint8Array> {
  for (const chunk of list) {
    for (let from = 0; from < chunk.length; from += sliceLength) {
      yield chunk.subarray(from, from + sliceLength);
    }
  }
}

async function inTurns<T>(steps: Iterator<void, T>): Promise<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    await nextTurn();
  }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Throws if the JSON has more structure than a response with vectors needs. */
export function checkUpstreamJson(bytes: Uint8Array): void {
  const scan = new JsonScan();
  for (let from = 0; from < bytes.length; from += sliceLength) {
    scan.take(bytes.subarray(from, from + sliceLength));
    if (scan.maxDepth > maxJsonDepth) throw tooDeep();
    checkCounts(scan);
  }
}

function checkCounts({ containers, fields }: JsonScan): void {
  if (containers > maxContainers) {
    throw invalidResponse(`it has more than ${maxContainers} arrays and objects`);
  }
  if (fields > maxFields) throw invalidResponse(`it has more than ${maxFields} fields`);
}

const tooDeep = (): GatewayError => invalidResponse(`it is nested more than ${maxJsonDepth} deep`);
