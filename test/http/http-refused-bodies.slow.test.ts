/**
 * After a refusal, a bounded rest of the body is read: clients get the response, and no client can keep the gateway
 * busy.
 */

import { afterAll, describe, expect, test } from "bun:test";
import { RawConnection, startGatewayWithFake } from "./gateway-fixture.ts";
import { chunkedPost, get, post, respondWith, serve } from "./http-server-fixture.ts";

const { gateway, close } = startGatewayWithFake();
afterAll(close);

/** Sends the same bytes repeatedly until the connection is closed, or a number of bytes is sent. */
async function flood(connection: RawConnection, bytes: Buffer, most: number): Promise<number> {
  let sent = 0;
  while (!connection.isClosed && sent < most) {
    await connection.sendAll(bytes);
    sent += bytes.length;
  }
  return sent;
}

const megabyte = 1024 * 1024;

describe("a client without a key that sends a body without end", () => {
  const tiny = Buffer.from("1\r\nx\r\n".repeat(50_000));
  const large = Buffer.from(`100000\r\n${"x".repeat(megabyte)}\r\n`);
  test.each([
    ["in tiny chunks", chunkedPost("/v1/embeddings"), tiny],
    ["in large chunks", chunkedPost("/v1/embeddings"), large],
    [
      "of a length without end",
      post("/v1/embeddings", "").replace(": 0", ": 9007199254740991"),
      large,
    ],
  ])("%s gets 401, and is disconnected after a bounded number of bytes", async (_, head, bytes) => {
    const connection = await RawConnection.open(gateway.url, head);
    const sent = await flood(connection, bytes, 500 * megabyte);
    expect((await connection.response()).status).toBe(401);
    // 2 MiB are discarded before the close and 32 MiB while lingering; the sockets hold some more.
    expect(sent).toBeLessThan(100 * megabyte);
  });

  test("is disconnected although it sends slowly", async () => {
    let now = 0;
    // A body may pause for longer than the test lasts, so only the bound on the whole time can end the connection.
    await using served = serve(() => respondWith("no", 401), { idleMs: 40, clock: () => now });
    const connection = await served.connect(chunkedPost("/"));
    expect((await connection.response()).status).toBe(401);
    // Sends all the time, so that it is never silent. Discarding takes at most 10 s, and so does lingering.
    for (let at = 0; at < 400 && !connection.isClosed; at++) {
      connection.send("1\r\nx\r\n");
      now += 100;
      await Bun.sleep(12);
    }
    expect(connection.isClosed).toBe(true);
  });
});

describe("a client that sends all of its body before it reads", () => {
  test.each([
    ["announced", post("/v1/embeddings", "x".repeat(10 * megabyte))],
    [
      "in chunks",
      `${chunkedPost("/v1/embeddings")}a00000\r\n${"x".repeat(10 * megabyte)}\r\n0\r\n\r\n`,
    ],
  ])("%s still reads its 401", async (_, text) => {
    const connection = await RawConnection.open(gateway.url);
    connection.pause();
    await connection.sendAll(Buffer.from(text));
    connection.resume();
    expect((await connection.response()).status).toBe(401);
  });
});

test("an idle connection keeps no memory of the head of its last request", async () => {
  const heads: WeakRef<object>[] = [];
  let now = 0;
  await using served = serve(
    ({ head }) => {
      heads.push(new WeakRef(head));
      return respondWith("");
    },
    { bodyMs: 40, clock: () => now },
  );
  const [large, small] = [await served.connect(), await served.connect()];
  large.send(get("/", `a: ${"a".repeat(10_000)}\r\n`));
  await large.response();
  small.send(get("/"));
  await small.response();
  now = 10_000;
  await Bun.sleep(60);
  for (let at = 0; at < 50 && heads.some((head) => head.deref()); at++) {
    Bun.gc(true);
    await Bun.sleep(5);
  }
  expect(heads.map((head) => head.deref())).toEqual([undefined, undefined]);
});
