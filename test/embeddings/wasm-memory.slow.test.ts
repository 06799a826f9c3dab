/** The WebAssembly memory that validates and decodes vectors grows for a large input, and is small again after it. */

import { expect, test } from "bun:test";
import { checkInWasm, decodeInWasm } from "../../server/lib/vector-codec/float32-base64.ts";
import { wasmBuffer, wasmBufferBytes } from "../../server/lib/vector-codec/wasm.ts";
import { until } from "../until.ts";

const megabyte = 1024 * 1024;

function decode(numbers: Float32Array): Float32Array {
  const text = Buffer.from(numbers.buffer as ArrayBuffer).toString("base64");
  wasmBuffer(text.length).write(text, "latin1");
  expect(checkInWasm(text.length)).toEqual({ dimensions: numbers.length, validity: "valid" });
  wasmBuffer(text.length).write(text, "latin1");
  const bytes = decodeInWasm(text.length)!;
  return new Float32Array(new Uint8Array(wasmBuffer(bytes).subarray(0, bytes)).buffer);
}

const vector = (length: number): Float32Array =>
  Float32Array.from({ length }, (_, at) => Math.fround(Math.sin(at)));

test("memory that one huge vector needed is released, and vectors are decoded as before", async () => {
  const usual = vector(3072);
  expect(decode(usual)).toEqual(usual);
  const before = wasmBufferBytes();
  expect(before).toBeLessThan(megabyte);
  const huge = vector(4 * megabyte);
  expect(decode(huge)).toEqual(huge);
  expect(wasmBufferBytes()).toBeGreaterThan(16 * megabyte);
  await until(() => wasmBufferBytes() < megabyte);
  expect(decode(usual)).toEqual(usual);
  // A second time, with the new instance.
  expect(decode(huge)).toEqual(huge);
  await until(() => wasmBufferBytes() < megabyte);
  expect(decode(usual)).toEqual(usual);
});
