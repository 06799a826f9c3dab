/**
 * Vectors in the two wire formats of `encoding_format`, JSON numbers and base64 of packed little-endian float32, and
 * quantized vectors as JSON integers: encodes, decodes, inspects, and truncates and normalizes them, and writes
 * embeddings responses as OpenAI does. The JSON of a response is concatenated by hand: a vector is thousands of
 * characters that need no escaping.
 */
import { lendEach } from "../lib/byte-memory.ts";
import {
  checkBase64,
  checkNumbers,
  checkVector,
  decodeText,
  EncodedVector,
  maxTextBytes,
  printFloats,
  type VectorValidity,
} from "../lib/vector-codec/index.ts";
import {
  type BodyChunk,
  type BodyChunks,
  joinChunks,
  type ResponseBody,
} from "../request/http-types.ts";
import type {
  EmbeddingsQuery,
  EmbeddingsResponse,
  QuantizedVector,
  Vector,
} from "../upstream/contract.ts";

/** Decodes a base64 vector. Undefined if the text is not base64 of whole float32 numbers. */
export function decodeVector(text: string): Float32Array<ArrayBuffer> | undefined {
  const bytes = new Uint8Array(Math.floor((text.length * 3) / 4));
  const written = decodeText(text, bytes);
  return written === undefined ? undefined : new Float32Array(bytes.buffer, 0, written / 4);
}

/** The vector's numbers. Undefined if a base64 vector cannot be decoded. */
export function floatsOf(vector: Vector): Float32Array | readonly number[] | undefined {
  if (typeof vector === "string") return decodeVector(vector);
  if (isQuantized(vector)) return Float32Array.from(vector);
  if (!(vector instanceof EncodedVector)) return vector;
  const { buffer, length } = vector.decode();
  return new Float32Array(buffer.slice(0, length));
}

export const isQuantized = (vector: Vector): vector is QuantizedVector =>
  vector instanceof Int8Array || vector instanceof Uint8Array;

/**
 * The number of dimensions, and whether the numbers are valid. Undefined if a base64 vector cannot be decoded.
 * Allocates no copy of the vector.
 */
export function inspectVector(
  vector: Vector,
): { length: number; validity: VectorValidity } | undefined {
  if (typeof vector === "string") {
    const checked = checkBase64(vector);
    return checked && { length: checked.dimensions, validity: checked.validity };
  }
  if (vector instanceof EncodedVector) {
    return { length: vector.dimensions, validity: vector.validity };
  }
  if (vector instanceof Float32Array)
    return { length: vector.length, validity: checkVector(vector) };
  // Bytes have no invalid value: a quantized vector may be all zeros.
  const validity = isQuantized(vector) ? "valid" : checkNumbers(vector);
  return { length: vector.length, validity };
}

/** The number of dimensions, for bits the number of bytes; -1 if the text is not a base64 vector. */
export function dimensionsOf(vector: Vector): number {
  if (vector instanceof EncodedVector) return vector.dimensions;
  if (typeof vector !== "string") return vector.length;
  let padding = 0;
  if (vector.endsWith("==")) padding = 2;
  else if (vector.endsWith("=")) padding = 1;
  const bytes = (vector.length * 3) / 4 - padding;
  return bytes % 4 === 0 ? bytes / 4 : -1;
}

/**
 * Truncates a vector (Matryoshka) and normalizes it to unit length again. A vector that is short enough is returned
 * unchanged.
 */
export function truncateVector(vector: Vector, length: number): Vector {
  if (dimensionsOf(vector) <= length) return vector;
  const whole = floatsOf(vector);
  if (!whole) return vector;
  const beginning = Float32Array.from(whole.slice(0, length));
  let squares = 0;
  for (const number of beginning) squares += number * number;
  const norm = Math.sqrt(squares);
  // A zero vector cannot be normalized; the verify stage refuses it.
  return norm === 0 ? beginning : beginning.map((number) => number / norm);
}

