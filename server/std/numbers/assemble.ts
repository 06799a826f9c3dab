/** What is done to every number of every answer is done in WebAssembly: several in one step, or many times faster. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Undefined on processors without the instructions for it: then JavaScript does the same. */
export function assemble<T>(file: "numbers.wasm" | "digits.wasm"): T | undefined {
  try {
    const module = new WebAssembly.Module(readFileSync(join(import.meta.dir, file)));
    return new WebAssembly.Instance(module).exports as unknown as T;
  } catch (error) {
    if (error instanceof WebAssembly.CompileError) return undefined;
    throw error;
  }
}
