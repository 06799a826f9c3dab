/** Vectors between their two wire forms: JSON numbers, and base64 of packed little-endian float32. */
import type { Vector } from "../upstream/contract.ts";

/** Undefined when the text is not canonical base64 of whole float32 numbers. */
export function fromBase64(text: string): Float32Array | undefined {
  const bytes = Buffer.from(text, "base64");
  // Buffer skips what is not base64; then the length no longer fits.
  if (bytes.length % 4 !== 0 || Math.ceil(bytes.length / 3) * 4 !== text.length) return undefined;
  // A pooled Buffer may begin anywhere; float32 must begin at a multiple of four.
  if (bytes.byteOffset % 4 === 0) {
    return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  }
  return new Float32Array(Uint8Array.from(bytes).buffer);
}

/** A place to decode into, so that looking at a vector leaves nothing for the garbage collector. */
let desk = Buffer.alloc(64 * 1024);

/** As `fromBase64`, for a look only: what it gives is overwritten by the next look. */
export function glance(text: string): Float32Array | undefined {
  const length = Math.floor((text.length * 3) / 4);
  if (length > desk.length) desk = Buffer.alloc(length * 2);
  const written = desk.write(text, "base64");
  if (written % 4 !== 0 || Math.ceil(written / 3) * 4 !== text.length) return undefined;
  return new Float32Array(desk.buffer, desk.byteOffset, written / 4);
}

export function toBase64(vector: Vector): string {
  if (typeof vector === "string") return vector;
  const packed = vector instanceof Float32Array ? vector : Float32Array.from(vector);
  return Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength).toString("base64");
}

/** JSON text of a vector in the caller's format. */
export function printVector(vector: Vector, encoding: "float" | "base64"): string {
  if (encoding === "base64") return `"${toBase64(vector)}"`;
  if (typeof vector === "string") return printFloats(fromBase64(vector) ?? new Float32Array());
  return vector instanceof Float32Array ? printFloats(vector) : JSON.stringify(vector);
}

const printFloats = (floats: Float32Array): string => `[${floats.join(",")}]`;
