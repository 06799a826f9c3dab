/**
 * Loads the WebAssembly modules that process every number of every response: SIMD is several times faster than
 * JavaScript.
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
export const instantiate = <T>(module: WebAssembly.Module): T =>
  new WebAssembly.Instance(module).exports as unknown as T;

export function loadWasm<T>(file: WasmFile): T | undefined {
  const module = compile(file);
  return module && instantiate<T>(module);
}
