/**
 * Laws of owned and borrowed bytes. The type check covers this file: it fails if an error that is expected here does
 * not occur.
 */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  type BorrowedBytes,
  type BorrowedChunks,
  copyOf,
  joinCopies,
  viewOf,
} from "../../server/lib/borrowed-bytes.ts";
import { lendEach, OwnedChunks } from "../../server/lib/chunked-bytes.ts";
import { readAll } from "../chunks.ts";
import { tries } from "../depth.ts";

/** Lends one buffer again and again, as a stream from a file does. */
async function* lend(texts: readonly string[]): AsyncGenerator<BorrowedBytes> {
  const buffer = Buffer.alloc(16);
  for (const text of texts) yield buffer.subarray(0, buffer.write(text));
}

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

/** Smaller buffers are never freed. */
const freedBytes = 16 * 1024;

const allocate = (letter: string, bytes = freedBytes): Buffer<ArrayBuffer> =>
  Buffer.allocUnsafeSlow(bytes).fill(letter);

const lengths = (chunks: readonly Uint8Array[]): number[] => chunks.map(({ length }) => length);

describe("owned chunks", () => {
  /** Everything that can be done with chunks. */
  const uses: Readonly<Record<string, (owned: OwnedChunks) => unknown>> = {
    list: ({ list }) => list,
    add: (owned) => owned.add(allocate("x")),
    take: (owned) => owned.take(),
    release: (owned) => owned.release(),
    drain: (owned) => owned.drain().next(),
  };
  /** Everything that ends the ownership. */
  const ends: Readonly<Record<string, (owned: OwnedChunks) => unknown>> = {
    release: (owned) => owned.release(),
    dispose: (owned) => owned[Symbol.dispose](),
    take: (owned) => owned.take(),
    drain: (owned) => readAll(owned.drain()),
  };

  for (const [end, endOwnership] of Object.entries(ends)) {
    test(`cannot be used after ${end}, except that dispose does nothing`, async () => {
      const owned = new OwnedChunks([allocate("a"), allocate("b")]);
      await endOwnership(owned);
      for (const use of Object.values(uses)) {
        const used = (async () => use(owned))();
        await expect(used).rejects.toThrow("released, or moved to another owner");
      }
      owned[Symbol.dispose]();
    });
  }

  test("are freed once, by the owner that they were moved to", () => {
    const chunk = allocate("a");
    const first = new OwnedChunks([chunk]);
    const second = new OwnedChunks(first.take());
    first[Symbol.dispose]();
    expect(second.list.map(({ length }) => length)).toEqual([freedBytes]);
    second.release();
    expect(chunk.length).toBe(0);
  });

  test("are freed at the end of a block, unless they were moved", () => {
    const [freed, moved] = [allocate("a"), allocate("b")];
    {
      using one = new OwnedChunks([freed]);
      using other = new OwnedChunks([moved]);
      other.take();
      expect(one.list).toHaveLength(1);
    }
    expect(lengths([freed, moved])).toEqual([0, freedBytes]);
  });

  test("are freed whether they were given or added, with their whole buffers", () => {
    const buffers = [allocate("a", 2 * freedBytes), allocate("b", 2 * freedBytes)];
    const [a, b] = buffers.map((buffer) => buffer.subarray(5, 10)) as [
      Buffer<ArrayBuffer>,
      Buffer<ArrayBuffer>,
    ];
    const owned = new OwnedChunks([a]);
    owned.add(b);
    expect(Buffer.concat(owned.list).toString()).toBe("aaaaabbbbb");
    owned.release();
    expect(lengths(buffers)).toEqual([0, 0]);
  });

  test("leave a buffer in which another chunk is in use", () => {
    const [mine, shared] = [allocate("a"), allocate("b")];
    const owned = new OwnedChunks([mine, shared.subarray(0, 10)]);
    owned.release(shared.subarray(10));
    expect(lengths([mine, shared])).toEqual([0, freedBytes]);
  });

  test("leave every buffer of which they are a part, unless they are exclusive", () => {
    const [whole, part] = [allocate("a"), allocate("b")];
    new OwnedChunks([whole, part.subarray(1)], false).release();
    expect(lengths([whole, part])).toEqual([0, freedBytes]);
  });

  test("never free the pool of small buffers", () => {
    const small = Buffer.from("a");
    new OwnedChunks([small]).release();
    expect(small.toString()).toBe("a");
  });

  test("take memory of their own", () => {
    const owned = OwnedChunks.allocate(100);
    expect(owned.list.map(({ length, buffer }) => [length, buffer.byteLength])).toEqual([
      [100, 100],
    ]);
  });
});

/** Chunks in shared buffers: each number is the length of a chunk, and each list is one buffer. */
const buffers = fc.array(fc.array(fc.integer({ min: 1, max: freedBytes }), { minLength: 1 }), {
  maxLength: 5,
});

function cut(all: readonly (readonly number[])[]): Buffer<ArrayBuffer>[] {
  return all.flatMap((chunks, at) => {
    const bytes = chunks.reduce((sum, length) => sum + length, 0);
    const buffer = allocate(String(at), Math.max(bytes, freedBytes));
    let from = 0;
    return chunks.map((length) => {
      from += length;
      return buffer.subarray(from - length, from);
    });
  });
}

async function* arriving(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

describe("lent chunks", () => {
  const lenders: Readonly<
    Record<string, (chunks: readonly Buffer<ArrayBuffer>[]) => BorrowedChunks>
  > = {
    "of an owner": (chunks) => new OwnedChunks(chunks).drain(),
    "that arrive": (chunks) => lendEach(arriving(chunks)),
  };
  for (const [name, lender] of Object.entries(lenders)) {
    test(`${name} are whole during the loan, and freed after the last of their buffer`, () =>
      fc.assert(
        fc.asyncProperty(buffers, async (all) => {
          const chunks = cut(all);
          const text = Buffer.concat(chunks).toString();
          const read: string[] = [];
          let at = 0;
          for await (const chunk of lender(chunks)) {
            read.push(String(chunk));
            const { buffer } = chunks[at] as Buffer;
            const earlier = chunks.slice(0, at++).filter((before) => before.buffer !== buffer);
            expect(lengths(earlier).every((length) => length === 0)).toBe(true);
          }
          expect(read.join("")).toBe(text);
          expect(lengths(chunks).every((length) => length === 0)).toBe(true);
        }),
        tries(50),
      ));
  }
});