export function encodeVector(vector: Vector): string {
  if (typeof vector === "string" || vector instanceof EncodedVector) return String(vector);
  const packed = vector instanceof Float32Array ? vector : Float32Array.from(vector);
  return Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength).toString("base64");
}

/** Whether all vectors have the same length: for vectors of several responses, which were verified one by one. */
export function haveSameLength(vectors: readonly Vector[]): boolean {
  const [first] = vectors;
  if (first === undefined) return true;
  const length = dimensionsOf(first);
  for (const vector of vectors) if (dimensionsOf(vector) !== length) return false;
  return true;
}

const entry = (index: number): string => `{"object":"embedding","index":${index},"embedding":`;
const begin = `{"object":"list","data":[${entry(0)}`;

const endOf = ({ model, tokens, totalTokens = tokens, imageTokens }: ResponseTail): string =>
  `],"model":${JSON.stringify(model)},"usage":{"prompt_tokens":${tokens},"total_tokens":${totalTokens}${detailsOf(tokens, imageTokens)}}}`;

/** OpenRouter's and Volcengine's names. OpenAI has no details for embeddings. */
const detailsOf = (tokens: number, imageTokens: number | undefined): string =>
  imageTokens === undefined
    ? ""
    : `,"prompt_tokens_details":{"text_tokens":${tokens - imageTokens},"image_tokens":${imageTokens}}`;

/** The fields after the vectors. */
interface ResponseTail {
  /** The public model id. */
  readonly model: string;
  /** For `usage`, which OpenAI's types require: as reported, or estimated. */
  readonly tokens: number;
  /** If absent, equal to `tokens`. */
  readonly totalTokens?: number | undefined;
  /** The part of `tokens` that are tokens of images. Absent if not known. */
  readonly imageTokens?: number | undefined;
}

/**
 * Writes a response with at least one vector. Returns parts: joining them would copy each vector once more, which most
 * responses do not need.
 */
export function writeBase64Response(
  { vectors }: Pick<EmbeddingsResponse, "vectors">,
  tail: ResponseTail,
): BodyChunks {
  return base64Range(vectors, 0, vectors.length, `"}${endOf(tail)}`);
}

/** A range of a response's vectors with the text before each, and the tail after the last vector. */
function base64Range(
  vectors: readonly Vector[],
  from: number,
  to: number,
  end: string,
): BodyChunk[] {
  const parts: BodyChunk[] = [];
  for (let at = from; at < to; at++) {
    parts.push(at === 0 ? `${begin}"` : `"},${entry(at)}"`);
    const vector = vectors[at] as Vector;
    parts.push(vector instanceof EncodedVector ? vector.text : encodeVector(vector));
  }
  if (to === vectors.length) parts.push(end);
  return parts;
}

/** The most numbers that are written in one step, which bounds the wait of other requests. */
const numbersPerStep = 100_000;

const vectorsPerStep = (vectors: readonly Vector[]): number =>
  Math.max(1, Math.floor(numbersPerStep / Math.max(1, dimensionsOf(vectors[0] as Vector))));

/** Whether a response is written in steps. */
const isLongResponse = ({ vectors }: Pick<EmbeddingsResponse, "vectors">): boolean =>
  vectors.length > vectorsPerStep(vectors);

/** Runs the steps of a computation, with a turn of the event loop after each. */
type RunInSteps = <T>(steps: Iterator<void, T>) => Promise<T>;

/**
 * Writes a response whose vectors are JSON numbers, or a long response whose vectors are base64. A long response is
 * written in steps: other requests are served in between.
 */
export async function writeInSteps(
  { vectors }: Pick<EmbeddingsResponse, "vectors">,
  encoding: EmbeddingsQuery["encoding"],
  tail: ResponseTail,
  runInSteps: RunInSteps,
): Promise<Buffer[]> {
  const end = endOf(tail);
  const writeRange = (from: number, to: number): Buffer =>
    encoding === "float"
      ? printRange(vectors, from, to, `}${end}`)
      : joinChunks(base64Range(vectors, from, to, `"}${end}`));
  if (!isLongResponse({ vectors })) return [writeRange(0, vectors.length)];
  return runInSteps(writeSteps(vectors, writeRange));
}

