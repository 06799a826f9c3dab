/**
 * `bun bench/tiny-chunks.ts PORT CONNECTIONS SECONDS KEY`: sends a chunked body of 1-byte chunks on each connection as
 * fast as the server reads it, and connects again when the server closes. An empty KEY sends no authorization header.
 * Prints the number of bytes that the server accepted, and of connections, as JSON.
 */
import { connect, type Socket } from "node:net";

const [port = 0, connections = 1, seconds = 1] = process.argv.slice(2, 5).map(Number);
const key = process.argv[5] ?? "";
const authorization = key === "" ? "" : `authorization: Bearer ${key}\r\n`;
const head = `POST /v1/embeddings HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${authorization}transfer-encoding: chunked\r\n\r\n`;
const chunks = Buffer.from("1\r\n \r\n".repeat(10_000));
const until = performance.now() + seconds * 1000;
let bytes = 0;
let opened = 0;
const open = new Set<Socket>();

/** Bytes that the kernel has accepted. */
const sentOn = (socket: Socket): number => socket.bytesWritten - socket.writableLength;

function send(): void {
  const socket = connect(port, "127.0.0.1");
  open.add(socket);
  const write = (): void => {
    while (!socket.destroyed && performance.now() < until) if (!socket.write(chunks)) return;
    socket.destroy();
  };
  socket.once("connect", () => {
    opened++;
    socket.write(head);
    write();
  });
  // The response is ignored, but an unread response would block the server.
  socket.on("data", () => undefined);
  socket.on("drain", write);
  socket.on("error", () => undefined);
  socket.on("close", () => {
    bytes += sentOn(socket);
    open.delete(socket);
    if (performance.now() < until) setTimeout(send, 1);
  });
}

for (let at = 0; at < connections; at++) send();
setTimeout(
  () => {
    for (const socket of open) bytes += sentOn(socket);
    console.log(JSON.stringify({ bytes, opened }));
    process.exit();
  },
  seconds * 1000 + 200,
);
