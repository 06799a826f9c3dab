/** One fast sender does not delay the reads of other connections. */

import { expect, test } from "bun:test";
import { until } from "../until.ts";
import { chunkedPost, get, respondWith, serve } from "./http-server-fixture.ts";

test("clients that send as fast as they can do not keep another client from its response", async () => {
  await using served = serve(async ({ head, body }) => {
    if (head.path === "/") return respondWith("served");
    while (await body.next()) {
      // The handler reads the body as fast as it arrives.
    }
    return respondWith("read");
  });
  const chunks = Buffer.from("1\r\nx\r\n".repeat(100_000));
  let sending = true;
  const senders = [];
  for (let at = 0; at < 4; at++) {
    const connection = await served.connect(chunkedPost("/upload"));
    senders.push(
      (async () => {
        while (sending) await connection.sendAll(chunks);
        connection.disconnect();
      })(),
    );
  }
  await until(() => served.server.pending() === 4);
  const other = await served.connect();
  for (let at = 0; at < 5; at++) {
    other.send(get("/"));
    expect((await other.response()).body).toBe("served");
  }
  sending = false;
  await Promise.all(senders);
});
