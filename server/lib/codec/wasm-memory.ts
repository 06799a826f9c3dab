/**
 * The WebAssembly instance that checks and decodes numbers, and its memory. The memory of an instance can grow and never
 * shrinks, so an instance whose memory has grown large is replaced by a new one once the large input is over.
 */
import { compile, instantiate } from "./load-wasm.ts";

interface Machine {
  readonly memory: WebAssembly.Memory;
  look(from: number, end: number): number;
  decode(from: number, end: number, to: number): number;
  check(from: number, end: number): number;
}

const module = compile("numbers.wasm");

/** Replaced when its memory is large: read it for each use, and keep no reference to it. */
export let wasm: Machine | undefined = module && instantiate<Machine>(module);

const pageBytes = 64 * 1024;
/** Beyond what was asked for: the machine looks at whole steps, and decodes in larger ones. */
const spare = 64;
/** Memory up to this size is kept: the base64 of the longest vectors takes less than a tenth of it. */
const keptBytes = 1024 * 1024;
/** An instance reserves address space, so large inputs that follow one another use the same. */
const replaceAfterMs = 2000;

/** The machine's own memory, so that what lies there need not be copied to it. */
let desk = memoryOf(wasm);
let replacing: ReturnType<typeof setTimeout> | undefined;

function memoryOf(instance: Machine | undefined): Buffer {
  return Buffer.from(instance ? instance.memory.buffer : new ArrayBuffer(pageBytes));
}

/** A place for so many bytes, and a step more. What lies there is overwritten by the next use, and gone after this turn. */
export function wasmBuffer(bytes: number): Buffer<ArrayBuffer> {
  const missing = bytes + spare - desk.length;
  if (missing > 0) {
    if (wasm) {
      wasm.memory.grow(Math.ceil(missing / pageBytes));
      desk = memoryOf(wasm);
    } else desk = Buffer.from(new ArrayBuffer(bytes + spare));
    if (desk.length > keptBytes) replaceLater();
  }
  return desk as Buffer<ArrayBuffer>;
}

/** Bytes that the memory takes at this moment. */
export const wasmBufferBytes = (): number => desk.length;

function replaceLater(): void {
  replacing ??= setTimeout(() => {
    replacing = undefined;
    wasm = module && instantiate<Machine>(module);
    desk = memoryOf(wasm);
  }, replaceAfterMs);
  replacing.unref();
}
