/** What is run is what is written: holds a `.wasm` of the numbers to its `.wat`, or with UPDATE_GOLDENS writes it anew. */
import { expect } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import wabt from "wabt";

const folder = join(import.meta.dir, "../../server/lib/codec");

/** `edit`: puts in what is computed when it is compiled. */
export async function expectAssembled(name: string, edit = (text: string) => text): Promise<void> {
  const { parseWat } = await wabt();
  const text = edit(readFileSync(join(folder, `${name}.wat`), "utf8"));
  const parsed = parseWat(`${name}.wat`, text, { simd: true, relaxed_simd: true });
  // What does not compile would be passed over in favour of JavaScript.
  parsed.validate();
  const binary = Buffer.from(parsed.toBinary({}).buffer);
  const file = join(folder, `${name}.wasm`);
  if (process.env.UPDATE_GOLDENS) writeFileSync(file, binary);
  expect(readFileSync(file).equals(binary)).toBe(true);
}
