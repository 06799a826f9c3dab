/** Requests are parsed exactly, or refused; responses are framed so that clients cannot mistake one for another. */

import { describe, expect, test } from "bun:test";
import { until } from "../until.ts";
import type { RawConnection } from "./gateway-fixture.ts";
import {
  afterGate,
  chunkedPost,
  each,
  echo,
  gate,
  get,
  post,
  readBody,
  respondWith,
  serve,
  streamedBody,
} from "./http-server-fixture.ts";

/** What the server has read of a request, from its response. */
const read = async (connection: RawConnection): Promise<unknown> => {
  const { status, body } = await connection.response();
  expect(status, body).toBe(200);
  return JSON.parse(body);
};

describe("pipelined requests", () => {
  test("wait for the previous response, and get their responses in order", async () => {
    const first = gate();
    const begun: string[] = [];
    await using served = serve(async (request) => {
      begun.push(request.head.path);
      if (request.head.path === "/1") await first.opened;
      return echo(request);
    });
    const connection = await served.connect();
    connection.send(get("/1") + post("/2", "two") + chunkedPost("/3"), "5\r\nthree\r\n0\r\n\r\n");
    connection.send(get("/4"));
    await until(() => begun.length > 0);
    await Bun.sleep(10);
    expect(begun).toEqual(["/1"]);
    first.open();
    expect(await read(connection)).toEqual(["GET", "/1", ""]);
    expect(await read(connection)).toEqual(["POST", "/2", "two"]);
    expect(await read(connection)).toEqual(["POST", "/3", "three"]);
    expect(await read(connection)).toEqual(["GET", "/4", ""]);
  });

  test("beyond the buffer pause the socket, and all get a response", async () => {
    const first = gate();
    await using served = serve(async (request) => {
      if (request.head.path === "/0") await first.opened;
      return echo(request);
    });
    const connection = await served.connect();
    const many = Array.from({ length: 3000 }, (_, at) => post(`/${at}`, "x".repeat(at % 300)));
    connection.send(many.join(""));
    await Bun.sleep(20);
    first.open();
    for (let at = 0; at < many.length; at++) {
      expect(await read(connection)).toEqual(["POST", `/${at}`, "x".repeat(at % 300)]);
    }
  });

  test("after a body that was not read are found", async () => {
    await using served = serve(() => respondWith("not read"));
    for (const head of [post("/", "").replace(": 0", ": 2000000"), chunkedPost("/")]) {
      const connection = await served.connect();
      const chunked = head.includes("chunked");
      connection.send(head);
      expect((await connection.response()).body).toBe("not read");
      const half = "x".repeat(1_000_000);
      connection.send(chunked ? `1e8480\r\n${half}` : half);
      await Bun.sleep(5);
      connection.send(`${half}${chunked ? "\r\n0\r\n\r\n" : ""}${get("/next")}`);
      expect((await connection.response()).body).toBe("not read");
      expect(connection.received).toBe("");
    }
  });

  test("after a line break that is not part of the content-length are read", async () => {
    await using served = serve();
    const connection = await served.connect(`${post("/", "a")}\r\n`);
    await read(connection);
    connection.send("\r");
    await Bun.sleep(5);
    connection.send(`\n\r\n${get("/b")}`);
    expect(await read(connection)).toEqual(["GET", "/b", ""]);
  });
});

describe("a client that waits for 100 Continue", () => {
  const waiting = post("/", "hello", "Expect: 100-Continue\r\n").slice(0, -5);

  test("gets it once, when the body is needed", async () => {
    const bodyRequested = gate();
    await using served = serve(afterGate(bodyRequested, echo));
    const connection = await served.connect(waiting);
    await Bun.sleep(20);
    expect(connection.received).toBe("");
    bodyRequested.open();
    expect((await connection.response()).status).toBe(100);
    connection.send("he");
    await Bun.sleep(5);
    connection.send(`llo${get("/2")}`);
    expect(await read(connection)).toEqual(["POST", "/", "hello"]);
    expect(await read(connection)).toEqual(["GET", "/2", ""]);
  });

  test("and sends its body without waiting may reuse the connection", async () => {
    await using served = serve();
    const connection = await served.connect(`${waiting}hello${get("/2")}`);
    expect(await read(connection)).toEqual(["POST", "/", "hello"]);
    expect(await read(connection)).toEqual(["GET", "/2", ""]);
  });

  test("and never gets it is disconnected after the response, because the next bytes are ambiguous", async () => {
    await using served = serve(() => respondWith("no", 403));
    const connection = await served.connect(waiting);
    const { status, headers } = await connection.response();
    expect([status, headers.get("connection")]).toEqual([403, "close"]);
    await connection.closed;
  });

  test("in HTTP/1.0 gets no interim response", async () => {
    await using served = serve();
    const connection = await served.connect(waiting.replace("HTTP/1.1", "HTTP/1.0"));
    await Bun.sleep(20);
    connection.send("hello");
    expect(await read(connection)).toEqual(["POST", "/", "hello"]);
  });
});

