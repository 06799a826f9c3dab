/**
 * The WebAssembly modules that process every number of every response: SIMD is several times faster than JavaScript.
 * The memory of an instance can grow and never shrinks, so an instance whose memory has grown large is replaced by a
 * new one once the large input is over.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

type WasmFile = "numbers.wasm" | "digits.wasm";

/** Undefined on processors without SIMD: then JavaScript does the same work. */
export function compile(file: WasmFile): WebAssembly.Module | undefined {
  try {
    return new WebAssembly.Module(readFileSync(join(import.meta.dir, file)));
  } catch (error) {
    if (error instanceof WebAssembly.CompileError) return undefined;
    throw error;
  }
}

/** A new instance, with a memory of its own. */
const instantiate = <T>(module: WebAssembly.Module): T =>
  new WebAssembly.Instance(module).exports as unknown as T;

export function loadWasm<T>(file: WasmFile): T | undefined {
  const module = compile(file);
  return module && instantiate<T>(module);
}

interface WasmExports {
  readonly memory: WebAssembly.Memory;
  classify(from: number, end: number): number;
  decodeBase64(from: number, end: number, to: number): number;
  classifyBase64(from: number, end: number): number;
}

const module = compile("numbers.wasm");

/** Replaced when its memory is large: read it for each use, and keep no reference to it. */
export let wasm: WasmExports | undefined = module && instantiate<WasmExports>(module);

const pageBytes = 64 * 1024;
/** Added to the requested size: the WebAssembly code reads and decodes whole steps. */
const stepBytes = 64;
/** Memory up to this size is kept: the base64 of the longest vectors takes less than a tenth of it. */
const retainedBytes = 1024 * 1024;
/** A new instance reserves address space, so large inputs that follow one another use the same instance. */
const replaceAfterMs = 2000;

/** The instance's own memory, so that inputs need not be copied into it. */
let buffer = memoryOf(wasm);
let replacing: ReturnType<typeof setTimeout> | undefined;

function memoryOf(instance: WasmExports | undefined): Buffer {
  return Buffer.from(instance ? instance.memory.buffer : new ArrayBuffer(pageBytes));
}

/**
 * A buffer for `bytes` bytes and one step more. The next use overwrites it, and it may be replaced after this turn of
 * the event loop.
 */
export function wasmBuffer(bytes: number): Buffer<ArrayBuffer> {
  const missing = bytes + stepBytes - buffer.length;
  if (missing > 0) {
    if (wasm) {
      wasm.memory.grow(Math.ceil(missing / pageBytes));
      buffer = memoryOf(wasm);
    } else buffer = Buffer.from(new ArrayBuffer(bytes + stepBytes));
    if (buffer.length > retainedBytes) replaceLater();
  }
  return buffer as Buffer<ArrayBuffer>;
}

/** The memory's current size in bytes. */
export const wasmBufferBytes = (): number => buffer.length;

function replaceLater(): void {
  replacing ??= setTimeout(() => {
    replacing = undefined;
    wasm = module && instantiate<WasmExports>(module);
    buffer = memoryOf(wasm);
  }, replaceAfterMs);
  replacing.unref();
}
