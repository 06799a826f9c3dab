/** Downloads take turns: other requests run between their chunks, and keys share the turns. */
import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { sendStored } from "../../server/api/send-stored.ts";
import { ByteTurns, turnBytes } from "../../server/lib/byte-turns.ts";
import type { IncomingRequest } from "../../server/request/http-types.ts";
import { temporaryFolder } from "../harness.ts";

const megabyte = 1024 * 1024;
const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

const fileOf = (megabytes: number): string => {
  const path = join(folder.path, `${megabytes}`);
  writeFileSync(path, Buffer.alloc(megabytes * megabyte, "vexel"));
  return path;
};

/** Reads the response to a download, as fast as a client could. Calls back after each chunk. */
async function download(
  turns: ByteTurns,
  turnKey: string,
  path: string,
  onChunk: (bytes: number) => void,
): Promise<number> {
  const incoming = { method: "GET", headers: new Headers() } as unknown as IncomingRequest;
  const stored = {
    size: Bun.file(path).size,
    read: (from?: number, to?: number) => Bun.file(path).slice(from, to).stream(),
  };
  const { body } = await sendStored(incoming, stored, { headers: {}, tag: "", turns, turnKey });
  if (typeof body !== "object" || !("open" in body)) throw new Error("not a streamed body");
  let bytes = 0;
  for await (const { length } of body.open()) {
    bytes += length;
    onChunk(length);
  }
  return bytes;
}

test("other requests run after every 512 KB of all downloads together", async () => {
  const path = fileOf(16);
  const turns = new ByteTurns(() => 0);
  let isOver = false;
  let sinceTurn = 0;
  let most = 0;
  const countTurns = (): void => {
    sinceTurn = 0;
    if (!isOver) setImmediate(countTurns);
  };
  countTurns();
  const count = (bytes: number): void => {
    sinceTurn += bytes;
    most = Math.max(most, sinceTurn);
  };
  const sizes = await Promise.all(
    ["a", "a", "a", "b"].map((key) => download(turns, key, path, count)),
  );
  isOver = true;
  expect(sizes).toEqual(Array(4).fill(16 * megabyte));
  expect(most).toBeLessThanOrEqual(turnBytes);
});

test("eight downloads of one key leave every second turn to a download of another key", async () => {
  const path = fileOf(8);
  const turns = new ByteTurns(() => 0);
  let bytesOfFirst = 0;
  const many = Promise.all(
    Array.from({ length: 8 }, () =>
      download(turns, "first", path, (bytes) => {
        bytesOfFirst += bytes;
      }),
    ),
  );
  const before = bytesOfFirst;
  await download(turns, "second", path, () => undefined);
  expect(bytesOfFirst - before).toBeLessThan(12 * megabyte);
  await many;
});
