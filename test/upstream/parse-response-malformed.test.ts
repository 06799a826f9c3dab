/** An ambiguous upstream response is rejected, and parsing any upstream bytes has a bounded cost. */

import { heapStats } from "bun:jsc";
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  InvalidHttpResponse,
  ResponseParser,
  ResponseTooLarge,
} from "../../server/upstream/transport/parse-response.ts";
import { tries } from "../depth.ts";
import { cuts, latin, plenty, read, splitAt, wellFormed } from "./parse-response-fixture.ts";

const ok = "HTTP/1.1 200 OK\r\n";

describe("bytes that are not exactly one response are refused:", () => {
  test.each<[string, string]>([
    ["another protocol", "SSH-2.0-OpenSSH_9.9\r\n\r\n"],
    ["HTTP/2", "HTTP/2 200 OK\r\n\r\n"],
    ["HTTP/1.2", "HTTP/1.2 200 OK\r\n\r\n"],
    ["a status of two digits", "HTTP/1.1 20 OK\r\n\r\n"],
    ["a status of four digits", "HTTP/1.1 2000 OK\r\ncontent-length: 0\r\n\r\n"],
    ["a status that only a program would read", "HTTP/1.1 2e2 OK\r\ncontent-length: 0\r\n\r\n"],
    ["no status", `HTTP/1.1 OK\r\n\r\n`],
    ["another protocol to go on with, unasked", "HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n"],
    ["two lengths", `${ok}content-length: 5\r\ncontent-length: 6\r\n\r\nhello`],
    ["the same length twice", `${ok}content-length: 5\r\nContent-Length: 5\r\n\r\nhello`],
    ["two lengths in one line", `${ok}content-length: 5, 5\r\n\r\nhello`],
    [
      "a length and chunks",
      `${ok}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ["chunks twice", `${ok}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n`],
    ["chunks of another transfer coding", `${ok}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    ["an encoding that is none", `${ok}transfer-encoding: identity\r\n\r\nhello`],
    ["a head that ends with bare line feeds", "HTTP/1.1 200 OK\ncontent-length: 2\n\n{}"],
    ["a head whose last line ends with a bare line feed", `${ok}content-length: 2\n\r\n{}`],
    ["an empty line within its head", `${ok}content-length: 2\n\n{}\r\n\r\n`],
    ["a first line of another protocol, and no more", "SSH-2.0-OpenSSH_9.9\r\n"],
    ["interim responses without an end", "HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n".repeat(101)],
    ["a length below zero", `${ok}content-length: -5\r\n\r\nhello`],
    ["a length with a sign", `${ok}content-length: +5\r\n\r\nhello`],
    ["a length in another notation", `${ok}content-length: 0x5\r\n\r\nhello`],
    ["a length with an exponent", `${ok}content-length: 1e1\r\n\r\nhellohello`],
    ["a length with a fraction", `${ok}content-length: 5.0\r\n\r\nhello`],
    ["an empty length", `${ok}content-length:\r\n\r\n`],
    ["a length in words", `${ok}content-length: many\r\n\r\n`],
    ["a length beyond counting", `${ok}content-length: ${"9".repeat(40)}\r\n\r\n`],
    ["a chunk without a size", `${ok}transfer-encoding: chunked\r\n\r\n\r\n`],
    ["a chunk whose size is a word", `${ok}transfer-encoding: chunked\r\n\r\nzz\r\n{}`],
    ["a chunk below zero", `${ok}transfer-encoding: chunked\r\n\r\n-5\r\nhello\r\n`],
    ["a chunk with a prefix", `${ok}transfer-encoding: chunked\r\n\r\n0x5\r\nhello\r\n`],
    [
      "a chunk beyond counting",
      `${ok}transfer-encoding: chunked\r\n\r\n${"f".repeat(20)}\r\nhello`,
    ],
    [
      "a chunk's size before a bare line feed",
      `${ok}transfer-encoding: chunked\r\n\r\n5\nhello\r\n`,
    ],
    [
      "a chunk longer than it says",
      `${ok}transfer-encoding: chunked\r\n\r\n5\r\nhello!\r\n0\r\n\r\n`,
    ],
    ["a chunk without its line end", `${ok}transfer-encoding: chunked\r\n\r\n5\r\nhello0\r\n\r\n`],
  ])("%s", (_, text) => {
    expect(() => read(text)).toThrow(InvalidHttpResponse);
    // It is also rejected if it arrives byte by byte.
    const slowly = new ResponseParser(plenty);
    expect(() => {
      for (const byte of latin(text)) slowly.push(Buffer.of(byte));
    }).toThrow(InvalidHttpResponse);
  });

  test.each<[string, string]>([
    ["head", `${ok}x: `],
    ["line of headers", `${ok}${"x: a\r\n".repeat(20_000)}`],
    ["first line", "HTTP/1.1 200 "],
    ["interim head", "HTTP/1.1 103 Early Hints\r\nx: "],
    ["size of a chunk", `${ok}transfer-encoding: chunked\r\n\r\n5;`],
    ["trailer", `${ok}transfer-encoding: chunked\r\n\r\n0\r\nx: `],
  ])("a %s without end, and it is not kept either", (_, beginning) => {
    const response = new ResponseParser(plenty);
    let come = 0;
    const endless = () => {
      response.push(latin(beginning));
      for (; come < 1_000_000; come += 1000) response.push(Buffer.alloc(1000, "a"));
    };
    expect(endless).toThrow(InvalidHttpResponse);
    expect(come).toBeLessThan(70_000);
  });
});

describe("a head that two parsers could read differently", () => {
  test.each<[string, string]>([
    ["a line feed alone", `${ok}x: a\ntransfer-encoding: chunked\r\ncontent-length: 2\r\n\r\n{}`],
    ["a carriage return alone", `${ok}x: a\rcontent-length: 9\r\ncontent-length: 2\r\n\r\n{}`],
    ["a space before the colon", `${ok}transfer-encoding : chunked\r\ncontent-length: 2\r\n\r\n{}`],
    ["a folded line", `${ok}content-length: 2\r\n 5\r\n\r\n{}`],
    ["a line without a colon", `${ok}content-length: 2\r\ntransfer-encoding\r\n\r\n{}`],
    [
      "`close` beside `keep-alive`",
      `${ok}connection: keep-alive\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}`,
    ],
  ])("with %s does not cause a second response", (_, text) => {
    const response = read(text);
    expect(response.done).toBe(true);
    expect(response.reusable).toBe(false);
    expect(response.body.toString()).toBe("{}");
  });
});

describe("a response that is too large", () => {
  const ways: readonly [string, string, string][] = [
    ["says so", "content-length: 101\r\n", "a".repeat(101)],
    ["comes in chunks", "transfer-encoding: chunked\r\n", `33\r\n${"a".repeat(51)}\r\n`.repeat(2)],
    ["ends with the connection", "", "a".repeat(101)],
  ];
  test.each(ways)("and %s is refused", (_, line, text) => {
    expect(() => read(`HTTP/1.1 200 OK\r\n${line}\r\n${text}`, 100)).toThrow(ResponseTooLarge);
  });

  test.each(ways)("and %s keeps its status if that is an error status", (_, line, text) => {
    const response = read(`HTTP/1.1 503 Busy\r\nretry-after: 7\r\n${line}\r\n${text}`, 100);
    expect([response.status, response.done, response.reusable]).toEqual([503, true, false]);
    expect(response.headers.get("retry-after")).toBe("7");
    expect(response.body).toHaveLength(0);
  });

  test("a response of exactly the limit is accepted", () => {
    for (const [, line] of ways.slice(1)) {
      const text = line === "" ? "a".repeat(100) : `64\r\n${"a".repeat(100)}\r\n0\r\n\r\n`;
      const response = read(`HTTP/1.1 200 OK\r\n${line}\r\n${text}`, 100);
      response.close();
      expect(response.body.toString()).toBe("a".repeat(100));
    }
  });

  test("in tiny chunks takes about as much memory as in one chunk", () => {
    const response = read(`${ok}transfer-encoding: chunked\r\n\r\n`);
    // The count is only right after a full collection.
    Bun.gc(true);
    const before = heapStats().objectCount;
    const crumbs = latin("1\r\na\r\n".repeat(100));
    for (let at = 0; at < 5000; at++) response.push(crumbs);
    Bun.gc(true);
    expect(heapStats().objectCount - before).toBeLessThan(20_000);
    response.push(latin("0\r\n\r\n"));
    expect(response.body.equals(Buffer.alloc(500_000, "a"))).toBe(true);
  });
});

test("a large body is the same bytes, however it is framed and split", () => {
  const body = Buffer.from(Array.from({ length: 200_000 }, (_, at) => (at * 31) % 251));
  const part = (from: number, to: number): Buffer =>
    Buffer.concat([
      latin(`${(to - from).toString(16)}\r\n`),
      body.subarray(from, to),
      latin("\r\n"),
    ]);
  const framed = [
    Buffer.concat([latin(`${ok}content-length: ${body.length}\r\n\r\n`), body]),
    Buffer.concat([
      latin(`${ok}transfer-encoding: chunked\r\n\r\n`),
      ...[part(0, 20_000), part(20_000, 60_000), part(60_000, body.length), latin("0\r\n\r\n")],
    ]),
  ];
  for (const wire of framed) {
    for (const size of [1000, 17_000, 40_000, 65_536, 300_000]) {
      const response = new ResponseParser(plenty);
      // As from a socket: each chunk in a buffer of its own, which may be freed once it was read.
      for (let at = 0; at < wire.length; at += size) {
        const chunk = wire.subarray(at, at + size);
        const received = Buffer.allocUnsafeSlow(chunk.length);
        chunk.copy(received);
        response.push(received);
      }
      expect(response.done).toBe(true);
      expect(response.body.equals(body)).toBe(true);
    }
  }
});

describe("any input", () => {
  const damage = fc.record({
    where: fc.nat(),
    remove: fc.nat({ max: 8 }),
    insert: fc.oneof(
      fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes)),
      fc.constantFrom("\r\n", "\r\n\r\n", ":", ",", "0", "HTTP/1.1 ", "chunked").map(latin),
    ),
  });
  const damaged = fc
    .tuple(wellFormed, fc.array(damage, { minLength: 1, maxLength: 3 }))
    .map(([{ wire }, damages]) =>
      damages.reduce((bytes, { where, remove, insert }) => {
        const from = where % (bytes.length + 1);
        return Buffer.concat([bytes.subarray(0, from), insert, bytes.subarray(from + remove)]);
      }, wire),
    );
  const anything = fc.oneof(
    damaged,
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  );

  /** The result of parsing these chunks, as text. */
  const outcome = (chunks: readonly Buffer[]): string => {
    const response = new ResponseParser(200);
    try {
      for (const chunk of chunks) response.push(chunk);
      response.close();
      const { status, done, body: came, coding, headers } = response;
      return done ? JSON.stringify([status, came.toString("hex"), coding, [...headers]]) : "cut";
    } catch (error) {
      if (error instanceof InvalidHttpResponse || error instanceof ResponseTooLarge)
        return error.name;
      throw error;
    }
  };

  test("is complete, incomplete or refused; and the result is the same however it is chunked", () => {
    const property = fc.property(anything, cuts, (bytes, offsets) => {
      expect(outcome(splitAt(bytes, offsets))).toBe(outcome([bytes]));
    });
    fc.assert(property, tries(600));
  });
});
