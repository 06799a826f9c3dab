/** Unread bytes on a keep-alive connection are detected from its descriptor: none, some, or the end. */
import { expect, test } from "bun:test";
import { createServer, type Socket } from "node:net";
import { unsolicitedBytes } from "../../server/upstream/transport/unsolicited-bytes.ts";

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
  return { ours, theirs, [Symbol.dispose]: close };
}

test("silence, a response and a reset connection are distinguished", async () => {
  using silent = await pair();
  expect(unsolicitedBytes(silent.ours)).toBe("none");
  using talking = await pair();
  talking.theirs.write("HTTP/1.1 200 OK\r\n");
  // Looked at in the same turn, before the event loop reads the socket.
  expect(unsolicitedBytes(talking.ours)).toBe("unsolicited");
  using reset = await pair();
  reset.theirs.resetAndDestroy();
  expect(unsolicitedBytes(reset.ours)).toBe("ended");
});
