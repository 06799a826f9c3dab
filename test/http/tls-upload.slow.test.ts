/** Backpressure over TLS: an upload is read no faster than its handler reads it, and arrives byte for byte. */
import { expect, test } from "bun:test";
import { testsWith } from "../programs.ts";
import { until } from "../until.ts";
import { gate, respondWith, serve } from "./http-server-fixture.ts";
import { newCertificate } from "./tls-fixture.ts";

testsWith(["openssl"], import.meta.file, () => {
  const uploadBytes = 48 * 1024 * 1024;

  test("an upload over TLS waits for a handler that does not read, and arrives whole when it does", async () => {
    const { cert, key } = newCertificate();
    const release = gate();
    let read = 0;
    await using served = serve(
      async ({ body }) => {
        await release.opened;
        const hash = new Bun.CryptoHasher("sha1");
        for (;;) {
          const chunk = await body.next();
          if (!chunk) break;
          read += chunk.length;
          hash.update(chunk);
        }
        return respondWith(hash.digest("hex"));
      },
      { tls: () => ({ cert, key }) },
    );
    const upload = Buffer.alloc(uploadBytes, "0123456789abcdef-");
    const head = `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${uploadBytes}\r\n\r\n`;
    const all = Buffer.concat([Buffer.from(head), upload]);
    let sent = 0;
    let received = "";
    const sendMore = (socket: Bun.Socket<unknown>): void => {
      if (sent < all.length) sent += Math.max(0, socket.write(all.subarray(sent)));
    };
    const socket = await Bun.connect({
      hostname: "127.0.0.1",
      port: served.server.port,
      tls: { ca: cert },
      socket: {
        handshake: sendMore,
        drain: sendMore,
        data: (_, bytes) => {
          received += bytes.toString("latin1");
        },
      },
    });
    let last = -1;
    await until(async () => {
      const isStill = sent === last && sent > 0;
      last = sent;
      await Bun.sleep(300);
      return isStill;
    });
    expect(sent).toBeLessThan(all.length);
    expect(read).toBe(0);
    release.open();
    const expected = new Bun.CryptoHasher("sha1").update(upload).digest("hex");
    await until(() => received.endsWith(expected));
    expect(received).toStartWith("HTTP/1.1 200 OK");
    expect(read).toBe(uploadBytes);
    socket.terminate();
    expect(served.errors).toEqual([]);
  });
});
