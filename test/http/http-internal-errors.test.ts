/**
 * An internal error, or a socket that accepts few bytes, affects one response at most: never the next, never the
 * process.
 */

import { describe, expect, test } from "bun:test";
import type { ByteSocket } from "../../server/http/server/client-socket.ts";
import { ClientConnection } from "../../server/http/server/connection.ts";
import type { OutgoingResponse } from "../../server/request/http-types.ts";
import { until } from "../until.ts";
import { chunk } from "./gateway-fixture.ts";
import {
  chunkedPost,
  each,
  gate,
  get,
  post,
  respondWith,
  serve,
  streamedBody,
} from "./http-server-fixture.ts";
import { contextWith, NarrowSocket } from "./narrow-socket.ts";

describe("a response that cannot be sent as announced resets the connection:", () => {
  const closed: boolean[] = [];
  const three = () => each(Buffer.from("abc"));
  const breaks = async function* () {
    yield "abc";
    throw new Error("broken");
  };

  test.each<[string, () => OutgoingResponse["body"], boolean]>([
    ["a file that has become shorter", () => streamedBody(5, three, closed), true],
    ["a file that has become longer", () => streamedBody(2, three, closed), true],
    [
      "a file that cannot be opened",
      () =>
        streamedBody(
          3,
          () => {
            throw new Error("not there");
          },
          closed,
        ),
      true,
    ],
    ["chunks that end with an error", breaks, false],
  ])("%s", async (_, body, isFile) => {
    closed.length = 0;
    await using served = serve(({ head }) => respondWith(head.path === "/odd" ? body() : "next"));
    const connection = await served.connect(get("/odd") + get("/next"));
    await connection.closed;
    expect(connection.received).not.toContain("next");
    expect(connection.received).not.toContain("\r\n0\r\n\r\n");
    expect(served.errors).toHaveLength(1);
    expect(closed).toEqual(isFile ? [false] : []);
    const other = await served.connect(get("/"));
    expect((await other.response()).body).toBe("next");
  });

  test("a response to HEAD does not reset the connection", async () => {
    closed.length = 0;
    await using served = serve(() => respondWith(streamedBody(5, three, closed)));
    const connection = await served.connect(get("/").replace("GET", "HEAD"));
    const { headers } = await connection.response({ to: "HEAD" });
    expect(headers.get("content-length")).toBe("5");
    await until(() => closed.length > 0);
    expect([closed, served.errors]).toEqual([[false], []]);
  });
});

describe("an internal error", () => {
  test("while a request is read resets the connection, and is reported", async () => {
    const defect = new Error("a defect");
    await using served = serve(() => respondWith(""), {
      refuse: () => {
        throw defect;
      },
    });
    const connection = await served.connect("nonsense\r\n\r\n");
    await connection.closed;
    expect(served.errors).toEqual([defect]);
    await served.server.stop(false);
  });

  test("instead of a response resets the connection, and is reported", async () => {
    const defect = new Error("a defect");
    await using served = serve(undefined, { onRequest: () => Promise.reject(defect) });
    const connection = await served.connect(get("/"));
    await connection.closed;
    expect(served.errors).toEqual([defect]);
  });
});

describe("small chunks", () => {
  test("are joined before delivery, and apply backpressure to a client that sends nothing else", async () => {
    const go = gate();
    const sizes: number[] = [];
    await using served = serve(async ({ body }) => {
      await go.opened;
      for (;;) {
        const block = await body.next();
        if (!block) return respondWith(String(sizes.reduce((sum, size) => sum + size, 0)));
        sizes.push(block.length);
      }
    });
    const connection = await served.connect();
    const count = 200_000;
    connection.send(chunkedPost("/"), "1\r\nx\r\n".repeat(count), "0\r\n\r\n");
    await until(() => served.server.pending() === 1);
    go.open();
    expect((await connection.response()).body).toBe(String(count));
    expect(sizes.length).toBeLessThan(count / 100);
  });

  test("do not delay large chunks", async () => {
    const sizes: number[] = [];
    const go = gate();
    await using served = serve(async ({ body }) => {
      await go.opened;
      for (;;) {
        const block = await body.next();
        if (!block) return respondWith("");
        sizes.push(block.length);
      }
    });
    const connection = await served.connect(
      chunkedPost("/"),
      chunk("a".repeat(5_000)),
      chunk("b".repeat(5_000)),
      "0\r\n\r\n",
    );
    await until(() => served.server.pending() === 1);
    go.open();
    await connection.response();
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(10_000);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(5_000);
  });
});

