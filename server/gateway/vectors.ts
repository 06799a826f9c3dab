/** Vectors between their two wire forms: JSON numbers, and base64 of packed little-endian float32. */
import type { Vector } from "../upstream/contract.ts";
import { deskFor, type Soundness, soundnessOnDesk } from "./soundness/soundness.ts";

/** Undefined when the text is not base64 of whole float32 numbers, as strict decoders want it: callers have those. */
export function fromBase64(text: string): Float32Array<ArrayBuffer> | undefined {
  const bytes = new Uint8Array(Math.floor((text.length * 3) / 4));
  const written = decode(text, bytes);
  return written === undefined ? undefined : new Float32Array(bytes.buffer, 0, written / 4);
}

/** How many numbers it has, and whether they can be believed. Undefined as above. Leaves nothing for the garbage collector. */
export function inspect(text: string): { length: number; soundness: Soundness } | undefined {
  const written = decode(text, deskFor(Math.floor((text.length * 3) / 4)));
  if (written === undefined) return undefined;
  return { length: written / 4, soundness: soundnessOnDesk(written) };
}

/** Buffer's own decoder would skip what is not base64, and take the alphabet made for addresses. */
function decode(text: string, into: Uint8Array): number | undefined {
  try {
    const { written } = into.setFromBase64(text, { lastChunkHandling: "strict" });
    // White space is passed over even so; then the length does not fit.
    return written % 4 === 0 && Math.ceil(written / 3) * 4 === text.length ? written : undefined;
  } catch {
    return undefined;
  }
}

/** How many numbers; -1 where it is no vector at all. */
export function lengthOf(vector: Vector): number {
  if (typeof vector !== "string") return vector.length;
  const padding = vector.endsWith("==") ? 2 : vector.endsWith("=") ? 1 : 0;
  const bytes = (vector.length * 3) / 4 - padding;
  return bytes % 4 === 0 ? bytes / 4 : -1;
}

/** The beginning of a longer vector, brought to length 1 again. A vector that is short enough stays what it is. */
export function cutShort(vector: Vector, length: number): Vector {
  if (lengthOf(vector) <= length) return vector;
  const whole = typeof vector === "string" ? fromBase64(vector) : vector;
  if (!whole) return vector;
  const beginning = Float32Array.from(whole.slice(0, length));
  let squares = 0;
  for (const number of beginning) squares += number * number;
  const norm = Math.sqrt(squares);
  // All zeros has no direction; the check that follows refuses it.
  return norm === 0 ? beginning : beginning.map((number) => number / norm);
}

export function toBase64(vector: Vector): string {
  if (typeof vector === "string") return vector;
  const packed = vector instanceof Float32Array ? vector : Float32Array.from(vector);
  return Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength).toString("base64");
}

/** A vector as JSON numbers. */
export function printNumbers(vector: Vector): string {
  const numbers = typeof vector === "string" ? (fromBase64(vector) ?? []) : vector;
  if (numbers.includes(0)) return `[${Array.from(numbers, withSign).join(",")}]`;
  return numbers instanceof Float32Array ? `[${numbers.join(",")}]` : JSON.stringify(numbers);
}

/** JSON has a negative zero; JavaScript prints none. */
const withSign = (number: number): string => (Object.is(number, -0) ? "-0" : String(number));
