/** A client may close its sending side after the request and still gets the response; one that is gone is noticed. */
import { afterAll, describe, expect, test } from "bun:test";
import { asText, embedder, jsonHeaders, RawConnection, startEdge, until } from "./edge-fixture.ts";
import { echo, gate, get, inChunks, post, say, serve } from "./http-server-fixture.ts";

const continued = "HTTP/1.1 100 Continue\r\n\r\n";

describe("a client that closes its sending side after its request", () => {
  test.each([
    ["with a length", post("/", "hello")],
    ["in chunks", `${inChunks("/")}5\r\nhello\r\n0\r\n\r\n`],
  ])("and a body %s gets its response, however late", async (_, text) => {
    const go = gate();
    await using served = serve(async (exchange) => {
      await go.opened;
      expect(exchange.signal.aborted).toBe(false);
      return echo(exchange);
    });
    const connection = await served.connect();
    connection.say(text);
    connection.finish();
    await until(() => connection.heard === continued);
    await Bun.sleep(50);
    go.open();
    expect((await connection.answer()).status).toBe(100);
    const answer = await connection.answer();
    expect(JSON.parse(answer.body)).toEqual(["POST", "/", "hello"]);
    expect(answer.headers.get("connection")).toBe("close");
    await connection.closed;
    expect(served.broken).toEqual([]);
  });

  test("gets all of a large response", async () => {
    const body = Buffer.alloc(8_000_000, "x");
    await using served = serve(() => say(body));
    const connection = await served.connect();
    connection.pause();
    connection.say(post("/", "hello"));
    await until(() => served.server.pending() === 1);
    connection.finish();
    await Bun.sleep(50);
    connection.resume();
    expect((await connection.answer()).body).toHaveLength(body.length);
    await connection.closed;
  });

  test("gets the responses to all its pipelined requests", async () => {
    const go = gate();
    await using served = serve(async (exchange) => {
      await go.opened;
      return echo(exchange);
    });
    const connection = await served.connect();
    connection.say(get("/1") + post("/2", "two") + get("/3"));
    await until(() => served.server.pending() === 1);
    connection.finish();
    await until(() => connection.heard === continued);
    go.open();
    expect((await connection.answer()).status).toBe(100);
    for (const path of ["/1", "/2", "/3"]) {
      expect(JSON.parse((await connection.answer()).body)[1]).toBe(path);
    }
    await connection.closed;
  });

  test("in HTTP/1.0 counts as gone, as a proxy whose client has left does the same", async () => {
    const aborted = gate();
    await using served = serve(async ({ signal }) => {
      signal.addEventListener("abort", aborted.open);
      await aborted.opened;
      return say("");
    });
    const connection = await served.connect();
    connection.say(post("/", "hello").replace("HTTP/1.1", "HTTP/1.0"));
    await until(() => served.server.pending() === 1);
    connection.finish();
    await aborted.opened;
    await connection.closed;
    expect(connection.heard).toBe("");
  });

  test("in the middle of its body learns that the body is incomplete", async () => {
    await using served = serve();
    const connection = await served.connect();
    connection.say(post("/", "hello").slice(0, -2));
    connection.finish();
    await until(() => connection.heard.includes("incomplete_body"));
    await connection.closed;
  });

  test("does not keep the gateway busy while it waits", async () => {
    const go = gate();
    await using served = serve(async () => {
      await go.opened;
      return say("");
    });
    const connection = await served.connect();
    connection.say(post("/", "hello"));
    connection.finish();
    await until(() => connection.heard === continued);
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
  const { fake, gateway, close } = startEdge();
  afterAll(close);
  const body = (input: string) => JSON.stringify({ model: embedder, input });

  test("an embeddings request of a half-closed connection is answered", async () => {
    fake.clear();
    fake.script({ delayMs: 200 });
    const connection = await RawConnection.open(gateway.url);
    connection.say(asText({ path: "/v1/embeddings", headers: jsonHeaders, body: body("half") }));
    connection.finish();
    expect((await connection.answer()).status).toBe(100);
    expect((await connection.answer()).status).toBe(200);
    await connection.closed;
  });

  test("an embeddings request of a client that has closed altogether is canceled upstream", async () => {
    fake.clear();
    fake.script({ hang: "headers" });
    const connection = await RawConnection.open(gateway.url);
    connection.say(asText({ path: "/v1/embeddings", headers: jsonHeaders, body: body("gone") }));
    await fake.arrived(1);
    connection.hangUp();
    await until(() => fake.requests[0]?.aborted === true);
  });
});
