/** A disconnect is detected in every state of a connection, and the server can be stopped in each. */

import { describe, expect, test } from "bun:test";
import type { ServerRequest } from "../../server/http/server/http-server.ts";
import type { StreamedResponseBody } from "../../server/request/http-types.ts";
import { until } from "../until.ts";
import {
  afterGate,
  chunkedPost,
  each,
  echo,
  gate,
  get,
  type Handle,
  post,
  readBody,
  respondWith,
  serve,
  streamedBody,
} from "./http-server-fixture.ts";

/** A server that holds every request until the test continues, and exposes the last one. */
function holding(read: (request: ServerRequest) => Promise<unknown> = async () => undefined) {
  const go = gate();
  const handled: { request?: ServerRequest; reading?: Promise<unknown> } = {};
  const served = serve(async (request) => {
    handled.request = request;
    handled.reading = read(request);
    await Promise.allSettled([handled.reading]);
    await go.opened;
    return respondWith("late");
  });
  return { served, handled, go, begun: () => until(() => handled.request !== undefined) };
}

describe("a client that disconnects", () => {
  test("while its request is handled is detected immediately", async () => {
    const { served, handled, begun } = holding();
    await using _ = served;
    const connection = await served.connect(get("/"));
    await begun();
    const noticed = new Promise((resolve) =>
      handled.request?.signal.addEventListener("abort", resolve),
    );
    connection.disconnect();
    await noticed;
    expect(served.server.pending()).toBe(0);
  });

  test("before the signal is first used aborts the signal", async () => {
    const { served, handled, begun } = holding();
    await using _ = served;
    const connection = await served.connect(get("/"));
    await begun();
    connection.disconnect();
    await until(() => served.server.pending() === 0);
    expect(handled.request?.signal.aborted).toBe(true);
  });

  test.each([
    ["a body with a length", post("/", "hello").slice(0, -2)],
    ["a body in chunks", `${chunkedPost("/")}5\r\nhel`],
    ["a body that never started", chunkedPost("/")],
  ])("in the middle of %s rejects the reader", async (_, text) => {
    const { served, handled, begun } = holding(readBody);
    await using __ = served;
    const connection = await served.connect(text);
    await begun();
    connection.disconnect();
    await expect(handled.reading).rejects.toHaveProperty("kind", "incomplete_body");
  });

  test("after pipelining far ahead is detected when its first request is done, at the latest", async () => {
    const first = gate();
    const left = gate();
    let calls = 0;
    await using served = serve(async ({ signal }) => {
      signal.addEventListener("abort", left.open);
      await (++calls === 1 ? first.opened : left.opened);
      return respondWith("");
    });
    const connection = await served.connect(get("/").repeat(10_000));
    await until(() => calls > 0);
    connection.disconnect();
    first.open();
    await left.opened;
    expect(calls).toBeLessThan(3);
    expect([served.server.pending(), served.errors]).toEqual([0, []]);
  });

  test("in the middle of a response ends the iterator of its body", async () => {
    const ended: string[] = [];
    async function* endless() {
      try {
        for (;;) yield "x".repeat(100_000);
      } finally {
        ended.push("chunks");
      }
    }
    const leaving: StreamedResponseBody = {
      length: 1e9,
      open: async function* () {
        for (;;) yield Buffer.alloc(100_000);
      },
      close: async (complete) => void ended.push(`file ${complete}`),
    };
    const silent = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise<IteratorResult<string>>(() => undefined),
        return: async () => {
          ended.push("silent");
          return { done: true as const, value: undefined };
        },
      }),
    };
    const bodies = { "/chunks": endless(), "/file": leaving, "/silent": silent };
    await using served = serve(({ head }) => respondWith(bodies[head.path as keyof typeof bodies]));
    for (const path of Object.keys(bodies)) {
      const connection = await served.connect(get(path));
      await until(() => connection.received.length > 10);
      connection.pause();
      connection.disconnect();
    }
    await until(() => ended.length === 3);
    expect(ended.sort()).toEqual(["chunks", "file false", "silent"]);
    expect(served.errors).toEqual([]);
  });

  test("before the response is ready closes its body", async () => {
    const go = gate();
    const closed: boolean[] = [];
    await using served = serve(
      afterGate(go, () => respondWith(streamedBody(1, () => each(), closed))),
    );
    const connection = await served.connect(get("/"));
    await until(() => served.server.pending() === 1);
    connection.disconnect();
    await until(() => served.server.pending() === 0);
    go.open();
    await until(() => closed.length > 0);
    expect(closed).toEqual([false]);
  });
});

