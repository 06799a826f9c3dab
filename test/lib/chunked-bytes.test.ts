/** A response in several chunks is read as if it were one buffer. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ChunkedBytes } from "../../server/lib/chunked-bytes.ts";
import { splitIntoChunks } from "../chunks.ts";
import { tries } from "../depth.ts";

/** Few different bytes, so that matches and near matches are frequent. */
const texts = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 60 });
const sought = fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 5 });
const cuts = fc.array(fc.nat(60), { maxLength: 8 });

describe("chunked bytes", () => {
  test("are the same bytes, wherever they are split", () => {
    fc.assert(
      fc.property(texts, cuts, fc.array(fc.nat(62), { maxLength: 20 }), (text, at, offsets) => {
        const whole = Buffer.from(text);
        const chunked = splitIntoChunks(whole, at);
        expect(chunked.length).toBe(whole.length);
        expect(chunked.toBuffer().equals(whole)).toBe(true);
        // Forward and backward, as a search reads it.
        for (const offset of offsets) expect(chunked.byteAt(offset)).toBe(whole[offset]);
      }),
      tries(1000),
    );
  });

  test("are searched across chunk boundaries", () => {
    fc.assert(
      fc.property(texts, cuts, sought, fc.nat(62), (text, at, needle, from) => {
        const whole = Buffer.from(text);
        const chunked = splitIntoChunks(whole, at);
        const expected = Buffer.from(needle);
        expect(chunked.indexOf(expected, from)).toBe(whole.indexOf(expected, from));
        const [byte] = expected as unknown as [number];
        expect(chunked.indexOf(byte, from)).toBe(whole.indexOf(byte, from));
      }),
      tries(3000),
    );
  });

  test("are copied, viewed and read from any offset to any other", () => {
    fc.assert(
      fc.property(texts, cuts, fc.nat(60), fc.nat(60), (text, at, one, other) => {
        const whole = Buffer.from(text);
        const chunked = splitIntoChunks(whole, at);
        const [from, to] = [one, other]
          .map((offset) => Math.min(offset, whole.length))
          .sort((a, b) => a - b) as [number, number];
        const copy = Buffer.alloc(to - from + 2, "x");
        chunked.copy(copy, 1, from, to);
        expect(copy.toString()).toBe(`x${text.slice(from, to)}x`);
        expect(chunked.view(from, to).toString()).toBe(text.slice(from, to));
        expect(chunked.text(from, to)).toBe(text.slice(from, to));
      }),
      tries(1000),
    );
  });

  test("that were released are not read, and are released once", () => {
    const chunked = new ChunkedBytes([ownBuffer("a"), ownBuffer("b")]);
    chunked.release();
    expect(() => chunked.view(10, 20)).toThrow();
    expect(() => chunked.text(99_990, 100_010)).toThrow();
    expect(() => chunked.copy(Buffer.alloc(10), 0, 10, 20)).toThrow();
    expect(() => chunked.release()).toThrow();
  });

  test("that share their buffer with other bytes are not freed", () => {
    const shared = ownBuffer("s");
    new ChunkedBytes([shared.subarray(0, 50_000)]).release();
    expect(shared.toString("latin1", 0, 3)).toBe("sss");
  });

  test("that own their buffers are freed with them", () => {
    const whole = ownBuffer("s");
    ChunkedBytes.exclusive([whole.subarray(0, 50_000)]).release();
    expect(whole.length).toBe(0);
  });

  test("that are drained are freed chunk by chunk, also if the reader stops", async () => {
    const list = [ownBuffer("a"), ownBuffer("b"), ownBuffer("c")];
    const chunked = new ChunkedBytes(list);
    const chunks = chunked.drain();
    await chunks.next();
    await chunks.next();
    expect(list.map(({ length }) => length)).toEqual([0, 100_000, 100_000]);
    await chunks.return(undefined);
    expect(list.map(({ length }) => length)).toEqual([0, 0, 0]);
    expect(() => chunked.release()).toThrow();
  });
});

const ownBuffer = (letter: string): Buffer => Buffer.allocUnsafeSlow(100_000).fill(letter);
