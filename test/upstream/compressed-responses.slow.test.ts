/**
 * Compressed responses of upstreams: decompressed off the event loop, within bounds, and refused where they are
 * truncated.
 */
import { describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { failure, rawServer, testSender } from "./http-client-fixture.ts";
import { turnsDuring } from "./turns-during.ts";

const maxBytes = 40_000_000;
/** Both ways in which this client reads a response: buffered and streamed. */
const ways = [
  ["buffered", false],
  ["streamed", true],
] as const;

async function receive(
  body: Uint8Array,
  coding: string,
  streams: boolean,
  maxResponseBytes = maxBytes,
) {
  using server = rawServer(({ socket }) => {
    socket.write(
      `HTTP/1.1 200 OK\r\ncontent-encoding: ${coding}\r\ncontent-length: ${body.length}\r\n\r\n`,
    );
    socket.write(body);
  });
  using sender = testSender({ maxResponseBytes });
  const response = await sender.post(server.url, "?", { streams });
  return turnsDuring(() => response.text());
}

describe("a response in gzip", () => {
  const text = JSON.stringify({ text: "vexel ".repeat(5_000_000) });
  const body = gzipSync(Buffer.from(text));

  test.each(ways)(
    "%s, does not block other requests while it is decompressed",
    async (_, streams) => {
      const read = await receive(body, "gzip", streams);
      expect(read.result === text).toBeTrue();
      expect(read.turns).toBeGreaterThan(10);
    },
  );

  test.each(ways)("%s, is not decompressed beyond the limit", async (_, streams) => {
    const bomb = gzipSync(Buffer.alloc(maxBytes + 1));
    const error = await failure(receive(bomb, "gzip", streams));
    expect(error).toMatchObject({ kind: "upstream_invalid" });
    expect(error.message).toContain(`larger than ${maxBytes} bytes`);
  });

  test("takes no more memory than the limit", async () => {
    const bomb = gzipSync(Buffer.alloc(100_000_000));
    const before = process.memoryUsage().rss;
    const error = await failure(receive(bomb, "gzip", false, 1_000_000));
    expect(error).toMatchObject({ kind: "upstream_invalid" });
    expect(process.memoryUsage().rss - before).toBeLessThan(60_000_000);
  });

  test.each(ways)("%s, is refused when it is not compressed at all", async (_, streams) => {
    const error = await failure(receive(Buffer.from("no such thing"), "gzip", streams));
    expect(error).toMatchObject({ kind: "upstream_invalid" });
  });

  test.each(ways)(
    "%s, is refused when it is truncated, and other requests succeed",
    async (_, streams) => {
      for (const length of [10, Math.floor(body.length / 2), body.length - 1]) {
        const error = await failure(receive(body.subarray(0, length), "gzip", streams));
        expect(error).toMatchObject({ kind: "upstream_invalid" });
      }
    },
  );
});

test("a response with the content-encoding identity is read unchanged", async () => {
  for (const coding of ["identity", "none", "UTF-8", "utf8"]) {
    for (const [, streams] of ways) {
      expect((await receive(Buffer.from('{"a":1}'), coding, streams)).result).toBe('{"a":1}');
    }
  }
});

test("a response with another content-encoding is refused", async () => {
  for (const [, streams] of ways) {
    for (const coding of ["br", "gzip, br"]) {
      const error = await failure(receive(Buffer.from("{}"), coding, streams));
      expect(error.message).toContain(coding);
      expect(error).toMatchObject({ kind: "upstream_invalid" });
    }
  }
});
