/**
 * Strict base64 of float32 vectors, checked and decoded with WebAssembly SIMD: clients may have strict decoders. Every
 * vector is validated: all numbers finite, and not all zero.
 */

import { maxVectorText, wasm, wasmBuffer } from "./wasm.ts";

/** Characters that the WebAssembly code reads in one step. */
const step = 64;
/** The character for zero bits (A), and the padding (=). */
const [zero, padding] = [0x41, 0x3d];
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/**
 * The decoded length of `length` characters at the start of the wasm buffer. Undefined if they do not decode to whole
 * float32 numbers.
 */
function decodedLength(buffer: Buffer, length: number): number | undefined {
  if (length % 4 !== 0) return undefined;
  const all = (length / 4) * 3;
  if (length === 0 || buffer[length - 1] !== padding) return all % 4 === 0 ? all : undefined;
  const padded = buffer[length - 2] === padding ? 2 : 1;
  // The last character before the padding has unused bits: none of them may be set.
  const last = alphabet.indexOf(String.fromCharCode(buffer[length - padded - 1] as number));
  if (last < 0 || (last & (padded === 1 ? 0b11 : 0b1111)) !== 0) return undefined;
  return (all - padded) % 4 === 0 ? all - padded : undefined;
}

/** Fills the last step with zero characters. Returns the end of the step. */
function padToStep(buffer: Buffer, length: number, bytes: number): number {
  const end = Math.ceil(length / step) * step;
  const characters = Math.ceil((bytes * 4) / 3);
  if (characters < end) buffer.fill(zero, characters, end);
  return end;
}

/**
 * Decodes `length` characters at the start of the wasm buffer, in place. Returns the number of bytes; undefined if they
 * are not base64 of whole float32 numbers.
 */
function decodeInWasm(length: number): number | undefined {
  if (!wasm) return decodeText(wasmBuffer.toString("latin1", 0, length), wasmBuffer);
  const bytes = decodedLength(wasmBuffer, length);
  if (bytes === undefined) return undefined;
  return wasm.decodeBase64(0, padToStep(wasmBuffer, length, bytes), 0) === 0 ? bytes : undefined;
}

interface CheckedVector {
  /** The number of float32 values. */
  readonly dimensions: number;
  readonly validity: VectorValidity;
}

/**
 * Checks a vector, and decodes it only if the check needs the numbers. Undefined if it is not base64 of whole float32
 * numbers.
 */
function checkInWasm(length: number): CheckedVector | undefined {
  const bytes = wasm ? decodedLength(wasmBuffer, length) : decodeInWasm(length);
  if (bytes === undefined) return undefined;
  const numbers = bytes / 4;
  if (!wasm) return { dimensions: numbers, validity: checkVectorInWasm(bytes) };
  const end = padToStep(wasmBuffer, length, bytes);
  const result = wasm.classifyBase64(0, end);
  if (result < 0) return undefined;
  if (result < 2) return { dimensions: numbers, validity: result === 1 ? "valid" : "zero" };
  wasm.decodeBase64(0, end, 0);
  return { dimensions: numbers, validity: checkVectorInWasm(bytes) };
}

/** Checks the base64 text of a vector. Undefined if it is too long, or not base64 of whole float32 numbers. */
export function checkBase64(text: string): CheckedVector | undefined {
  if (text.length > maxVectorText) return undefined;
  const bytes = decodeText(text, wasmBuffer);
  if (bytes === undefined) return undefined;
  return { dimensions: bytes / 4, validity: checkVectorInWasm(bytes) };
}

/** Strict: Buffer's own decoder skips characters that are not base64, and accepts base64url. */
export function decodeText(text: string, into: Uint8Array): number | undefined {
  try {
    const { written } = into.setFromBase64(text, { lastChunkHandling: "strict" });
    // This decoder still skips white space. If it has, the length does not match.
    return written % 4 === 0 && Math.ceil(written / 3) * 4 === text.length ? written : undefined;
  } catch {
    return undefined;
  }
}

export type VectorValidity = "valid" | "zero" | "not-finite";

/** Bytes that the WebAssembly code reads in one step. */
const numberStep = 32;
const wasmFloats = new Float32Array(wasmBuffer.buffer, 0, maxVectorText / 4);

