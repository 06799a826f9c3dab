/**
 * Unread bytes on a keep-alive connection are detected from its descriptor: none, some, or the end, with either system
 * call.
 */
import { expect, test } from "bun:test";
import { createServer, type Socket } from "node:net";
import { peekByLibrary, peekByRead } from "../../server/upstream/transport/unsolicited-bytes.ts";

/** A connection, with the descriptor of one side and the socket of the other. */
async function pair() {
  const accepted = Promise.withResolvers<Socket>();
  const server = createServer((socket) => accepted.resolve(socket.on("error", () => undefined)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const ours = await Bun.connect({
    hostname: "127.0.0.1",
    port,
    socket: { data: () => undefined, error: () => undefined },
  });
  const theirs = await accepted.promise;
  const close = (): void => {
    ours.terminate();
    theirs.destroy();
    server.close();
  };
  return { fd: (ours as unknown as { fd: number }).fd, theirs, [Symbol.dispose]: close };
}

const byLibrary = peekByLibrary();

test("the C library of this system can be called", () => expect(byLibrary).toBeDefined());

test.each([
  ["recv", byLibrary ?? peekByRead],
  ["read", peekByRead],
])("%s distinguishes silence, bytes and a reset connection", async (_, peek) => {
  using silent = await pair();
  expect(peek(silent.fd)).toBe(-1);
  using talking = await pair();
  talking.theirs.write("HTTP/1.1 200 OK\r\n");
  // Looked at in the same turn, before the event loop reads the socket.
  expect(peek(talking.fd)).toBeGreaterThan(0);
  using reset = await pair();
  reset.theirs.resetAndDestroy();
  expect(peek(reset.fd)).toBe(0);
});