describe("a response without a body", () => {
  const bodies = {
    text: () => "text",
    parts: () => ["pa", "rt"],
    bytes: () => new Uint8Array(5),
    chunks: () => each("chunk"),
    file: () => streamedBody(4, () => each(Buffer.from("file"))),
  };

  test.each(Object.entries(bodies))(
    "to HEAD has the head of a response with %s",
    async (_, body) => {
      await using served = serve(() => respondWith(body()));
      const connection = await served.connect();
      connection.send(get("/").replace("GET", "HEAD") + get("/").replace("GET", "HEAD"));
      const [first, second] = [
        await connection.response({ to: "HEAD" }),
        await connection.response({ to: "HEAD" }),
      ];
      const framing = first.headers.get("content-length") ?? first.headers.get("transfer-encoding");
      expect(["4", "5", "chunked"]).toContain(framing as string);
      expect(second.status).toBe(200);
      expect(connection.received).toBe("");
    },
  );

  test.each([204, 304])("of status %i has no length, whatever its body", async (status) => {
    for (const body of Object.values(bodies)) {
      await using served = serve(() => respondWith(body(), status));
      const connection = await served.connect(get("/") + get("/"));
      for (let at = 0; at < 2; at++) {
        const { headers, ...response } = await connection.response();
        expect(response).toEqual({ status, body: "" });
        expect(headers.has("content-length") || headers.has("transfer-encoding")).toBe(false);
      }
      expect(connection.received).toBe("");
    }
  });
});

describe("HTTP/1.0", () => {
  const old = (lines = "") => `GET /old HTTP/1.0\r\n${lines}\r\n`;
  test.each<[string, string, boolean]>([
    ["", "closed", false],
    ["Connection: Keep-Alive\r\n", "kept", true],
    ["connection: x, keep-alive\r\n", "kept", true],
    ["connection: keep-alive, close\r\n", "closed", false],
    ["connection: no-keep-alive\r\n", "closed", false],
  ])("with %p is %s", async (lines, _, kept) => {
    await using served = serve();
    const connection = await served.connect(old(lines));
    const { headers } = await connection.response();
    expect(headers.get("connection")).toBe(kept ? "keep-alive" : "close");
    if (kept) {
      connection.send(old());
      expect((await connection.response()).headers.get("connection")).toBe("close");
    }
    await connection.closed;
  });

  test("gets a body without a length unchunked, up to the end of the connection", async () => {
    await using served = serve(() => respondWith(each("one, ", "two")));
    const connection = await served.connect(old("connection: keep-alive\r\n"));
    await connection.closed;
    expect(connection.received).toContain("connection: close\r\n");
    expect(connection.received).not.toContain("chunked");
    expect(connection.received).toEndWith("\r\n\r\none, two");
  });

  test("and HTTP/1.1 with `close` get one response, and later requests on the connection none", async () => {
    await using served = serve();
    for (const text of [
      old(),
      get("/", "connection: x,Close\r\n"),
      post("/", "a", "connection: close\r\n"),
    ]) {
      const connection = await served.connect(text + get("/smuggled"));
      await connection.closed;
      expect(connection.received.match(/HTTP\/1\.1 /g)).toHaveLength(1);
      expect(connection.received).not.toContain("smuggled");
    }
  });
});

describe("the request target", () => {
  test.each([
    ["/a?b=c", "/a?b=c"],
    ["http://elsewhere/a?b", "/a?b"],
    ["HTTPS://elsewhere", "/"],
    ["http://elsewhere?b", "/?b"],
    ["/a..b/.c/...?d=/../e", "/a..b/.c/...?d=/../e"],
    ["//a", "//a"],
    ["/\xc3\xa9", "/é"],
  ])("%p is %p", async (target, path) => {
    await using served = serve(({ head }) => respondWith(head.path + head.search));
    const connection = await served.connect(Buffer.from(get(target), "latin1"));
    expect((await connection.response()).body).toBe(path);
  });

  test("* is accepted for OPTIONS", async () => {
    await using served = serve();
    const connection = await served.connect(get("*").replace("GET", "OPTIONS"));
    expect(await read(connection)).toEqual(["OPTIONS", "*", ""]);
  });
});

describe("responses", () => {
  const sizes = [0, 1, 4_000, 33_000, 3_000_000];
  test.each(["a", "é", "€", "😀", "\ud800"])("of %p are counted in bytes", async (sign) => {
    await using served = serve(async (request) =>
      respondWith(sign.repeat(Number(await readBody(request)))),
    );
    const connection = await served.connect(sizes.map((size) => post("/", String(size))).join(""));
    for (const size of sizes) {
      const { body } = await connection.response();
      expect(body === Buffer.from(sign.repeat(size)).toString()).toBe(true);
    }
    expect(connection.received).toBe("");
  });

  test("with line breaks in header values do not start new headers", async () => {
    const headers = { "x-a": "a\r\nx-evil: 1\r\n\r\nHTTP/1.1 200 OK", "x-b": "é\0\x7f" };
    await using served = serve(() => ({ status: 200, headers, body: "" }));
    const connection = await served.connect(get("/"));
    const response = await connection.response();
    expect(response.headers.get("x-a")).toBe("a??x-evil: 1????HTTP/1.1 200 OK");
    expect(response.headers.get("x-b")).toBe("???");
    expect(connection.received).toBe("");
  });
});
