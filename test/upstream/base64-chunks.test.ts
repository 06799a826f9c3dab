/** Chunked base64 is decoded exactly, wherever the chunks are split, and invalid base64 is detected. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { decodeBase64Stream, InvalidBase64 } from "../../server/lib/base64-stream.ts";
import { viewOf } from "../../server/lib/borrowed-bytes.ts";
import { tries } from "../depth.ts";
import { splitAt } from "./parse-response-fixture.ts";

/** All chunks share one buffer, which is overwritten before the next chunk: the decoder must not keep a chunk. */
async function read(text: string, offsets: readonly number[]): Promise<Buffer> {
  const buffer = Buffer.alloc(text.length);
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (const chunk of splitAt(Buffer.from(text, "latin1"), offsets)) {
      chunk.copy(buffer);
      yield buffer.subarray(0, chunk.length);
      buffer.fill("!");
    }
  }
  const got: Buffer[] = [];
  for await (const chunk of decodeBase64Stream(chunks())) got.push(Buffer.from(chunk));
  return Buffer.concat(got);
}

const content = fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.from(bytes));
const offsets = fc.array(fc.nat(800), { maxLength: 12 });
const runs = tries(500);

const writings: Readonly<Record<string, (bytes: Buffer) => string>> = {
  "as most write it": (bytes) => bytes.toString("base64"),
  "without the padding": (bytes) => bytes.toString("base64").replace(/=+$/, ""),
  "in the alphabet for addresses": (bytes) => bytes.toString("base64url"),
  "in lines": (bytes) => bytes.toString("base64").replace(/(.{76})/g, "$1\r\n"),
  "with its padding on a line of its own": (bytes) =>
    bytes.toString("base64").replace(/(=*)$/, "\n$1\n"),
};

describe("decoding returns the encoded bytes", () => {
  test.each(Object.entries(writings))("%s", async (_, write) => {
    await fc.assert(
      fc.asyncProperty(content, offsets, async (bytes, cuts) => {
        expect(await read(write(bytes), cuts)).toEqual(bytes);
      }),
      runs,
    );
  });

  test("of a whole image, in the chunks that a file is read in", async () => {
    const bytes = Buffer.from(Array.from({ length: 300_001 }, (_, at) => (at * 7919) % 251));
    const cuts = Array.from({ length: 10 }, (_, at) => at * 65_536);
    expect(await read(bytes.toString("base64"), cuts)).toEqual(bytes);
  });
});

describe("invalid base64 is detected at any position", () => {
  const long = "QUJD".repeat(100);
  test.each([
    ["an invalid character", `${long}!${long}`],
    ["an invalid character at the end", `${long}QUJ*`],
    ["padding in the middle", `${long}QQ==${long}`],
    ["too much padding", `${long}Q===`],
    ["one sign too many", `${long}Q`],
  ])("%s", async (_, text) => {
    for (const cuts of [[], [64], [1, 2, 3], [400, 404], [402]]) {
      const reading = await read(text, cuts).catch((error: unknown) => error);
      expect(reading).toBeInstanceOf(InvalidBase64);
    }
  });
});

test("the buffer of the decoded chunks is freed after the last one, and not before", async () => {
  const image = Buffer.alloc(200_000, "image");
  const text = image.toString("base64");
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < text.length; at += 65_536) {
      yield Buffer.from(text.slice(at, at + 65_536));
    }
  }
  const decoded: Buffer[] = [];
  const lent = new Set<ArrayBufferLike>();
  for await (const chunk of decodeBase64Stream(chunks())) {
    decoded.push(Buffer.from(chunk));
    if (chunk.length > 16_384) lent.add(viewOf(chunk).buffer);
  }
  expect(Buffer.concat(decoded).equals(image)).toBe(true);
  expect([...lent].map(({ byteLength }) => byteLength)).toEqual([0]);
});
