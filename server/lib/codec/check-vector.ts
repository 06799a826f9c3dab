/** Validates a vector: all numbers finite, and not all zero. Runs on every number of every response. */
import { wasm, wasmBuffer } from "./wasm-memory.ts";

export type VectorValidity = "valid" | "zero" | "not-finite";

/** Bytes that the WebAssembly code reads in one step. */
const step = 32;

/** Checks the numbers in the first `bytes` bytes of the wasm buffer. */
export function checkVectorInWasm(bytes: number): VectorValidity {
  const buffer = wasmBuffer(bytes);
  if (!wasm) return checkVector(new Float32Array(buffer.buffer, 0, bytes / 4));
  const end = Math.ceil(bytes / step) * step;
  // Bytes of an earlier vector may follow.
  if (end > bytes) buffer.fill(0, bytes, end);
  const result = wasm.classify(0, end);
  return result === 1 ? "valid" : result === 0 ? "zero" : "not-finite";
}

/**
 * One sum answers both: the sum of squares is 0 for a zero vector and not finite for a number that is not; float32
 * squared stays within the range of a double. Four sums in parallel, since each addition would wait for the one before.
 */
export function checkVector(floats: Float32Array): VectorValidity {
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

const verdict = (squares: number): VectorValidity =>
  squares > 0 && squares < Number.POSITIVE_INFINITY
    ? "valid"
    : squares === 0
      ? "zero"
      : "not-finite";
