/** Can the numbers of a vector be believed: finite, and not all zero? Asked of every number of every answer. */
import { wasm, wasmBuffer } from "./wasm-memory.ts";

export type VectorValidity = "sound" | "zero" | "not-finite";

/** What the machine looks at in one round. */
const step = 32;

/** Of the numbers in so many bytes at the beginning of the desk. */
export function checkVectorInWasm(bytes: number): VectorValidity {
  const desk = wasmBuffer(bytes);
  if (!wasm) return checkVector(new Float32Array(desk.buffer, 0, bytes / 4));
  const end = Math.ceil(bytes / step) * step;
  // What an earlier vector has left there is not this one's.
  if (end > bytes) desk.fill(0, bytes, end);
  const seen = wasm.look(0, end);
  return seen === 1 ? "sound" : seen === 0 ? "zero" : "not-finite";
}

/**
 * Both in one number: the sum of the squares tells, and float32 squared never leaves the range of a double. Four sums at
 * a time, as one would wait for itself.
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

/** As float32, which is what every caller makes of them in the end. */
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
    ? "sound"
    : squares === 0
      ? "zero"
      : "not-finite";
