/** Reads the body of an embeddings response: one vector for each text, in the order of the texts. */
import { checkVector } from "../../server/lib/vector-codec/index.ts";
import type { NumberType, Vector } from "./number-types.ts";
import { ServerError } from "./server-error.ts";

export interface Embedded {
  readonly vectors: readonly Vector[];
  /** Undefined if the server did not count them. */
  readonly tokens: number | undefined;
}

interface WireResponse {
  readonly data?: readonly { readonly index?: unknown; readonly embedding?: unknown }[];
  readonly usage?: { readonly prompt_tokens?: unknown; readonly total_tokens?: unknown };
}

/** Throws ServerError if a vector is missing, duplicate or invalid. */
export function readVectors(body: string, count: number, type: NumberType): Embedded {
  const { data, usage } = parse(body);
  if (!Array.isArray(data) || data.length !== count) {
    const got = Array.isArray(data) ? data.length : "no";
    throw ServerError.ofInvalidResponse(`${got} vectors for ${count} texts.`);
  }
  const vectors: Vector[] = [];
  for (const [at, { index = at, embedding }] of data.entries()) {
    const place = Number(index);
    if (vectors[place] !== undefined || !(place >= 0 && place < count))
      throw ServerError.ofInvalidResponse(`the index ${String(index)} is duplicate or too large.`);
    vectors[place] = type.name === "float" ? decode(embedding) : quantized(embedding, type);
  }
  const tokens = Number(usage?.prompt_tokens ?? usage?.total_tokens ?? 0);
  return { vectors, tokens: tokens > 0 ? tokens : undefined };
}

function parse(body: string): WireResponse {
  try {
    const value: WireResponse | null = JSON.parse(body);
    return value ?? {};
  } catch {
    throw ServerError.ofInvalidResponse("it is not JSON.");
  }
}

/** Servers that do not know `encoding_format` send numbers. */
function decode(embedding: unknown): Float32Array {
  const vector = Array.isArray(embedding)
    ? Float32Array.from(embedding, Number)
    : decodeBase64(embedding);
  if (vector.length === 0 || checkVector(vector) === "not-finite")
    throw ServerError.ofInvalidResponse("a vector is empty or not finite.");
  return vector;
}

/** Throws ServerError for good: a server that ignores `output_dtype` sends float32 numbers each time. */
function quantized(embedding: unknown, type: NumberType): Vector {
  const numbers: readonly unknown[] = Array.isArray(embedding) ? embedding : [];
  const vector = type.from(numbers);
  if (vector.length > 0 && vector.every((number, at) => number === numbers[at])) return vector;
  throw new ServerError(
    `The server sent vectors that are not ${type.name}. It may not support output_dtype: leave out --output-dtype.`,
    { isTemporary: false },
  );
}

function decodeBase64(embedding: unknown): Float32Array {
  const bytes = Buffer.from(typeof embedding === "string" ? embedding : "", "base64");
  if (bytes.length % 4 !== 0)
    throw ServerError.ofInvalidResponse("a vector is not base64 of float32 numbers.");
  // A copy: the buffer of a Buffer need not be aligned.
  return new Float32Array(new Uint8Array(bytes).buffer);
}
