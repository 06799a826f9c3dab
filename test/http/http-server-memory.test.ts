/** Callers who ask for much and take nothing of it. */
import { expect, test } from "bun:test";
import { relieve } from "../../server/http/server/server.ts";

const megabyte = 1024 * 1024;

test("answers that nobody takes do not fill the memory: who has taken nothing for longest is cut off first", () => {
  const cut: number[] = [];
  const connections = [1, 2, 3, 4, 5, 6].map((since) => ({
    unsentBytes: since === 2 ? 0 : 70 * megabyte,
    since: since * 1000,
    cut: () => cut.push(since),
  }));
  // 350 MB, of which 256 may lie there.
  relieve(connections, 100_000);
  expect(cut).toEqual([1, 3]);
});

test("who is slow, but takes something, is not cut off for others", () => {
  let cuts = 0;
  const busy = { unsentBytes: 300 * megabyte, since: 99_500, cut: () => cuts++ };
  relieve([busy], 100_000);
  expect(cuts).toBe(0);
});