/** Checks the numbers in the first `bytes` bytes of the wasm buffer. */
export function checkVectorInWasm(bytes: number): VectorValidity {
  if (!wasm) return checkVector(new Float32Array(wasmBuffer.buffer, 0, bytes / 4));
  const end = Math.ceil(bytes / numberStep) * numberStep;
  // Bytes of an earlier vector may follow.
  if (end > bytes) wasmBuffer.fill(0, bytes, end);
  const result = wasm.classify(0, end);
  if (result === 1) return "valid";
  return result === 0 ? "zero" : "not-finite";
}

/**
 * The sum of squares shows both defects: it is 0 for a zero vector, and not finite if a number is not finite. The
 * square of a float32 is within the range of a double. There are four sums in parallel, because each addition to one
 * sum waits for the addition before it.
 */
export function checkVector(floats: Float32Array): VectorValidity {
  if (wasm && floats.length <= wasmFloats.length) {
    wasmFloats.set(floats);
    return checkVectorInWasm(floats.byteLength);
  }
  const whole = floats.length - (floats.length % 4);
  let [a, b, c, d] = [0, 0, 0, 0];
  for (let i = 0; i < whole; i += 4) {
    a += (floats[i] as number) ** 2;
    b += (floats[i + 1] as number) ** 2;
    c += (floats[i + 2] as number) ** 2;
    d += (floats[i + 3] as number) ** 2;
  }
  for (let i = whole; i < floats.length; i++) a += (floats[i] as number) ** 2;
  return verdict(a + b + c + d);
}

/** Checks numbers as float32, which clients convert them to. */
export function checkNumbers(numbers: readonly unknown[]): VectorValidity {
  let sum = 0;
  for (const number of numbers) {
    if (typeof number !== "number") return "not-finite";
    sum += Math.fround(number) ** 2;
  }
  return verdict(sum);
}

function verdict(squares: number): VectorValidity {
  if (squares > 0 && squares < Number.POSITIVE_INFINITY) return "valid";
  return squares === 0 ? "zero" : "not-finite";
}

/**
 * A base64 vector as bytes, which are sent on without a conversion. A vector of an upstream is a view of its response
 * (zero copy): a string of each would double the garbage. Immutable, and kept by the garbage collector.
 */
export class EncodedVector {
  /** The number of float32 values. */
  readonly dimensions: number;
  /** Whether its numbers are finite and not all zero. */
  readonly validity: VectorValidity;
  readonly text: Buffer;

  private constructor(text: Buffer, { dimensions, validity }: CheckedVector) {
    this.text = text;
    this.dimensions = dimensions;
    this.validity = validity;
  }

  /** Undefined if the text is too long, or not base64 of float32 numbers. */
  static parse(text: Buffer): EncodedVector | undefined {
    if (text.length > maxVectorText) return undefined;
    text.copy(wasmBuffer);
    const checked = checkInWasm(text.length);
    return checked && new EncodedVector(text, checked);
  }

  /** `numbers`: float32 numbers that were checked before. */
  static encode(numbers: Buffer): EncodedVector {
    const text = Buffer.from(numbers.toString("base64"), "latin1");
    return new EncodedVector(text, { dimensions: numbers.length / 4, validity: "valid" });
  }

  toString(): string {
    return this.text.toString("latin1");
  }

  /** Its numbers as bytes: a view, which the next decoding overwrites. */
  decode(): Buffer<ArrayBuffer> {
    return wasmBuffer.subarray(0, this.#decodeInWasm());
  }

  /** Copies its numbers. */
  decodeInto(bytes: Uint8Array, at: number): void {
    wasmBuffer.copy(bytes, at, 0, this.#decodeInWasm());
  }

  /** Returns the number of bytes. */
  #decodeInWasm(): number {
    this.text.copy(wasmBuffer);
    const length = decodeInWasm(this.text.length);
    // `parse` has checked the text: another length means that its bytes were changed or released since.
    if (length !== this.dimensions * 4)
      throw new Error("The bytes of a vector have changed since it was parsed.");
    return length;
  }
}
