/** What is done to every number of every answer is done in WebAssembly: several in one step, or many times faster. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

type WasmFile = "numbers.wasm" | "digits.wasm";

/** Undefined on processors without the instructions for it: then JavaScript does the same. */
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
