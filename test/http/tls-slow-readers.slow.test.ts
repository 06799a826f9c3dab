/**
 * Backpressure over TLS: clients that do not read large responses cost little memory, and get every byte in the end.
 */
import { expect, test } from "bun:test";
import { testsWith } from "../programs.ts";
import { until } from "../until.ts";
import { get, respondWith, serve } from "./http-server-fixture.ts";
import { newCertificate } from "./tls-fixture.ts";

testsWith(["openssl"], import.meta.file, () => {
  const clients = 24;
  const chunkBytes = 64 * 1024;
  const chunksPerResponse = 192;
  const responseBytes = chunkBytes * chunksPerResponse;

  /** The content of a chunk depends on its response and its position. */
  function chunkOf(response: number, at: number): Buffer {
    const chunk = Buffer.alloc(chunkBytes, response + 7 * at);
    chunk.writeUInt32BE(response, 0);
    chunk.writeUInt32BE(at, 4);
    return chunk;
  }

  const hashOf = (response: number): string => {
    const hash = new Bun.CryptoHasher("sha1");
    for (let at = 0; at < chunksPerResponse; at++) hash.update(chunkOf(response, at));
    return hash.digest("hex");
  };

  /** Requests a response and stops reading after its head, until `resume`. */
  function slowReader(port: number, ca: string, response: number) {
    const done = Promise.withResolvers<string>();
    const hash = new Bun.CryptoHasher("sha1");
    let head: string | undefined = "";
    let received = 0;
    const onData = (socket: Bun.Socket<unknown>, bytes: Buffer): void => {
      let body = bytes;
      if (head !== undefined) {
        head += bytes.toString("latin1");
        const end = head.indexOf("\r\n\r\n");
        if (end < 0) return;
        body = Buffer.from(head.slice(end + 4), "latin1");
        head = undefined;
        socket.pause();
      }
      hash.update(body);
      received += body.length;
      if (received === responseBytes) done.resolve(hash.digest("hex"));
    };
    const socket = Bun.connect({
      hostname: "127.0.0.1",
      port,
      tls: { ca },
      socket: {
        handshake: (opened) => void opened.write(get(`/${response}`)),
        data: onData,
        drain: () => undefined,
        close: () => done.reject(new Error(`closed after ${received} bytes`)),
      },
    });
    return { socket, done: done.promise };
  }

  test("24 clients that read large responses slowly over TLS do not fill the memory, and get every byte", async () => {
    const { cert, key } = newCertificate();
    let produced = 0;
    await using served = serve(
      ({ head }) => {
        const response = Number(head.path.slice(1));
        return respondWith({
          length: responseBytes,
          open: async function* () {
            for (let at = 0; at < chunksPerResponse; at++) {
              produced += chunkBytes;
              yield chunkOf(response, at);
            }
          },
          close: async () => undefined,
        });
      },
      { tls: () => ({ cert, key }) },
    );
    Bun.gc(true);
    const before = process.memoryUsage.rss();
    const readers = Array.from({ length: clients }, (_, at) =>
      slowReader(served.server.port, cert, at),
    );
    const sockets = await Promise.all(readers.map(({ socket }) => socket));
    // Nothing more is produced once the buffers of the system are full.
    let last = -1;
    await until(async () => {
      const isStill = produced === last && produced >= clients * chunkBytes;
      last = produced;
      await Bun.sleep(500);
      return isStill;
    });
    expect(produced).toBeLessThan(clients * responseBytes);
    const grown = process.memoryUsage.rss() - before;
    // A copy of the unread responses would take 288 MB. The clients' own buffers are part of this process, too.
    expect(grown / 1024 / 1024).toBeLessThan(200);
    for (const socket of sockets) socket.resume();
    const hashes = await Promise.all(readers.map(({ done }) => done));
    expect(hashes).toEqual(readers.map((_, at) => hashOf(at)));
    for (const socket of sockets) socket.terminate();
    expect(served.errors).toEqual([]);
  });
});
