/** Clients that request large responses and do not read them. */
import { expect, test } from "bun:test";
import { resetSlowReaders } from "../../server/http/server/socket-writer.ts";

const megabyte = 1024 * 1024;

test("unread responses do not fill the memory: the client that has not read for the longest time is reset first", () => {
  const reset: number[] = [];
  const connections = [1, 2, 3, 4, 5, 6].map((second) => ({
    unsentBytes: second === 2 ? 0 : 70 * megabyte,
    lastActivityAt: second * 1000,
    reset: () => reset.push(second),
  }));
  // 350 MB, of which 256 may be unsent.
  resetSlowReaders(connections, 100_000);
  expect(reset).toEqual([1, 3]);
});

test("a slow client that still reads is not reset to free capacity for other clients", () => {
  let resets = 0;
  const reading = {
    unsentBytes: 300 * megabyte,
    lastActivityAt: 99_500,
    reset: () => resets++,
  };
  resetSlowReaders([reading], 100_000);
  expect(resets).toBe(0);
});
