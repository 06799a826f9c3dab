/**
 * Request smuggling: a request that a proxy and the gateway could read in two ways is refused, and the connection
 * closed.
 */

import { describe, expect, test } from "bun:test";
import type { RequestHead } from "../../server/http/server/http-server.ts";
import { until } from "../until.ts";
import type { RawConnection } from "./gateway-fixture.ts";
import {
  afterGate,
  chunkedPost,
  echo,
  gate,
  get,
  post,
  readBody,
  respondWith,
  serve,
} from "./http-server-fixture.ts";

const codeOf = (body: string): string => JSON.parse(body).error.code;

async function expectRefused(connection: RawConnection, code = "invalid_http"): Promise<number> {
  const { status, headers, body } = await connection.response();
  expect(codeOf(body)).toBe(code);
  expect(headers.get("connection")).toBe("close");
  await connection.closed;
  expect(connection.received).toBe("");
  return status;
}

describe("a request is refused, sent whole or byte by byte:", () => {
  const chunked = chunkedPost("/");
  const line = (text: string) => get("/", `${text}\r\n`);
  test.each<[string, string, number?]>([
    ["a folded line", line("a: b\r\n c")],
    ["a first header that is folded", get("/").replace("host", " host")],
    ["a line that ends in a bare line feed", get("/", "a: b\nc: d\r\n")],
    ["a line that ends in a bare carriage return", get("/", "a: b\rc: d\r\n")],
    ["a head of line feeds", "GET / HTTP/1.1\nhost: x\n\nGET / HTTP/1.1\r\n\r\n"],
    ["a second carriage return", get("/", "a: b\r\r\n")],
    ["a space before the colon", line("a : b")],
    ["a space in a name", line("a b: c")],
    ["an empty name", line(": b")],
    ["a line with a name only", line("a")],
    ["a zero byte", line("a: \0")],
    ["a control character", line("a: \x07")],
    ["a non-ASCII name", line("\xe9: a")],
    ["two spaces in the request line", "GET  / HTTP/1.1\r\nhost: x\r\n\r\n"],
    ["a tab in the request line", "GET\t/ HTTP/1.1\r\nhost: x\r\n\r\n"],
    ["a space after the request line", "GET / HTTP/1.1 \r\nhost: x\r\n\r\n"],
    ["a request line of two words", "GET /\r\nhost: x\r\n\r\n"],
    ["HTTP/1.2", get("/").replace("1.1", "1.2")],
    ["HTTP/2.0 in a head", get("/").replace("1.1", "2.0")],
    ["HTTP/2 with prior knowledge", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["http in lower case", get("/").replace("HTTP", "http")],
    ["a path without a leading slash", get("admin/targets")],
    ["CONNECT to another port", get("x:443").replace("GET", "CONNECT")],
    ["no host header", "GET / HTTP/1.1\r\na: b\r\n\r\n"],
    ["two host headers", line("Host: y")],
    ["the same content-length twice", post("/", "a", "Content-Length: 1\r\n")],
    ["two lengths", post("/", "a", "Content-Length: 3\r\n")],
    ["a negative length", post("/", "").replace(": 0", ": -2")],
    ["a length in letters", post("/", "").replace(": 0", ": two")],
    ["a length in hexadecimal", post("/", "").replace(": 0", ": 0x2")],
    ["a length with a plus", post("/", "").replace(": 0", ": +1")],
    ["a length with a fraction", post("/", "").replace(": 0", ": 1.0")],
    ["a list of lengths", post("/", "").replace(": 0", ": 1, 1")],
    ["an empty content-length", post("/", "").replace(": 0", ":")],
    ["a length that is not a safe integer", post("/", "").replace(": 0", `: ${"9".repeat(16)}`)],
    ["a length with a no-break space", post("/", "").replace(": 0", ": 0\xa0")],
    ["a length and chunks", post("/", "", "transfer-encoding: chunked\r\n")],
    ["chunked coding in HTTP/1.0", `${chunked.replace("1.1", "1.0")}0\r\n\r\n`],
    ["two transfer-encoding headers", chunkedPost("/", "transfer-encoding: chunked\r\n")],
    ["chunked with a no-break space", chunked.replace("chunked", "\xa0chunked"), 501],
    ["gzip and chunked coding", chunked.replace("chunked", "gzip, chunked"), 501],
    ["chunked coding listed twice", chunked.replace("chunked", "chunked, chunked"), 501],
    ["an unsupported expectation", line("expect: the-best"), 417],
    ["too many leading line breaks", `${"\r\n".repeat(5)}${get("/")}`],
    ["a leading zero byte", `\0${get("/")}`],
  ])("%s", async (_, text, status = 400) => {
    await using served = serve(echo);
    for (const chunks of [[text], [...text]]) {
      const connection = await served.connect();
      for (const chunk of chunks) {
        connection.send(Buffer.from(chunk, "latin1"));
        if (chunks.length > 1 && !connection.isClosed) await new Promise(setImmediate);
      }
      expect(await expectRefused(connection)).toBe(status);
    }
  });
});

describe("malformed chunks", () => {
  const broken = [
    "zz\r\n",
    "\r\n",
    "-1\r\n",
    "5\r\nhelloX\r\n",
    "5\nhello\r\n",
    "0\r\n\nGET /\r\n",
  ];

  test.each(broken)("%p: later bytes are not read as the body", async (start) => {
    const late = gate();
    await using served = serve(afterGate(late, echo));
    const connection = await served.connect(chunkedPost("/") + start);
    await Bun.sleep(5);
    connection.send("5\r\nhello\r\n0\r\n\r\n", get("/smuggled"));
    await Bun.sleep(5);
    late.open();
    await expectRefused(connection);
  });

  test.each(broken)("%p: after a response, they close the connection", async (start) => {
    await using served = serve(() => respondWith("early"));
    const connection = await served.connect(chunkedPost("/"));
    expect((await connection.response()).body).toBe("early");
    connection.send(start + get("/smuggled"));
    await connection.closed;
    expect(connection.received).toBe("");
  });
});

describe("a request head", () => {
  const sized = (bytes: number) => get("/", `a: ${"a".repeat(bytes - 28)}\r\n`);

  test("may have 16384 bytes, split anywhere, and is refused with one byte more", async () => {
    await using served = serve(() => respondWith("read"));
    for (const cut of [0, 1, 2, 3, 4, 5, 100]) {
      const connection = await served.connect();
      const whole = sized(16_384);
      expect(whole.indexOf("\r\n\r\n")).toBe(16_384);
      connection.send(whole.slice(0, whole.length - cut));
      await Bun.sleep(2);
      connection.send(whole.slice(whole.length - cut));
      expect((await connection.response()).body).toBe("read");
    }
    const connection = await served.connect(sized(16_385));
    expect(await expectRefused(connection, "headers_too_large")).toBe(431);
  });

  test("is searched by whole header names, in all lines, and values are trimmed", async () => {
    let head: RequestHead | undefined;
    await using served = serve((request) => {
      head = request.head;
      return respondWith("");
    });
    const connection = await served.connect();
    const lines = "X-A: \t 1 \t\r\nx-a-b: 2\r\nb: x-a: 3\r\nx-A:4\r\nx-empty:\r\nlast: \xe9\r\n";
    connection.send(Buffer.from(get("/?x-a: 5", lines).replace("/?x-a: 5", "/?x-a:5"), "latin1"));
    await connection.response();
    const names = ["x-a", "x-a-b", "b", "x-empty", "last", "a", "x"];
    const found = names.map((name) => head?.get(name) ?? null);
    expect(found).toEqual(["1, 4", "2", "x-a: 3", "", "\xe9", null, null]);
  });

  test("that equals the cached head is recognized, and a different head is parsed", async () => {
    await using served = serve(async (request) =>
      respondWith(`${request.head.get("a")} ${await readBody(request)}`),
    );
    const connection = await served.connect();
    const again = post("/", "x", "a: 1\r\n");
    const all = [
      again,
      again,
      post("/", "x", "a: 2\r\n"),
      `\r\n${again}`,
      post("/", "xy", "a: 1\r\n"),
    ];
    connection.send(all.join(""));
    const responses: string[] = [];
    for (const _ of all) responses.push((await connection.response()).body);
    expect(responses).toEqual(["1 x", "1 x", "2 x", "1 x", "1 xy"]);
    connection.send(again.slice(0, 20));
    await Bun.sleep(2);
    connection.send(again.slice(20));
    expect((await connection.response()).body).toBe("1 x");
  });
});

describe("a refusal", () => {
  test("reaches a client that is still sending", async () => {
    await using served = serve();
    const connection = await served.connect("nonsense\r\n\r\n");
    for (let at = 0; at < 50; at++) connection.send(Buffer.alloc(100_000));
    expect(codeOf((await connection.response()).body)).toBe("invalid_http");
    await connection.closed;
  });

  test("is sent after the responses to earlier requests", async () => {
    const last = gate();
    await using served = serve(async ({ head }) => {
      if (head.path === "/2") await last.opened;
      return respondWith(head.path);
    });
    const connection = await served.connect(`${get("/1")}${get("/2")}nonsense\r\n\r\n${get("/3")}`);
    await until(() => connection.received.includes("/1"));
    last.open();
    expect((await connection.response()).body).toBe("/1");
    expect((await connection.response()).body).toBe("/2");
    await expectRefused(connection);
  });
});
