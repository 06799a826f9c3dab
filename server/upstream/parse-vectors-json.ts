/**
 * Parses JSON of an upstream with vectors. Almost all of such a document is lists of numbers: they are cut out of it and
 * read as float32, and only the rest is parsed. A large document is read in steps, with turns of the event loop for
 * other requests in between.
 */
import { JsonPlaceholders } from "../lib/json-placeholders.ts";
import { JsonScan } from "../lib/json-scan.ts";
import { nextTurn, runInSteps } from "../lib/tasks.ts";
import { readNumbers } from "../lib/vector-codec/index.ts";
import { invalidJson, invalidResponse } from "./invalid-response.ts";
import { checkStructure } from "./upstream-json.ts";

/** Bytes that are scanned in one step: less than a millisecond. */
const stepBytes = 256 * 1024;
/** Shorter lists stay in the document. */
const minListBytes = 256;

/** The characters at the beginning of a list of numbers. */
const inLists = new Uint8Array(256);
for (const character of "0123456789+-.eE, \t\r\n") inLists[character.charCodeAt(0)] = 1;

export interface VectorsJson {
  /** As JSON.parse returns it, with a Float32Array in place of each long list of numbers. */
  readonly value: unknown;
  /** Whether every number of such a list was a float32 with all its digits. */
  readonly areFloat32: boolean;
}

/**
 * Throws GatewayError if the document is not JSON, or has more structure than a response with vectors needs, or more
 * than `maxOtherBytes` besides its lists of numbers. Malformed bytes become U+FFFD, as with `fetch`. A promise for a
 * large document.
 */
export function parseVectorsJson(
  document: Buffer,
  maxOtherBytes = Number.POSITIVE_INFINITY,
): VectorsJson | Promise<VectorsJson> {
  const steps = parseSteps(document, maxOtherBytes);
  const { done, value } = steps.next();
  return done ? value : nextTurn().then(() => runInSteps(steps));
}

function* parseSteps(document: Buffer, maxOtherBytes: number): Generator<void, VectorsJson> {
  const scan = new JsonScan();
  const placeholders = new JsonPlaceholders();
  const others: Buffer[] = [];
  let areFloat32 = true;
  /** The bytes before it are in `others`. */
  let from = 0;
  let nextStep = stepBytes;
  for (let at = 0; at < document.length; ) {
    at += scan.takeToList(document.subarray(at, nextStep));
    checkStructure(scan);
    if (at >= nextStep) {
      nextStep = at + stepBytes;
      yield;
    }
    if (!scan.isAtList || !isLongList(document, at)) continue;
    const list = yield* readNumbers(document, at);
    if (!list) continue;
    areFloat32 &&= list.areFloat32;
    others.push(
      document.subarray(from, at - 1),
      Buffer.from(`"${placeholders.add(list.numbers)}"`),
    );
    from = list.end;
    // The scan continues at the closing bracket.
    at = list.end - 1;
  }
  others.push(document.subarray(from));
  const json = from === 0 ? document : Buffer.concat(others);
  if (json.length > maxOtherBytes) {
    throw invalidResponse(`it has more than ${maxOtherBytes} bytes besides its vectors`);
  }
  return { value: placeholders.restore(parse(json)), areFloat32 };
}

const decoder = new TextDecoder();

function parse(json: Buffer): unknown {
  try {
    return JSON.parse(decoder.decode(json));
  } catch (cause) {
    throw invalidJson(cause);
  }
}

/** Whether a list that begins at the offset may be a long list of numbers. */
function isLongList(document: Buffer, from: number): boolean {
  const end = from + minListBytes;
  if (end > document.length) return false;
  for (let at = from; at < end; at++) if (inLists[document[at] as number] === 0) return false;
  return true;
}