describe("a socket that accepts one byte at a time", () => {
  const untilAccepted = async (
    socket: NarrowSocket,
    connection: ClientConnection,
  ): Promise<void> => {
    for (let quiet = 0; quiet < 10; ) {
      await Promise.resolve();
      const before = socket.accepted.length;
      socket.freeBytes = 1;
      connection.socket.onDrain();
      quiet = socket.accepted.length === before ? quiet + 1 : 0;
    }
  };
  const long = "é".repeat(40_000);
  const longBytes = "\xc3\xa9".repeat(40_000);
  const blocks = (first: string) => each<string | Buffer>(first, Buffer.from("zwei"));

  test.each<[string, () => OutgoingResponse["body"], string]>([
    ["text", () => "é€😀", "content-length: 9\r\n\r\n\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"],
    ["long text", () => long, longBytes],
    ["parts", () => ["é", "", "b"], "content-length: 3\r\n\r\n\xc3\xa9b"],
    ["long parts", () => ["a", long], `a${longBytes}`],
    ["bytes", () => Buffer.from("bytes"), "content-length: 5\r\n\r\nbytes"],
    ["long bytes", () => Buffer.from(long), longBytes],
    ["chunks", () => blocks("é"), "\r\n2\r\n\xc3\xa9\r\n4\r\nzwei\r\n0\r\n\r\n"],
    ["long chunks", () => blocks(long), `${longBytes}\r\n4\r\nzwei\r\n0\r\n\r\n`],
    [
      "a file",
      () => streamedBody(4, () => each(Buffer.from("file"))),
      "content-length: 4\r\n\r\nfile",
    ],
  ])("gets all of %s, and of the next response", async (_, body, end) => {
    // At first it accepts nothing, or more than the characters of a long text and less than its bytes.
    for (const freeBytes of [0, 60_000]) {
      const socket = new NarrowSocket(freeBytes);
      const connection = new ClientConnection(
        socket as unknown as ByteSocket,
        contextWith(async () => respondWith(body())),
      );
      connection.receive(Buffer.from(get("/") + get("/")));
      await new Promise(setImmediate);
      for (let at = 0; at < 50 && !socket.accepted.includes("HTTP/1.1", 1); at++) {
        await untilAccepted(socket, connection);
        await new Promise(setImmediate);
      }
      await until(() => {
        socket.freeBytes = 1_000_000;
        connection.socket.onDrain();
        return socket.accepted.endsWith(end) && !connection.socket.isBusy;
      });
      expect(socket.accepted.split("HTTP/1.1 200 OK\r\n")).toHaveLength(3);
      expect(socket.accepted.split(end)).toHaveLength(3);
      expect(socket.calls).toEqual([]);
    }
  });

  test("gets its own response, although others use the write buffer meanwhile", async () => {
    const sockets = ["first", "second", "third"].map((name) => {
      const socket = new NarrowSocket();
      const connection = new ClientConnection(
        socket as unknown as ByteSocket,
        contextWith(async () => respondWith(name.repeat(100))),
      );
      connection.receive(Buffer.from(get("/")));
      return { name, socket, connection };
    });
    await Promise.resolve();
    for (const { socket, connection } of sockets) await untilAccepted(socket, connection);
    for (const { name, socket } of sockets) {
      expect(socket.accepted).toEndWith(`\r\n\r\n${name.repeat(100)}`);
    }
  });

  test("is resumed after a large body was read, so that a disconnect is detected", async () => {
    const socket = new NarrowSocket();
    const accepted = gate();
    const connection = new ClientConnection(
      socket as unknown as ByteSocket,
      contextWith(async ({ body }) => {
        await accepted.opened;
        expect(body.whole()).toHaveLength(300_000);
        return respondWith("");
      }),
    );
    connection.receive(Buffer.from(post("/", "x".repeat(300_000))));
    expect(socket.calls).toEqual(["pause"]);
    accepted.open();
    await new Promise(setImmediate);
    expect([socket.calls, connection.socket.isBusy]).toEqual([["pause", "resume"], true]);
  });

  test("is not closed before it has accepted all of a refusal", async () => {
    const socket = new NarrowSocket();
    const connection = new ClientConnection(
      socket as unknown as ByteSocket,
      contextWith(() => Promise.reject(new Error("no request"))),
    );
    connection.receive(Buffer.from("nonsense\r\n\r\n"));
    socket.freeBytes = 100;
    connection.socket.onDrain();
    connection.receive(Buffer.from(get("/")));
    await Promise.resolve();
    expect(socket.calls).toEqual([]);
    await untilAccepted(socket, connection);
    expect(socket.accepted).toEndWith('"code":"invalid_http"}}');
    expect(socket.calls).toEqual(["shutdown"]);
  });
});
