/**
 * Float32 numbers as JSON text, with the very characters that JavaScript prints for them. Nothing else that an answer in
 * numbers needs takes so long.
 */
import { assemble } from "./assemble.ts";

interface Machine {
  readonly memory: WebAssembly.Memory;
  print(from: number, end: number, into: number): number;
}

/** So many numbers are printed at a time: they and their text fit into one page of memory. */
export const blockLength = 1024;
/** Behind what the machine keeps for itself. */
const numbersAt = 8 * 1024;
const textAt = numbersAt + 4 * blockLength;

/** When the first vector is printed: most callers want base64, and a start should not wait for it. */
let printer: ReturnType<typeof build> | undefined;

function build() {
  const machine = assemble<Machine>("digits.wasm");
  if (!machine) return { print: printInJavaScript };
  const { buffer } = machine.memory;
  const desk = new Float32Array(buffer, numbersAt, blockLength);
  const text = new Uint8Array(buffer);
  const print = (numbers: Float32Array, into: Uint8Array, at: number): number => {
    into[at] = 0x5b;
    let end = at + 1;
    for (let from = 0; from < numbers.length; from += blockLength) {
      const block = numbers.subarray(from, from + blockLength);
      desk.set(block);
      const textEnd = machine.print(numbersAt, numbersAt + block.byteLength, textAt);
      into.set(text.subarray(textAt, textEnd), end);
      end += textEnd - textAt;
    }
    // Over the comma after the last number.
    into[end - 1] = 0x5d;
    return end;
  };
  return { print };
}

/** Two brackets, and for each number a comma and what -0.0000012345678901234567 takes. */
export const mostBytes = (count: number): number => 2 + 26 * count;

/**
 * `[1,2.5,...]` into `into` from `at` on; returns where it ends. `into` has mostBytes(count) of
 * room. What is not finite becomes null, as JSON.stringify has it.
 */
export function printFloats(numbers: Float32Array, into: Uint8Array, at: number): number {
  if (numbers.length === 0) return printInJavaScript(numbers, into, at);
  printer ??= build();
  return printer.print(numbers, into, at);
}

/** The same, several times slower. */
export function printInJavaScript(numbers: Float32Array, into: Uint8Array, at: number): number {
  const text = `[${Array.from(numbers, print).join(",")}]`;
  return at + encoder.encodeInto(text, into.subarray(at)).written;
}

const encoder = new TextEncoder();

/** JSON has a negative zero; JavaScript prints none. */
const print = (number: number): string =>
  Object.is(number, -0) ? "-0" : Number.isFinite(number) ? String(number) : "null";
