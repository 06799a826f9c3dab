/** Streamed responses: when their connection is reused, and backpressure for a slow reader. */
import { afterAll, describe, expect, test } from "bun:test";
import {
  ConnectionPool,
  KeepAliveTrust,
  streamedPool,
} from "../../server/upstream/transport/connection-pool.ts";
import { StreamedExchange } from "../../server/upstream/transport/exchange.ts";

const clock = () => performance.now();
const kept = new ConnectionPool({ clock, trust: new KeepAliveTrust({ clock }), ...streamedPool });
afterAll(() => kept.close());

const bodyBytes = 24 * 1024 * 1024;
const response = Buffer.concat([
  Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: ${bodyBytes}\r\n\r\n`),
  Buffer.alloc(bodyBytes, "vexel"),
]);

/** Sends the same response to each request, as fast as the client reads it. */
function startSource() {
  const source = { connections: 0, sent: 0 };
  const server = Bun.listen<{ left: Buffer }>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open: (socket) => {
        source.connections++;
        socket.data = { left: Buffer.alloc(0) };
      },
      data: (socket) => {
        socket.data.left = response;
        pour(socket);
      },
      drain: (socket) => pour(socket),
    },
  });
  const pour = (socket: Bun.Socket<{ left: Buffer }>): void => {
    const written = Math.max(0, socket.write(socket.data.left));
    source.sent += written;
    socket.data.left = socket.data.left.subarray(written);
  };
  return { source, port: server.port, [Symbol.dispose]: () => server.stop(true) };
}

const call = (port: number) =>
  new StreamedExchange({
    address: { hostname: "127.0.0.1", port },
    request: "GET / HTTP/1.1\r\nhost: x\r\n\r\n",
    maxBytes: 64 * 1024 * 1024,
    signal: new AbortController().signal,
    pool: { connections: kept, key: `127.0.0.1:${port}` },
  }).begin();

async function read(port: number): Promise<Buffer> {
  const blocks: Uint8Array[] = [];
  for await (const block of (await call(port)).chunks()) blocks.push(block);
  return Buffer.concat(blocks);
}

describe("a connection that carried a large response", () => {
  test("is reused for the next response, and their bytes are not mixed", async () => {
    using server = startSource();
    for (let at = 0; at < 4; at++) {
      expect((await read(server.port)).equals(response.subarray(-bodyBytes))).toBe(true);
    }
    expect(server.source.connections).toBe(1);
  });

  test("whose reader stopped before the end is not reused", async () => {
    using server = startSource();
    for await (const _ of (await call(server.port)).chunks()) break;
    expect((await read(server.port)).length).toBe(bodyBytes);
    expect(server.source.connections).toBe(2);
  });
});

test("a connection that the server closes with its response is not reused", async () => {
  let connections = 0;
  const body = Buffer.from("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nvexel");
  using server = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open: () => {
        connections++;
      },
      // Without `connection: close`.
      data: (socket) => {
        socket.end(body);
      },
    },
  });
  for (let at = 0; at < 6; at++) {
    const responseBody = await call(server.port);
    // A reader that starts late gets the whole response, too.
    await Bun.sleep(at % 2 ? 30 : 0);
    const blocks = await Array.fromAsync(responseBody.chunks());
    expect(Buffer.concat(blocks).toString()).toBe("vexel");
    await Bun.sleep(30);
  }
  expect(connections).toBe(6);
});

test("a slow reader pauses the sender (backpressure)", async () => {
  using server = startSource();
  const { status, chunks, close } = await call(server.port).then((one) => ({
    status: one.status,
    chunks: one.chunks(),
    close: () => one.close(),
  }));
  expect(status).toBe(200);
  await chunks.next();
  let before = -1;
  // Until the server cannot send more.
  while (before !== server.source.sent) {
    before = server.source.sent;
    await Bun.sleep(100);
  }
  // The socket buffers of both sides hold a few megabytes, depending on the system. The rest was not sent.
  expect(server.source.sent).toBeLessThan(response.length);
  let length = 0;
  for await (const block of chunks) length += block.length;
  expect(server.source.sent).toBe(response.length);
  expect(length).toBeGreaterThan(0);
  close();
});
