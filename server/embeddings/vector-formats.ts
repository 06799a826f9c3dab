/**
 * Vectors in their two wire formats, JSON numbers and base64 of packed little-endian float32: encodes, decodes,
 * inspects and truncates them (Matryoshka).
 */
import {
  checkBase64,
  checkNumbers,
  checkVector,
  decodeText,
  EncodedVector,
  type VectorValidity,
} from "../lib/codec/index.ts";
import type { Vector } from "../upstream/contract.ts";

/** Decodes a base64 vector. Undefined if the text is not base64 of whole float32 numbers. */
export function decodeVector(text: string): Float32Array<ArrayBuffer> | undefined {
  const bytes = new Uint8Array(Math.floor((text.length * 3) / 4));
  const written = decodeText(text, bytes);
  return written === undefined ? undefined : new Float32Array(bytes.buffer, 0, written / 4);
}

/** The vector's numbers. Undefined if a base64 vector cannot be decoded. */
export function floatsOf(vector: Vector): Float32Array | readonly number[] | undefined {
  if (typeof vector === "string") return decodeVector(vector);
  if (!(vector instanceof EncodedVector)) return vector;
  const { buffer, length } = vector.decode();
  return new Float32Array(buffer.slice(0, length));
}

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
  const validity = vector instanceof Float32Array ? checkVector(vector) : checkNumbers(vector);
  return { length: vector.length, validity };
}

/** The number of dimensions; -1 if the text is not a base64 vector. */
export function dimensionsOf(vector: Vector): number {
  if (vector instanceof EncodedVector) return vector.dimensions;
  if (typeof vector !== "string") return vector.length;
  const padding = vector.endsWith("==") ? 2 : vector.endsWith("=") ? 1 : 0;
  const bytes = (vector.length * 3) / 4 - padding;
  return bytes % 4 === 0 ? bytes / 4 : -1;
}

/** A vector that stays valid after the response that holds it is released. */
export const detachVector = (vector: Vector): Vector =>
  vector instanceof EncodedVector ? String(vector) : vector;

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
