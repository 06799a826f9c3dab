/**
 * Quantized vectors: packs float32 vectors into bits, reads the vectors that a vendor quantized, and makes the response
 * to a request for quantized vectors.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import { packBits } from "../lib/packed-bits.ts";
import { nextTurn } from "../lib/tasks.ts";
import type { Send } from "../request/stage.ts";
import type {
  EmbeddingsQuery,
  EmbeddingsResponse,
  OutputType,
  QuantizedType,
  QuantizedVector,
  Vector,
} from "../upstream/contract.ts";
import { invalidResponse } from "../upstream/invalid-response.ts";
import { dimensionsOf, floatsOf, inspectVector, isQuantized } from "./vector-formats.ts";

/** One bit for each dimension. */
export const isBits = (type: QuantizedType): boolean => type === "binary" || type === "ubinary";

/**
 * Sends a request for quantized vectors. Targets and the cache know `ubinary` only: `binary` is the same bytes minus
 * 128. `fromFloats`: no target makes the type, so the request is sent, cached and batched like one for float32 vectors.
 */
export const sendQuantized =
  (
    send: Send<EmbeddingsQuery, EmbeddingsResponse>,
    { type, field }: OutputType,
    fromFloats: boolean,
  ): Send<EmbeddingsQuery, EmbeddingsResponse> =>
  async (request) => {
    const { outputType: _, ...plain } = request.query;
    const sent: OutputType = { type: type === "binary" ? "ubinary" : type, field };
    const query = fromFloats ? plain : { ...plain, outputType: sent };
    const response = await send({ ...request, query });
    const packed = fromFloats ? await packResponse(response, { type, field }) : response;
    return type === "binary" ? withVectors(packed, packed.vectors.map(signed)) : packed;
  };

/** The numbers that are packed in one step: a few milliseconds. */
const numbersPerStep = 1_000_000;

/** The response with `ubinary` vectors in place of float32 vectors. */
export async function packResponse(
  response: EmbeddingsResponse,
  outputType: OutputType,
): Promise<EmbeddingsResponse> {
  const vectors: Vector[] = [];
  let packed = 0;
  for (const vector of response.vectors) {
    vectors.push(packVector(vector, outputType));
    packed += dimensionsOf(vector);
    if (packed < numbersPerStep) continue;
    packed = 0;
    await nextTurn();
  }
  return withVectors(response, vectors);
}

/** Checks the numbers first: bits do not show a defect of a vector. */
function packVector(vector: Vector, outputType: OutputType): QuantizedVector {
  const floats = floatsOf(vector);
  // Bits are those of the float32 numbers, which the cache holds.
  const numbers = floats instanceof Float32Array ? floats : Float32Array.from(floats ?? []);
  if (inspectVector(numbers)?.validity !== "valid")
    throw invalidResponse("a vector contains a value that is not a finite number, or is all zeros");
  if (numbers.length % 8 !== 0) throw notWholeBytes(numbers.length, outputType);
  return packBits(numbers);
}

export const notWholeBytes = (dimensions: number, { type, field }: OutputType): GatewayError =>
  new GatewayError(
    "invalid_value",
    `Invalid value: '${type}'. It packs eight dimensions into a byte, and ${dimensions} dimensions are not a multiple of 8. Send other \`dimensions\`, if the model supports them, or omit '${field}'.`,
    { param: field },
  );

/** The upstream's body has the upstream's vectors, so it is not passed on. */
function withVectors(response: EmbeddingsResponse, vectors: readonly Vector[]): EmbeddingsResponse {
  const { verbatim: _, ...others } = response;
  return { ...others, vectors };
}

function signed(vector: Vector): Vector {
  if (!(vector instanceof Uint8Array)) return vector;
  const bytes = new Int8Array(vector.length);
  // A loop: `Int8Array.from` takes twenty times as long.
  for (let at = 0; at < bytes.length; at++) bytes[at] = (vector[at] as number) - 128;
  return bytes;
}

/**
 * The response with the vendor's quantized vectors as bytes. Throws if a number is not an integer of the type's range.
 */
export function readQuantized(
  response: EmbeddingsResponse,
  { type }: OutputType,
): EmbeddingsResponse {
  const vectors = response.vectors.map((vector, at) => {
    const bytes = isQuantized(vector) ? vector : bytesOf(vector, type);
    if (!bytes) throw invalidResponse(`vector ${at} is not a list of ${type} numbers`);
    return bytes;
  });
  return withVectors(response, vectors);
}

function bytesOf(vector: Vector, type: QuantizedType): QuantizedVector | undefined {
  if (!Array.isArray(vector) && !(vector instanceof Float32Array)) return undefined;
  const numbers: ArrayLike<unknown> = vector;
  const bytes = type === "int8" ? new Int8Array(vector.length) : new Uint8Array(vector.length);
  for (let at = 0; at < bytes.length; at++) {
    bytes[at] = Number(numbers[at]);
    // The typed array wraps a number out of range and cuts fractions: then the vector does not have this type.
    if (bytes[at] !== numbers[at]) return undefined;
  }
  return bytes;
}