describe("a server that stops", () => {
  const states: [string, string, string][] = [
    ["that is idle", "", ""],
    ["with an incomplete request head", "", get("/").slice(0, 10)],
    ["whose body is being discarded", "early", post("/early", "hello").slice(0, -1)],
    ["after connection: close", "early", get("/early", "connection: close\r\n")],
    ["that was refused", "invalid_http", "nonsense\r\n\r\n"],
  ];

  test.each(states)("gracefully closes a connection %s", async (_, response, text) => {
    await using served = serve(() => respondWith("early"), { bodyMs: 1_000 });
    const connection = await served.connect(get("/"));
    await connection.response();
    connection.send(text);
    await until(() => connection.received.includes(response));
    const first = served.server.stop(false);
    if (text.endsWith("hell")) connection.send("o");
    // A second stop resolves as well.
    await Promise.all([first, served.server.stop(false), connection.closed]);
  });

  test.each(states)("immediately closes a connection %s", async (_, response, text) => {
    await using served = serve(() => respondWith("early"));
    const connection = await served.connect(text);
    await until(() => connection.received.includes(response));
    await Promise.all([served.server.stop(true), connection.closed]);
  });

  test("gracefully completes requests in flight with connection: close", async () => {
    const { served, go, begun } = holding();
    await using _ = served;
    // A connection that was closed before does not matter.
    const gone = await served.connect();
    gone.disconnect();
    await gone.closed;
    await Bun.sleep(5);
    const connection = await served.connect(get("/") + get("/"));
    await begun();
    const stopping = [served.server.stop(false), served.server.stop(false)];
    expect(await Promise.race([...stopping, Bun.sleep(20).then(() => "waits")])).toBe("waits");
    expect(served.server.pending()).toBe(1);
    go.open();
    const { body, headers } = await connection.response();
    expect([body, headers.get("connection")]).toEqual(["late", "close"]);
    await Promise.all([...stopping, connection.closed]);
    expect(connection.received).toBe("");
    await expect(served.connect()).rejects.toThrow();
  });

  test("immediately does not wait for requests in flight, nor for earlier stops", async () => {
    const { served, handled, begun } = holding();
    await using _ = served;
    const connection = await served.connect(get("/"));
    await begun();
    const waiting = served.server.stop(false);
    await Promise.all([served.server.stop(true), waiting, connection.closed]);
    expect(handled.request?.signal.aborted).toBe(true);
  });

  test("soon (beginStop) still accepts connections, for one request each", async () => {
    await using served = serve(echo);
    const before = await served.connect(get("/"));
    expect((await before.response()).headers.get("connection")).toBeNull();
    served.server.beginStop();
    const after = await served.connect();
    for (const connection of [before, after]) {
      connection.send(get("/"));
      expect((await connection.response()).headers.get("connection")).toBe("close");
      await connection.closed;
    }
  });
});

describe("the time", () => {
  test.each([
    ["between requests", get("/")],
    ["in the middle of a head", `${get("/")}GET`],
    ["in a body that is discarded", post("/", "hello").slice(0, -1)],
  ])("%s is limited", async (_, text) => {
    await using served = serve(() => respondWith("x"), { idleMs: 1000, bodyMs: 1000 });
    const connection = await served.connect(text);
    expect((await connection.response()).body).toBe("x");
    await connection.closed;
  });

  test("of a head that arrives byte by byte is limited", async () => {
    await using served = serve(() => respondWith("x"), { idleMs: 200 });
    const connection = await served.connect("GET / HTTP/1.1\r\nx: ");
    const trickle = setInterval(() => connection.send("a"), 20);
    await connection.closed;
    clearInterval(trickle);
    expect(connection.received).toBe("");
  });

  test("between requests is limited also after a request that took longer", async () => {
    const late: Handle = async () => {
      await Bun.sleep(1500);
      return respondWith("late");
    };
    await using served = serve(late, { idleMs: 1000 });
    const connection = await served.connect(get("/"));
    expect((await connection.response()).body).toBe("late");
    await connection.closed;
  });

  test("without a read of the response is limited", async () => {
    const ended = gate();
    async function* endless() {
      try {
        for (;;) yield "x".repeat(100_000);
      } finally {
        ended.open();
      }
    }
    await using served = serve(() => respondWith(endless()), { idleMs: 200 });
    const connection = await served.connect();
    connection.pause();
    connection.send(get("/"));
    await ended.opened;
  });

  test("of a response that is sent slowly is not limited", async () => {
    async function* slow() {
      for (let at = 0; at < 10; at++) {
        await Bun.sleep(100);
        yield `${at}`;
      }
    }
    await using served = serve(() => respondWith(slow()), { idleMs: 400 });
    const response = await fetch(`http://127.0.0.1:${served.server.port}/`);
    expect(await response.text()).toBe("0123456789");
  });
});
