/** Compiles a `.wat` and compares it with its `.wasm`; with UPDATE_GOLDENS writes the `.wasm`. */
import { expect } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import wabt from "wabt";

const folder = join(import.meta.dir, "../../server/lib/vector-codec");

/** `edit`: inserts the tables that are computed at compile time. */
export async function expectCompiled(name: string, edit = (text: string) => text): Promise<void> {
  const { parseWat } = await wabt();
  const text = edit(readFileSync(join(folder, `${name}.wat`), "utf8"));
  const parsed = parseWat(`${name}.wat`, text, { simd: true, relaxed_simd: true });
  // Invalid code would not be noticed: the gateway falls back to JavaScript.
  parsed.validate();
  const binary = Buffer.from(parsed.toBinary({}).buffer);
  const file = join(folder, `${name}.wasm`);
  if (process.env.UPDATE_GOLDENS) writeFileSync(file, binary);
  expect(readFileSync(file).equals(binary)).toBe(true);
}
