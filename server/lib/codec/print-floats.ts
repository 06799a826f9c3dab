/**
 * Prints float32 numbers as JSON text: each as the shortest decimal that reads back as the same float32, laid out as
 * JavaScript lays out numbers. Printing is most of the work of a response in numbers, so it is done in WebAssembly.
 */
import { loadWasm } from "./wasm-memory.ts";

interface WasmExports {
  readonly memory: WebAssembly.Memory;
  print(from: number, end: number, into: number): number;
}

/** Numbers printed at a time: they and their text fit into one page of memory. */
export const blockLength = 1024;
/** After the memory that the WebAssembly code uses itself. */
const numbersAt = 20 * 1024;
const textAt = numbersAt + 4 * blockLength;

/** Built when the first vector is printed: most clients request base64, and the start should not wait for it. */
let printer: ReturnType<typeof build> | undefined;

function build() {
  const wasm = loadWasm<WasmExports>("digits.wasm");
  if (!wasm) throw new Error("digits.wasm does not compile, although it uses no SIMD.");
  const { buffer } = wasm.memory;
  const source = new Float32Array(buffer, numbersAt, blockLength);
  const text = new Uint8Array(buffer);
  return (numbers: Float32Array, into: Uint8Array, at: number): number => {
    let end = at;
    for (let from = 0; from < numbers.length; from += blockLength) {
      const block = numbers.subarray(from, from + blockLength);
      source.set(block);
      const textEnd = wasm.print(numbersAt, numbersAt + block.byteLength, textAt);
      into.set(text.subarray(textAt, textEnd), end);
      end += textEnd - textAt;
    }
    return end;
  };
}

/**
 * Upper bound of the text: two brackets, and per number a comma and 22 characters, as in -123456790000000000000, the
 * longest.
 */
export const maxTextBytes = (count: number): number => 2 + 23 * count;

/**
 * Writes `[1,2.5,...]` into `into` at `at` and returns the end of the text. `into` has room for maxTextBytes(count).
 * A number that is not finite becomes null, as in JSON.stringify.
 */
export function printFloats(numbers: Float32Array, into: Uint8Array, at: number): number {
  printer ??= build();
  into[at] = openBracket;
  const end = printer(numbers, into, at + 1);
  // The closing bracket overwrites the comma after the last number.
  const last = numbers.length > 0 ? end - 1 : end;
  into[last] = closeBracket;
  return last + 1;
}

const openBracket = 0x5b;
const closeBracket = 0x5d;
