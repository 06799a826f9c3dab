/** Base64 of float32 numbers, as strict decoders want it: callers have those. */

import { checkVectorInWasm, type VectorValidity } from "./check-vector.ts";
import { wasm, wasmBuffer } from "./wasm-memory.ts";

/** What the machine reads in one round. */
const step = 64;
/** The sign that stands for zero, and the one that stands for nothing. */
const [zero, nothing] = [0x41, 0x3d];
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Of so many signs at the beginning of the desk: how many bytes they stand for. Undefined where they are not base64 of whole numbers. */
function bytesOf(desk: Buffer, length: number): number | undefined {
  if (length % 4 !== 0) return undefined;
  const all = (length / 4) * 3;
  if (length === 0 || desk[length - 1] !== nothing) return all % 4 === 0 ? all : undefined;
  const padded = desk[length - 2] === nothing ? 2 : 1;
  // The last sign before them has bits that stand for nothing: none of them may be set.
  const last = alphabet.indexOf(String.fromCharCode(desk[length - padded - 1] as number));
  if (last < 0 || (last & (padded === 1 ? 0b11 : 0b1111)) !== 0) return undefined;
  return (all - padded) % 4 === 0 ? all - padded : undefined;
}

/** With zeros in the place of what is missing in the last round. Returns where that ends. */
function filledUp(desk: Buffer, length: number, bytes: number): number {
  const end = Math.ceil(length / step) * step;
  const signs = Math.ceil((bytes * 4) / 3);
  if (signs < end) desk.fill(zero, signs, end);
  return end;
}

/** Decodes so many signs at the beginning of the desk, in place. Returns how many bytes; undefined as above. */
export function decodeInWasm(length: number): number | undefined {
  const desk = wasmBuffer(length);
  if (!wasm) return decodeText(desk.toString("latin1", 0, length), desk);
  const bytes = bytesOf(desk, length);
  if (bytes === undefined) return undefined;
  return wasm.decode(0, filledUp(desk, length, bytes), 0) === 0 ? bytes : undefined;
}

/**
 * Plain signs of any bytes, as many whole rounds as there are at the beginning of the parts together. Returns how many
 * signs that were: none where the machine is not there, or some of them are no plain signs.
 */
export function decodeBlocks(parts: readonly Uint8Array[], into: Uint8Array): number {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const end = length - (length % step);
  if (!wasm || end === 0) return 0;
  const desk = wasmBuffer(length);
  let at = 0;
  for (const part of parts) {
    desk.set(part, at);
    at += part.length;
  }
  if (wasm.decode(0, end, 0) !== 0) return 0;
  into.set(desk.subarray(0, (end / 4) * 3));
  return end;
}

export interface CheckedVector {
  /** How many numbers. */
  readonly dimensions: number;
  readonly validity: VectorValidity;
}

/** The same without decoding, where that is not needed to know whether they can be believed. */
export function checkInWasm(length: number): CheckedVector | undefined {
  const desk = wasmBuffer(length);
  const bytes = wasm ? bytesOf(desk, length) : decodeInWasm(length);
  if (bytes === undefined) return undefined;
  const numbers = bytes / 4;
  if (!wasm) return { dimensions: numbers, validity: checkVectorInWasm(bytes) };
  const end = filledUp(desk, length, bytes);
  const seen = wasm.check(0, end);
  if (seen < 0) return undefined;
  if (seen < 2) return { dimensions: numbers, validity: seen === 1 ? "sound" : "zero" };
  wasm.decode(0, end, 0);
  return { dimensions: numbers, validity: checkVectorInWasm(bytes) };
}

/** Buffer's own decoder would skip what is not base64, and take the alphabet made for addresses. */
export function decodeText(text: string, into: Uint8Array): number | undefined {
  try {
    const { written } = into.setFromBase64(text, { lastChunkHandling: "strict" });
    // White space is passed over even so; then the length does not fit.
    return written % 4 === 0 && Math.ceil(written / 3) * 4 === text.length ? written : undefined;
  } catch {
    return undefined;
  }
}
