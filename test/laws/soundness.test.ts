/** Numbers that cannot be believed are found, by each of the ways in which they are looked for. */
import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import wabt from "wabt";
import {
  deskFor,
  type Soundness,
  soundnessOf,
  soundnessOfNumbers,
  soundnessOnDesk,
} from "../../server/gateway/soundness/soundness.ts";

const folder = join(import.meta.dir, "../../server/gateway/soundness");

test("what is run is what is written", async () => {
  const { parseWat } = await wabt();
  const text = readFileSync(join(folder, "soundness.wat"), "utf8");
  const parsed = parseWat("soundness.wat", text, { simd: true });
  const binary = Buffer.from(parsed.toBinary({}).buffer);
  if (process.env.UPDATE_GOLDENS) writeFileSync(join(folder, "soundness.wasm"), binary);
  expect(readFileSync(join(folder, "soundness.wasm")).equals(binary)).toBe(true);
});

/** After a larger vector that is all wrong, so that what it leaves behind would show. */
function onDesk(floats: Float32Array): Soundness {
  deskFor(floats.byteLength + 4096).fill(0xff);
  deskFor(floats.byteLength).set(
    new Uint8Array(floats.buffer, floats.byteOffset, floats.byteLength),
  );
  return soundnessOnDesk(floats.byteLength);
}

const ways: readonly (readonly [string, (floats: Float32Array) => Soundness])[] = [
  ["in WebAssembly", onDesk],
  ["in JavaScript", soundnessOf],
  ["as numbers", (floats) => soundnessOfNumbers([...floats])],
];

describe.each(ways)("%s", (_, look) => {
  const lengths = [1, 2, 3, 4, 7, 8, 9, 31, 32, 33, 384, 1536, 20_000];
  test.each(lengths)("one number among %d is enough, wherever it stands", (length) => {
    const places = new Set([0, 1, 7, 8, length >> 1, length - 2, length - 1]);
    for (const at of [...places].filter((place) => place >= 0 && place < length)) {
      for (const wrong of [Number.NaN, -Number.NaN, Infinity, -Infinity]) {
        expect(look(new Float32Array(length).fill(0.5).fill(wrong, at, at + 1))).toBe("not-finite");
        expect(look(new Float32Array(length).fill(wrong, at, at + 1))).toBe("not-finite");
      }
      for (const right of [1, -1, 3.4028234663852886e38, -3.4028234663852886e38, 2 ** -126]) {
        expect(look(new Float32Array(length).fill(right, at, at + 1))).toBe("sound");
      }
    }
    expect(look(new Float32Array(length))).toBe("zero");
    expect(look(new Float32Array(length).fill(-0))).toBe("zero");
  });

  test("any bits at all are judged as what they are", () => {
    const bits = fc.uint32Array({ minLength: 1, maxLength: 70 });
    fc.assert(
      fc.property(bits, (words) => {
        const floats = new Float32Array(Uint32Array.from(words).buffer);
        const finite = floats.every(Number.isFinite);
        const some = floats.some((number) => number !== 0);
        expect(look(floats)).toBe(finite ? (some ? "sound" : "zero") : "not-finite");
      }),
      { numRuns: 2000 },
    );
  });
});
