/**
 * The WebAssembly modules that process every number of every response: SIMD is several times faster than JavaScript.
 * `numbers.wasm` reads vectors in base64 (`float32-base64.ts`), `decimals.wasm` those in JSON numbers
 * (`read-numbers.ts`), and `digits.wasm` prints them as JSON text.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isExecutable } from "../executable.ts";

type WasmFile = "numbers.wasm" | "decimals.wasm" | "digits.wasm";

/** In the executable a worker thread has a folder of its own, without the files. */
const folder = isExecutable ? "/$bunfs/root" : import.meta.dir;

/** Undefined on processors without SIMD: then JavaScript does the same work. */
function compile(file: WasmFile): WebAssembly.Module | undefined {
  try {
    return new WebAssembly.Module(readFileSync(join(folder, file)));
  } catch (error) {
    if (error instanceof WebAssembly.CompileError) return undefined;
    throw error;
  }
}

/** A new instance, with a memory of its own. */
const instantiate = <T>(module: WebAssembly.Module): T =>
  new WebAssembly.Instance(module).exports as unknown as T;

/** For the modules that use no SIMD. */
export function instantiateFile<T>(file: WasmFile): T {
  const module = compile(file);
  if (!module) throw new Error(`${file} does not compile, although it uses no SIMD.`);
  return instantiate<T>(module);
}

interface WasmExports {
  readonly memory: WebAssembly.Memory;
  classify(from: number, end: number): number;
  decodeBase64(from: number, end: number, to: number): number;
  classifyBase64(from: number, end: number): number;
}

const module = compile("numbers.wasm");

export const wasm: WasmExports | undefined = module && instantiate<WasmExports>(module);

/**
 * The most characters of a vector as base64, which are 196,608 numbers. The memory of an instance can grow and never
 * shrinks, so the text of a vector that an upstream makes up must not grow it.
 */
export const maxVectorText = 1024 * 1024;
/** After the text: the WebAssembly code reads and decodes whole steps. */
const stepBytes = 64;
const pageBytes = 64 * 1024;

/** The instance's own memory, so that inputs need not be copied into it. The next use overwrites it. */
export const wasmBuffer = memoryOf(wasm);

function memoryOf(instance: WasmExports | undefined): Buffer<ArrayBuffer> {
  const length = maxVectorText + stepBytes;
  if (!instance) return Buffer.from(new ArrayBuffer(length));
  const { memory } = instance;
  memory.grow(Math.ceil((length - memory.buffer.byteLength) / pageBytes));
  return Buffer.from(memory.buffer);
}

interface PrinterExports {
  readonly memory: WebAssembly.Memory;
  print(from: number, end: number, into: number): number;
}

/** Numbers printed at a time: they and their text fit into one page of memory. */
export const blockLength = 1024;
/** After the memory that the WebAssembly code uses itself. */
const numbersAt = 20 * 1024;
const textAt = numbersAt + 4 * blockLength;

/** Built when the first vector is printed: most clients request base64, and the start should not wait for it. */
let printer: ReturnType<typeof createPrinter> | undefined;

function createPrinter() {
  const { memory, print } = instantiateFile<PrinterExports>("digits.wasm");
  const source = new Float32Array(memory.buffer, numbersAt, blockLength);
  const text = new Uint8Array(memory.buffer);
  return (numbers: Float32Array, into: Uint8Array, at: number): number => {
    let end = at;
    for (let from = 0; from < numbers.length; from += blockLength) {
      const block = numbers.subarray(from, from + blockLength);
      source.set(block);
      const textEnd = print(numbersAt, numbersAt + block.byteLength, textAt);
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
 * Prints float32 numbers as JSON text: each as the shortest decimal that reads back as the same float32, laid out as
 * JavaScript lays out numbers. Printing is most of the work of a response in numbers, so it is done in WebAssembly.
 * Writes `[1,2.5,...]` into `into` at `at` and returns the end of the text. `into` has space for maxTextBytes(count).
 * A number that is not finite becomes null, as in JSON.stringify.
 */
export function printFloats(numbers: Float32Array, into: Uint8Array, at: number): number {
  printer ??= createPrinter();
  into[at] = openBracket;
  const end = printer(numbers, into, at + 1);
  // The closing bracket overwrites the comma after the last number.
  const last = numbers.length > 0 ? end - 1 : end;
  into[last] = closeBracket;
  return last + 1;
}

const openBracket = 0x5b;
const closeBracket = 0x5d;
