/** Vector validation: NaN, infinite and all-zero vectors are detected by each implementation. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  checkBase64,
  checkNumbers,
  checkVector,
  checkVectorInWasm,
  EncodedVector,
  type VectorValidity,
} from "../../server/lib/vector-codec/float32-base64.ts";
import { maxVectorText, wasmBuffer } from "../../server/lib/vector-codec/wasm.ts";
import { tries } from "../depth.ts";
import { expectCompiled } from "./assembled.ts";

test("numbers.wasm is compiled from numbers.wat", () => expectCompiled("numbers"));

/** Runs after a larger invalid vector, so that a read of its remaining bytes would fail the test. */
function classifyInWasm(floats: Float32Array): VectorValidity {
  wasmBuffer.fill(0xff, 0, floats.byteLength + 4096);
  wasmBuffer.set(new Uint8Array(floats.buffer, floats.byteOffset, floats.byteLength));
  return checkVectorInWasm(floats.byteLength);
}

const implementations: readonly (readonly [string, (floats: Float32Array) => VectorValidity])[] = [
  ["in WebAssembly", classifyInWasm],
  ["in JavaScript", checkVector],
  ["as numbers", (floats) => checkNumbers([...floats])],
];

describe.each(implementations)("%s", (_, classify) => {
  const lengths = [1, 2, 3, 4, 7, 8, 9, 31, 32, 33, 384, 1536, 20_000];
  test.each(lengths)("detects one number among %d at any index", (length) => {
    const indexes = new Set([0, 1, 7, 8, length >> 1, length - 2, length - 1]);
    for (const at of [...indexes].filter((index) => index >= 0 && index < length)) {
      for (const wrong of [Number.NaN, -Number.NaN, Infinity, -Infinity]) {
        expect(classify(new Float32Array(length).fill(0.5).fill(wrong, at, at + 1))).toBe(
          "not-finite",
        );
        expect(classify(new Float32Array(length).fill(wrong, at, at + 1))).toBe("not-finite");
      }
      for (const right of [1, -1, 3.4028234663852886e38, -3.4028234663852886e38, 2 ** -126]) {
        expect(classify(new Float32Array(length).fill(right, at, at + 1))).toBe("valid");
      }
    }
    expect(classify(new Float32Array(length))).toBe("zero");
    expect(classify(new Float32Array(length).fill(-0))).toBe("zero");
  });

  test("classifies any bits correctly", () => {
    const bits = fc.uint32Array({ minLength: 1, maxLength: 70 });
    fc.assert(
      fc.property(bits, (bits) => {
        const floats = new Float32Array(Uint32Array.from(bits).buffer);
        const finite = floats.every(Number.isFinite);
        const some = floats.some((number) => number !== 0);
        expect(classify(floats)).toBe(finite ? (some ? "valid" : "zero") : "not-finite");
      }),
      tries(2000),
    );
  });
});

/** Decoded by a strict decoder. */
function decodeStrictly(text: string): string | undefined {
  try {
    const bytes = Uint8Array.fromBase64(text, { lastChunkHandling: "strict" });
    const isPlain = bytes.length % 4 === 0 && Math.ceil(bytes.length / 3) * 4 === text.length;
    return isPlain ? Buffer.from(bytes).toString("hex") : undefined;
  } catch {
    return undefined;
  }
}

describe("a base64 vector is decoded from the bytes of a response,", () => {
  const read = (text: string, before: number) => {
    const bytes = Buffer.from(`${"x".repeat(before)}${text}"`, "latin1");
    const vector = EncodedVector.parse(bytes.subarray(before, before + text.length));
    if (vector) expect(String(vector)).toBe(text);
    return vector?.decode().toString("hex");
  };

  test("its numbers are those of the same text, to the last bit", () => {
    const bits = fc.uint32Array({ minLength: 1, maxLength: 100 });
    fc.assert(
      fc.property(bits, fc.nat(5), (numbers, before) => {
        const floats = new Float32Array(Uint32Array.from(numbers).buffer);
        const text = Buffer.from(floats.buffer).toString("base64");
        expect(read(text, before)).toBe(Buffer.from(floats.buffer).toString("hex"));
        const vector = EncodedVector.parse(Buffer.from(text));
        expect(vector?.dimensions).toBe(floats.length);
        expect(vector?.validity).toBe(checkVector(floats));
      }),
      tries(1000),
    );
  });

  test("one number that is not finite is detected at any index", () => {
    const validityOf = (floats: Float32Array) => {
      const bytes = Buffer.from(Buffer.from(floats.buffer).toString("base64"));
      return EncodedVector.parse(bytes)?.validity;
    };
    const largest = 3.4028234663852886e38;
    for (const length of [1, 2, 3, 4, 5, 11, 12, 13, 47, 48, 49]) {
      for (let at = 0; at < length; at++) {
        for (const number of [Number.NaN, -Number.NaN, Infinity, -Infinity]) {
          expect(validityOf(new Float32Array(length).fill(0.5).fill(number, at, at + 1))).toBe(
            "not-finite",
          );
        }
        for (const number of [
          1,
          -1,
          largest,
          -largest,
          2 ** 96,
          -(2 ** 97),
          2 ** -126,
          2 ** -149,
        ]) {
          expect(validityOf(new Float32Array(length).fill(number, at, at + 1))).toBe("valid");
        }
      }
      expect(validityOf(new Float32Array(length))).toBe("zero");
      expect(validityOf(new Float32Array(length).fill(-0))).toBe("zero");
    }
  });

  test("text that strict decoders refuse is refused", () => {
    const character = fc.oneof(
      { weight: 60, arbitrary: fc.constantFrom(..."ABCDwxyz0189+/") },
      { weight: 1, arbitrary: fc.constantFrom(..."=-_ \n.:@[`{\x00\x7f\xff") },
    );
    const ends = fc.constantFrom("", "=", "==", "===", "A=", "Q==", "g==", "QQ==", "gQ=", "QI=");
    fc.assert(
      fc.property(fc.string({ unit: character, maxLength: 140 }), ends, (start, end) => {
        const text = start + end;
        expect(read(text, 0)).toBe(decodeStrictly(text) as string);
      }),
      tries(5000),
    );
  });

  test("every byte value at any offset is accepted or refused as by strict decoders", () => {
    for (let byte = 0; byte < 256; byte++) {
      for (const index of [0, 1, 2, 3, 15, 16, 47, 63, 64, 79]) {
        const text = Buffer.alloc(80, "A")
          .fill(byte, index, index + 1)
          .toString("latin1");
        expect(read(text, 0)).toBe(decodeStrictly(text) as string);
      }
    }
  });
});

test("a vector in base64 has at most the numbers that fit into the memory of WebAssembly", () => {
  const textOf = (numbers: number): string =>
    Buffer.from(new Float32Array(numbers).fill(0.5).buffer).toString("base64");
  const parse = (text: string) => EncodedVector.parse(Buffer.from(text));
  const max = (maxVectorText * 3) / 16;
  for (const read of [checkBase64, parse]) {
    expect(read(textOf(max))).toMatchObject({ dimensions: max, validity: "valid" });
    expect(read(textOf(max + 3))).toBeUndefined();
    expect(read(textOf(40 * max))).toBeUndefined();
  }
  expect(wasmBuffer.length).toBeLessThan(2 * maxVectorText);
});
