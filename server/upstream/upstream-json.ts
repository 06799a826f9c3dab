/**
 * Bounds on upstream JSON. A member that no adapter reads, such as a deeply nested one, costs neither memory nor time,
 * and the rest of the document can still be read.
 */
import { type FilterBounds, JsonFilter, JsonScan, mayExceedDepth } from "../lib/json-scan.ts";
import { nextTurn } from "../lib/tasks.ts";
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
export const maxContainers = 131_072;
const maxFields = 262_144;

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

/** Throws if the JSON has more structure than a response with vectors needs. */
export function checkUpstreamJson(bytes: Uint8Array): void {
  const scan = new JsonScan();
  for (let from = 0; from < bytes.length; from += sliceLength) {
    scan.take(bytes.subarray(from, from + sliceLength));
    checkStructure(scan);
  }
}

/** Throws if a scan has found more structure than a response with vectors needs. */
export function checkStructure(scan: JsonScan): void {
  if (scan.maxDepth > maxJsonDepth) {
    throw invalidResponse(`it is nested more than ${maxJsonDepth} deep`);
  }
  checkCounts(scan);
}

function checkCounts({ containers, fields }: JsonScan): void {
  if (containers > maxContainers) {
    throw invalidResponse(`it has more than ${maxContainers} arrays and objects`);
  }
  if (fields > maxFields) throw invalidResponse(`it has more than ${maxFields} fields`);
}
