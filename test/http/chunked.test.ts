/** Chunked coding is decoded in one way only, however its bytes are split. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ChunkedDecoder } from "../../server/lib/http1.ts";
import { latin } from "../upstream/parse-response-fixture.ts";

class Broken extends Error {}
const broken = (why: string): Error => new Broken(why);

interface DecodedChunks {
  readonly bytes: Buffer;
  readonly rest: Buffer;
  readonly done: boolean;
}

/** The memory of pushed bytes is released immediately: the decoder must not need it any more. */
function take(blocks: readonly Buffer[]): DecodedChunks {
  const chunked = new ChunkedDecoder(broken);
  const decoded: Buffer[] = [];
  const rest: Buffer[] = [];
  for (const block of blocks) {
    const own = Buffer.from(block);
    if (chunked.done) rest.push(block);
    else rest.push(Buffer.from(chunked.push(own, (one) => decoded.push(Buffer.from(one)))));
    own.buffer.transfer(0);
  }
  return { bytes: Buffer.concat(decoded), rest: Buffer.concat(rest), done: chunked.done };
}

const size = (length: number) =>
  fc
    .record({
      zeros: fc.constantFrom("", "0", "000"),
      large: fc.boolean(),
      extension: fc.constantFrom("", ";a", "; name=value", ';q="x y"', " ", "\t;a=\xe9"),
    })
    .map(({ zeros, large, extension }) => {
      const digits = length.toString(16);
      return `${zeros}${large ? digits.toUpperCase() : digits}${extension}\r\n`;
    });
const framed = fc
  .uint8Array({ minLength: 1, maxLength: 40 })
  .chain((bytes) => size(bytes.length).map((line) => ({ line, bytes: Buffer.from(bytes) })));
const _message = fc
  .record({
    chunks: fc.array(framed, { maxLength: 6 }),
    last: size(0),
    trailers: fc.constantFrom("", "x-t: 1\r\n", "X-T:\r\nexpires: \xff\r\n"),
    rest: fc.oneof(fc.constant(""), fc.constantFrom("\r\n", "GET / HTTP/1.1\r\n\r\n", "0\r\n\r\n")),
  })
  .map(({ chunks, last, trailers, rest }) => ({
    wire: Buffer.concat([
      ...chunks.flatMap(({ line, bytes }) => [latin(line), bytes, latin("\r\n")]),
      latin(`${last}${trailers}\r\n`),
    ]),
    whole: Buffer.concat(chunks.map(({ bytes }) => bytes)),
    rest: latin(rest),
  }));

describe("the trailer", () => {
  test.each([
    "\nGET / HTTP/1.1",
    "GET / HTTP/1.1",
    " folded: 1",
    "a: b\nc: d",
    "a: \0",
    ": a",
    "a : b",
    "a",
  ])("may not be %p", (line) => {
    expect(() => take([latin(`0\r\n${line}\r\n\r\n`)])).toThrow(Broken);
  });

  test("has at most 16384 bytes", () => {
    const lines = (count: number) => latin(`0\r\n${`a: ${"a".repeat(997)}\r\n`.repeat(count)}\r\n`);
    expect(take([lines(16)]).done).toBe(true);
    expect(() => take([lines(17)])).toThrow(Broken);
    expect(() => take([latin(`5;${"a".repeat(20_000)}\r\n`)])).toThrow(Broken);
    expect(() => take([latin(`5;${"a".repeat(20_000)}`)])).toThrow(Broken);
  });
});

describe("chunk extensions", () => {
  test.each([
    ["a NUL", "5;a=\0"],
    ["a control character", "5;a=\x07b"],
    ["a carriage return", "5;a=\rb"],
    ["a line feed", "5;a=\nb"],
    ["an unclosed quote", '5;a="b'],
    ["a quote that only an escaped quote would close", '5;a="b\\"'],
    ["a NUL inside quotes", '5;a="\0"'],
    ["an escaped control character", '5;a="\\\x01"'],
    ["a third quote", '5;a="b";c="'],
  ])("with %s are refused", (_, line) => {
    expect(() => take([latin(`${line}\r\nhello\r\n0\r\n\r\n`)])).toThrow(Broken);
  });

  test.each(['5;a="b\\"c"', '5;a="b;c"', "5 ; a = b", '5;a="";b', "5;"])(
    "as %p are ignored",
    (line) => {
      expect(take([latin(`${line}\r\nhello\r\n0\r\n\r\n`)]).bytes.toString()).toBe("hello");
    },
  );

  test("cannot carry megabytes of framing with a few bytes of body", () => {
    const chunked = new ChunkedDecoder(broken);
    const chunk = latin(`1;${"a".repeat(1000)}\r\nx\r\n`);
    const send = () => chunked.push(chunk, () => undefined);
    for (let at = 0; at < 10; at++) send();
    expect(() => {
      for (let at = 0; at < 10; at++) send();
    }).toThrow("framing");
    // Extensions that are short beside their chunks may go on forever.
    const signed = new ChunkedDecoder(broken);
    const large = latin(`10000;chunk-signature=${"f".repeat(64)}\r\n${"x".repeat(0x10000)}\r\n`);
    for (let at = 0; at < 300; at++) signed.push(large, () => undefined);
  });
});
