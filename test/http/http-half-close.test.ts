/**
 * A client may close its sending side after the request and still gets the response; a client that has disconnected is
 * detected.
 */

import { afterAll, describe, expect, test } from "bun:test";
import { until } from "../until.ts";
import { embeddingsText, RawConnection, startGatewayWithFake } from "./gateway-fixture.ts";
import {
  afterGate,
  chunkedPost,
  echo,
  gate,
  get,
  post,
  respondWith,
  serve,
} from "./http-server-fixture.ts";

const continued = "HTTP/1.1 100 Continue\r\n\r\n";

describe("a client that closes its sending side after its request", () => {
  test.each([
    ["with a length", post("/", "hello")],
    ["in chunks", `${chunkedPost("/")}5\r\nhello\r\n0\r\n\r\n`],
  ])("and a body %s gets its response, however late", async (_, text) => {
    const go = gate();
    await using served = serve(async (request) => {
      await go.opened;
      expect(request.signal.aborted).toBe(false);
      return echo(request);
    });
    const connection = await served.connect(text);
    connection.endInput();
    await until(() => connection.received === continued);
    await Bun.sleep(50);
    go.open();
    expect((await connection.response()).status).toBe(100);
    const response = await connection.response();
    expect(JSON.parse(response.body)).toEqual(["POST", "/", "hello"]);
    expect(response.headers.get("connection")).toBe("close");
    await connection.closed;
    expect(served.errors).toEqual([]);
  });

  test("gets all of a large response", async () => {
    const body = Buffer.alloc(8_000_000, "x");
    await using served = serve(() => respondWith(body));
    const connection = await served.connect();
    connection.pause();
    connection.send(post("/", "hello"));
    await until(() => served.server.pending() === 1);
    connection.endInput();
    await Bun.sleep(50);
    connection.resume();
    expect((await connection.response()).body).toHaveLength(body.length);
    await connection.closed;
  });

  test("gets the responses to all its pipelined requests", async () => {
    const go = gate();
    await using served = serve(afterGate(go, echo));
    const connection = await served.connect(get("/1") + post("/2", "two") + get("/3"));
    await until(() => served.server.pending() === 1);
    connection.endInput();
    await until(() => connection.received === continued);
    go.open();
    expect((await connection.response()).status).toBe(100);
    for (const path of ["/1", "/2", "/3"]) {
      expect(JSON.parse((await connection.response()).body)[1]).toBe(path);
    }
    await connection.closed;
  });

  test("in HTTP/1.0 counts as disconnected, as proxies do so when their client has disconnected", async () => {
    const aborted = gate();
    await using served = serve(async ({ signal }) => {
      signal.addEventListener("abort", aborted.open);
      await aborted.opened;
      return respondWith("");
    });
    const connection = await served.connect(post("/", "hello").replace("HTTP/1.1", "HTTP/1.0"));
    await until(() => served.server.pending() === 1);
    connection.endInput();
    await aborted.opened;
    await connection.closed;
    expect(connection.received).toBe("");
  });

  test("in the middle of its body gets an error for the incomplete body", async () => {
    await using served = serve();
    const connection = await served.connect(post("/", "hello").slice(0, -2));
    connection.endInput();
    await until(() => connection.received.includes("incomplete_body"));
    await connection.closed;
  });

  test("does not keep the gateway busy while it waits", async () => {
    const go = gate();
    await using served = serve(afterGate(go, () => respondWith("")));
    const connection = await served.connect(post("/", "hello"));
    connection.endInput();
    await until(() => connection.received === continued);
    const before = process.cpuUsage();
    await Bun.sleep(500);
    const { user, system } = process.cpuUsage(before);
    // A loop that spins would take all of the 500 ms.
    expect((user + system) / 1000).toBeLessThan(400);
    go.open();
    await connection.closed;
  });
});

describe("through the gateway", () => {
  const { fake, gateway, close } = startGatewayWithFake();
  afterAll(close);

  test("an embeddings request on a half-closed connection gets its response", async () => {
    fake.clear();
    fake.script({ delayMs: 200 });
    const connection = await RawConnection.open(gateway.url, embeddingsText("half"));
    connection.endInput();
    expect((await connection.response()).status).toBe(100);
    expect((await connection.response()).status).toBe(200);
    await connection.closed;
  });
});
