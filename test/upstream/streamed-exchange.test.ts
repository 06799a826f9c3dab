/** Streamed responses: backpressure for a slow reader. */
import { expect, test } from "bun:test";
import { openStream } from "../../server/upstream/transport/exchange.ts";

const bodyBytes = 24 * 1024 * 1024;
const response = Buffer.concat([
  Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: ${bodyBytes}\r\n\r\n`),
  Buffer.alloc(bodyBytes, "vexel"),
]);

/** Sends the same response to each request, as fast as the client reads it. */
function startSource() {
  const source = { sent: 0 };
  const server = Bun.listen<{ left: Buffer }>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open: (socket) => {
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
  openStream({
    address: { hostname: "127.0.0.1", port },
    request: "GET / HTTP/1.1\r\nhost: x\r\n\r\n",
    maxBytes: 64 * 1024 * 1024,
    signal: new AbortController().signal,
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
