import { describe, expect, test } from "bun:test";
import {
  type BorrowedBytes,
  type BorrowedChunks,
  copyOf,
  joinCopies,
  viewOf,
} from "../../server/lib/owned-bytes.ts";
import { readAll } from "../chunks.ts";

/** Lends one buffer again and again, as a stream from a file does. */
async function* lend(texts: readonly string[]): AsyncGenerator<BorrowedBytes> {
  const buffer = Buffer.alloc(16);
  for (const text of texts) yield buffer.subarray(0, buffer.write(text));
}

// The type check covers this file: it fails if an error that is expected here does not occur.
describe("borrowed bytes", () => {
  test("are refused where owned bytes are required", async () => {
    const kept: Uint8Array[] = [];
    let last: Uint8Array = new Uint8Array();
    for await (const chunk of lend(["a", "b"])) {
      // @ts-expect-error: the array outlives the loan.
      kept.push(chunk);
      // @ts-expect-error: the variable outlives the loan.
      last = chunk;
      // @ts-expect-error: a part of borrowed bytes is borrowed too.
      last = chunk.subarray(0, 1);
      // @ts-expect-error: the buffer would be kept.
      expect(chunk.buffer).toBeInstanceOf(ArrayBuffer);
    }
    // What the compiler prevents.
    expect([...kept, last].map(String)).toEqual(["b", "b", "b"]);
  });

  test("are refused in an array that is joined after the loan", async () => {
    const chunks = await Array.fromAsync(lend(["a", "b"]));
    // @ts-expect-error: the chunks are joined after the last one was requested.
    const joined = Buffer.concat(chunks);
    expect(joined.toString()).toBe("bb");
  });

  test("are refused as a stream of owned bytes, and owned bytes can be lent", () => {
    const borrowed: BorrowedChunks = lend([]);
    // @ts-expect-error: its reader may keep the chunks.
    const owned: AsyncIterable<Uint8Array> = borrowed;
    expect(Object.is(owned, borrowed)).toBe(true);
    const lent: readonly BorrowedBytes[] = [new Uint8Array(), Buffer.alloc(0)];
    // @ts-expect-error: these are not bytes.
    const floats: BorrowedBytes = new Float32Array();
    // @ts-expect-error: this is not bytes.
    const text: BorrowedBytes = "a";
    expect([lent.length, floats.length, text.length]).toEqual([2, 0, 1]);
  });

  test("that are copied stay as they were", async () => {
    const copies: Uint8Array[] = [];
    for await (const chunk of lend(["a", "b"])) copies.push(copyOf(chunk));
    expect(Buffer.concat(copies).toString()).toBe("ab");
    expect((await readAll(lend(["one ", "two"]))).toString()).toBe("one two");
  });

  test("are joined as a copy", () => {
    const bytes = Buffer.from("a");
    const joined = joinCopies([bytes, bytes.subarray(0, 1)]);
    bytes.fill("b");
    expect(joined.toString()).toBe("aa");
  });

  test("are viewed without a copy", () => {
    const bytes = new Uint8Array(1);
    expect(viewOf(bytes)).toBe(bytes);
  });
});