function* writeSteps(
  vectors: readonly Vector[],
  writeRange: (from: number, to: number) => Buffer,
): Generator<void, Buffer[]> {
  const perStep = vectorsPerStep(vectors);
  const buffers: Buffer[] = [];
  for (let from = 0; from < vectors.length; from += perStep) {
    if (from > 0) yield;
    buffers.push(writeRange(from, Math.min(from + perStep, vectors.length)));
  }
  return buffers;
}

/** Prints a range of a response's vectors with the text before each, and the tail after the last vector. */
function printRange(vectors: readonly Vector[], from: number, to: number, end: string): Buffer {
  const entries = vectors.slice(from, to).map(printable);
  let maxBytes = Buffer.byteLength(end);
  for (let at = 0; at < entries.length; at++) {
    const vector = entries[at] as Printable;
    maxBytes += begin.length + entry(from + at).length;
    maxBytes += typeof vector === "string" ? vector.length : maxTextBytes(dimensionsOf(vector));
  }
  // May be larger than the text: memory pages that are never written to take no memory.
  const text = Buffer.allocUnsafeSlow(maxBytes);
  let length = 0;
  for (let at = 0; at < entries.length; at++) {
    const vector = entries[at] as Printable;
    const before = from + at === 0 ? begin : `},${entry(from + at)}`;
    length += text.write(before, length, "latin1");
    if (typeof vector === "string") length += text.write(vector, length, "latin1");
    else length = printFloats(numbersOf(vector), text, length);
  }
  if (to === vectors.length) length += text.write(end, length);
  return text.subarray(0, length);
}

type Printable = string | Float32Array | EncodedVector;

/** Vectors in numbers are printed as float32: a vector has the same text now as later from the cache. */
function printable(vector: Vector): Printable {
  if (isQuantized(vector)) return `[${vector.join(",")}]`;
  if (vector instanceof EncodedVector || vector instanceof Float32Array) return vector;
  return Float32Array.from(floatsOf(vector) ?? []);
}

/** A view that is valid until the next decoding: print it immediately. */
function numbersOf(vector: Float32Array | EncodedVector): Float32Array {
  if (vector instanceof Float32Array) return vector;
  const { buffer, byteOffset, length } = vector.decode();
  return new Float32Array(buffer, byteOffset, length / 4);
}

/** The body, if it is written in one step: the upstream's response body, or a short response in base64. */
export function shortBodyOf(
  response: EmbeddingsResponse,
  query: EmbeddingsQuery,
  tail: ResponseTail,
): ResponseBody | undefined {
  const { verbatim } = response;
  const isAsRequested = verbatim?.model === query.model && verbatim.encoding === query.encoding;
  if (isAsRequested) return bodyOf([verbatim.body]);
  const isShort = query.encoding === "base64" && !isLongResponse(response);
  return isShort ? writeBase64Response(response, tail) : undefined;
}

/** The body of any other response. */
export async function longBodyOf(
  response: EmbeddingsResponse,
  { encoding }: EmbeddingsQuery,
  tail: ResponseTail,
  runInSteps: RunInSteps,
): Promise<ResponseBody> {
  const chunks = await writeInSteps(response, encoding, tail, runInSteps);
  return bodyOf(chunks);
}

const largeBodyBytes = 64 * 1024;

/**
 * A large body holds its reserved memory until it is sent, and is released then: no other response refers to it. Left
 * to the garbage collector, 100 vectors take a tenth more CPU time, to fill new memory.
 */
function bodyOf(chunks: readonly Buffer[]): ResponseBody {
  let length = 0;
  for (const chunk of chunks) length += chunk.length;
  return length < largeBodyBytes
    ? chunks
    : { length, open: () => lendEach(chunks), isInMemory: true };
}
