/** What a proxy and the gateway could read in two ways is not read at all: one refusal, and the connection ends. */
import { describe, expect, test } from "bun:test";
import type { RequestHead } from "../../server/http/server/parse-head.ts";
import { type RawConnection, until } from "./gateway-fixture.ts";
import {
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

describe("is refused, whole and byte by byte:", () => {
  const chunked = chunkedPost("/");
  const line = (text: string) => get("/", `${text}\r\n`);
  test.each<[string, string, number?]>([
    ["a folded line", line("a: b\r\n c")],
    ["a first header that is folded", get("/").replace("host", " host")],
    ["a line that ends in half a line break", get("/", "a: b\nc: d\r\n")],
    ["a line that ends in the other half", get("/", "a: b\rc: d\r\n")],
    ["a head of line feeds", "GET / HTTP/1.1\nhost: x\n\nGET / HTTP/1.1\r\n\r\n"],
    ["a carriage return too many", get("/", "a: b\r\r\n")],
    ["a blank before the colon", line("a : b")],
    ["a name of nothing", line(": b")],
    ["a line of nothing but a name", line("a")],
    ["a zero byte", line("a: \0")],
    ["a byte that rings", line("a: \x07")],
    ["a name beyond ASCII", line("\xe9: a")],
    ["two blanks in the first line", "GET  / HTTP/1.1\r\nhost: x\r\n\r\n"],
    ["a tab in the first line", "GET\t/ HTTP/1.1\r\nhost: x\r\n\r\n"],
    ["a blank behind the first line", "GET / HTTP/1.1 \r\nhost: x\r\n\r\n"],
    ["a first line of two words", "GET /\r\nhost: x\r\n\r\n"],
    ["HTTP/1.2", get("/").replace("1.1", "1.2")],
    ["HTTP/2.0 in a head", get("/").replace("1.1", "2.0")],
    [
      "the preface of HTTP/2 that goes on otherwise",
      "PRI * HTTP/2.0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
    ],
    ["http in small letters", get("/").replace("HTTP", "http")],
    ["a path without a beginning", get("admin/targets")],
    ["the address of another port", get("x:443").replace("GET", "CONNECT")],
    ["no host", "GET / HTTP/1.1\r\na: b\r\n\r\n"],
    ["two hosts", line("Host: y")],
    ["the same length twice", post("/", "a", "Content-Length: 1\r\n")],
    ["a length with a plus", post("/", "").replace(": 0", ": +1")],
    ["a length with a fraction", post("/", "").replace(": 0", ": 1.0")],
    ["a list of lengths", post("/", "").replace(": 0", ": 1, 1")],
    ["no length where one is said", post("/", "").replace(": 0", ":")],
    ["a length beyond counting", post("/", "").replace(": 0", `: ${"9".repeat(16)}`)],
    ["a length with a blank that is none", post("/", "").replace(": 0", ": 0\xa0")],
    ["a length and chunks", post("/", "", "transfer-encoding: chunked\r\n")],
    ["chunks in HTTP/1.0", `${chunked.replace("1.1", "1.0")}0\r\n\r\n`],
    ["chunks twice", chunkedPost("/", "transfer-encoding: chunked\r\n")],
    ["chunks with a blank that is none", chunked.replace("chunked", "\xa0chunked"), 501],
    ["compressed chunks", chunked.replace("chunked", "gzip, chunked"), 501],
    ["chunks that are named twice", chunked.replace("chunked", "chunked, chunked"), 501],
    ["an expectation nobody can meet", line("expect: the-best"), 417],
    ["a line break too many", `${"\r\n".repeat(5)}${get("/")}`],
    ["a zero byte at its beginning", `\0${get("/")}`],
  ])("%s", async (_, text, status = 400) => {
    await using served = serve(echo);
    for (const pieces of [[text], [...text]]) {
      const connection = await served.connect();
      for (const piece of pieces) {
        connection.send(Buffer.from(piece, "latin1"));
        if (pieces.length > 1 && !connection.isClosed) await new Promise(setImmediate);
      }
      expect(await expectRefused(connection)).toBe(status);
    }
  });
});

describe("chunks that are none", () => {
  const broken = [
    "zz\r\n",
    "\r\n",
    "-1\r\n",
    "5\r\nhelloX\r\n",
    "5\nhello\r\n",
    "0\r\n\nGET /\r\n",
  ];

  test.each(broken)("%p: whatever follows, nothing of it is taken for a body", async (start) => {
    const late = gate();
    await using served = serve(async (exchange) => {
      await late.opened;
      return echo(exchange);
    });
    const connection = await served.connect();
    connection.send(chunkedPost("/") + start);
    await Bun.sleep(5);
    connection.send("5\r\nhello\r\n0\r\n\r\n", get("/smuggled"));
    await Bun.sleep(5);
    late.open();
    await expectRefused(connection);
  });

  test.each(broken)("%p: behind an answer, they end the connection", async (start) => {
    await using served = serve(() => respondWith("early"));
    const connection = await served.connect();
    connection.send(chunkedPost("/"));
    expect((await connection.response()).body).toBe("early");
    connection.send(start + get("/smuggled"));
    await connection.closed;
    expect(connection.received).toBe("");
  });
});

describe("a head", () => {
  const sized = (bytes: number) => get("/", `a: ${"a".repeat(bytes - 28)}\r\n`);

  test("may have 16384 bytes, cut anywhere, and not one more", async () => {
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
    const connection = await served.connect();
    connection.send(sized(16_385));
    expect(await expectRefused(connection, "headers_too_large")).toBe(431);
  });

  test("is looked up by whole names, in all its lines, without its blanks", async () => {
    let head: RequestHead | undefined;
    await using served = serve((exchange) => {
      head = exchange.head;
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

  test("that is the same again is read as the same, and another as another", async () => {
    await using served = serve(async (exchange) =>
      respondWith(`${exchange.head.get("a")} ${await readBody(exchange)}`),
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
    const answers: string[] = [];
    for (const _ of all) answers.push((await connection.response()).body);
    expect(answers).toEqual(["1 x", "1 x", "2 x", "1 x", "1 xy"]);
    connection.send(again.slice(0, 20));
    await Bun.sleep(2);
    connection.send(again.slice(20));
    expect((await connection.response()).body).toBe("1 x");
  });
});

describe("what is refused", () => {
  test("is told to a caller who is still sending", async () => {
    await using served = serve();
    const connection = await served.connect();
    connection.send("nonsense\r\n\r\n");
    for (let at = 0; at < 50; at++) connection.send(Buffer.alloc(100_000));
    expect(codeOf((await connection.response()).body)).toBe("invalid_http");
    await connection.closed;
  });

  test("is told behind the answers before it", async () => {
    const last = gate();
    await using served = serve(async ({ head }) => {
      if (head.path === "/2") await last.opened;
      return respondWith(head.path);
    });
    const connection = await served.connect();
    connection.send(`${get("/1")}${get("/2")}nonsense\r\n\r\n${get("/3")}`);
    await until(() => connection.received.includes("/1"));
    last.open();
    expect((await connection.response()).body).toBe("/1");
    expect((await connection.response()).body).toBe("/2");
    await expectRefused(connection);
  });
});
