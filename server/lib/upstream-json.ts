/**
 * Bounds on the JSON of upstreams. A member that no adapter reads, such as a deeply nested one, costs neither memory
 * nor time, and the rest of the document can still be read.
 */
import { GatewayError } from "./gateway-error.ts";
import { type FilterBounds, JsonFilter, JsonScan, mayExceedDepth } from "./json-scan.ts";

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

/** Numbers are not counted where the document may hold vectors: thousands of vectors have millions of numbers. */
const depthAlone: FilterBounds = {
  depth: maxJsonDepth,
  memberValues: Number.POSITIVE_INFINITY,
  values: Number.POSITIVE_INFINITY,
};

/** More than one container for each input that a request may have. */
const maxContainers = 131_072;
const maxFields = 262_144;

/** Bytes that are scanned before other requests get a turn: about a tenth of a millisecond. */
const sliceLength = 128 * 1024;

/** As JSON.parse, with null in place of values that are nested too deep. Yields to other requests while it scans. */
export async function parseUpstreamJson(text: string): Promise<unknown> {
  if (!mayExceedDepth(text, maxJsonDepth)) return JSON.parse(text);
  const filter = new JsonFilter(depthAlone);
  const bytes = Buffer.from(text);
  const kept: Uint8Array[] = [];
  let isWhole = true;
  for (let from = 0; from < bytes.length; from += sliceLength) {
    if (from > 0) await new Promise<void>((resolve) => setImmediate(resolve));
    const slice = bytes.subarray(from, from + sliceLength);
    const left = filter.push(slice);
    checkCounts(filter);
    isWhole &&= left === slice;
    kept.push(left);
  }
  return JSON.parse(isWhole ? text : Buffer.concat(kept).toString());
}

/** Throws where the JSON has more structure than a response with vectors needs. */
export function checkUpstreamJson(bytes: Uint8Array): void {
  const scan = new JsonScan();
  for (let from = 0; from < bytes.length; from += sliceLength) {
    scan.take(bytes.subarray(from, from + sliceLength));
    if (scan.maxDepth > maxJsonDepth) throw unusable(`it is nested more than ${maxJsonDepth} deep`);
    checkCounts(scan);
  }
}

function checkCounts({ containers, fields }: JsonScan): void {
  if (containers > maxContainers) {
    throw unusable(`it has more than ${maxContainers} arrays and objects`);
  }
  if (fields > maxFields) throw unusable(`it has more than ${maxFields} fields`);
}

const unusable = (why: string): GatewayError =>
  new GatewayError("upstream_invalid", `The upstream's response is not usable: ${why}.`);
