/**
 * Can the numbers of a vector be believed: finite, and not all zero? Asked of every number of every answer, so it is
 * answered in WebAssembly, which looks at four in one step; where the machine cannot do that, in JavaScript.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export type Soundness = "sound" | "zero" | "not-finite";

interface Machine {
  readonly memory: WebAssembly.Memory;
  look(from: number, end: number): number;
}

/** Undefined on processors without the instructions for it. */
function build(): Machine | undefined {
  try {
    const module = new WebAssembly.Module(readFileSync(join(import.meta.dir, "soundness.wasm")));
    return new WebAssembly.Instance(module).exports as unknown as Machine;
  } catch (error) {
    if (error instanceof WebAssembly.CompileError) return undefined;
    throw error;
  }
}

const machine = build();
const pageBytes = 64 * 1024;
/** What it looks at in one round. */
const step = 32;

/** The machine's own memory, so that what is decoded there need not be copied to it. */
let desk = machine ? new Uint8Array(machine.memory.buffer) : new Uint8Array(pageBytes);

/** A place for so many bytes. What lies there is overwritten by the next who asks. */
export function deskFor(bytes: number): Uint8Array<ArrayBuffer> {
  const missing = bytes + step - desk.length;
  if (missing > 0 && machine) {
    machine.memory.grow(Math.ceil(missing / pageBytes));
    desk = new Uint8Array(machine.memory.buffer);
  } else if (missing > 0) desk = new Uint8Array(bytes + step);
  return desk as Uint8Array<ArrayBuffer>;
}

/** Of the numbers in so many bytes at the beginning of the desk. */
export function soundnessOnDesk(bytes: number): Soundness {
  if (!machine) return soundnessOf(new Float32Array(desk.buffer, 0, bytes / 4));
  const end = Math.ceil(bytes / step) * step;
  // What an earlier vector has left there is not this one's.
  if (end > bytes) desk.fill(0, bytes, end);
  const seen = machine.look(0, end);
  return seen === 1 ? "sound" : seen === 0 ? "zero" : "not-finite";
}

/**
 * Both in one number: the sum of the squares tells, and float32 squared never leaves the range of a double. Four sums at
 * a time, as one would wait for itself.
 */
export function soundnessOf(floats: Float32Array): Soundness {
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
export function soundnessOfNumbers(numbers: readonly unknown[]): Soundness {
  let sum = 0;
  for (const number of numbers) {
    if (typeof number !== "number") return "not-finite";
    sum += Math.fround(number) ** 2;
  }
  return verdict(sum);
}

const verdict = (squares: number): Soundness =>
  squares > 0 && squares < Number.POSITIVE_INFINITY
    ? "sound"
    : squares === 0
      ? "zero"
      : "not-finite";
