/** Connections to upstreams are reused, but only if no client can get another client's response. */

import { describe, expect, test } from "bun:test";
import { until } from "../until.ts";
import { echo, failure, ok, rawServer, testClient } from "./http-client-fixture.ts";

describe("a connection is used again", () => {
  test("by sequential requests", async () => {
    using server = rawServer(echo);
    using client = testClient();
    for (const body of ["a", "b", "", "ü", "e"])
      expect(await client.send(server.url, body)).toBe(body);
    expect(server.opened).toBe(1);
    expect(server.received.map(({ turn }) => turn)).toEqual([1, 2, 3, 4, 5]);
  });

  test("by as many concurrent requests as before", async () => {
    using server = rawServer((request) => void setTimeout(echo, 5, request));
    using client = testClient();
    const bodies = Array.from({ length: 20 }, (_, at) => `call ${at}`);
    for (let round = 0; round < 3; round++) {
      expect(await Promise.all(bodies.map((body) => client.send(server.url, body)))).toEqual(
        bodies,
      );
    }
    expect(server.opened).toBe(20);
  });

  test("after chunks with trailers, an interim response, no content, and an error", async () => {
    const words = [
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;x\r\na\r\n0\r\nx-t: 1\r\n\r\n",
      `HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n${ok("a")}`,
      "HTTP/1.1 204 No Content\r\n\r\n",
      "HTTP/1.1 500 No\r\ncontent-length: 1\r\n\r\na",
      "HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 1\r\n\r\na",
    ];
    using server = rawServer(({ socket, turn }) => void socket.write(words[turn - 1]!));
    using client = testClient();
    for (const text of words) {
      expect(await client.send(server.url, "?")).toBe(text.includes(" 204 ") ? "" : "a");
    }
    expect(server.opened).toBe(1);
  });

  test("a connection is not used again after an ambiguous response", async () => {
    const words = [
      ok("a", "connection: close\r\n"),
      "HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\na",
      "HTTP/1.1 204 No\r\ncontent-length: 1\r\n\r\n",
      ok("a", "x : y\r\n"),
      `${ok("a")}\r\n`,
      `${ok("a")}${ok("not yours")}`,
    ];
    for (const text of words) {
      using server = rawServer(({ socket }) => void socket.write(text));
      using client = testClient();
      for (let turn = 1; turn <= 3; turn++) {
        expect(await client.send(server.url, "?")).toBe(text.includes(" 204 ") ? "" : "a");
        expect(server.opened).toBe(turn);
      }
      await until(() => server.open === 0);
    }
  });
});

describe("no client gets another client's response", () => {
  test("when a server sends bytes after its response, while the connection is idle", async () => {
    using server = rawServer((request) => {
      echo(request);
      setTimeout(() => request.socket.write(ok("late")), 10);
    });
    using client = testClient();
    for (const body of ["a", "b", "c"]) {
      expect(await client.send(server.url, body)).toBe(body);
      await until(() => server.open === 0);
    }
    expect(server.opened).toBe(3);
  });

  test("when a server responds twice to one request", async () => {
    using server = rawServer(({ socket, body }) => void socket.write(ok(String(body)).repeat(2)));
    using client = testClient();
    const bodies = Array.from({ length: 50 }, (_, at) => `call ${at}`);
    expect(await Promise.all(bodies.map((body) => client.send(server.url, body)))).toEqual(bodies);
    for (const body of bodies) expect(await client.send(server.url, body)).toBe(body);
  });

  test("when a server responds before it has the whole request", async () => {
    // The server never reads the rest, which would become the start of the next request.
    using server = rawServer(echo, {
      onHead: ({ socket, head }) => {
        if (!head.includes("/large")) return;
        socket.pause();
        socket.write("HTTP/1.1 413 Too Large\r\ncontent-length: 9\r\n\r\ntoo large");
      },
    });
    using client = testClient();
    expect(await client.send(server.url, "a")).toBe("a");
    expect(await client.send(`${server.url}/large`, "x".repeat(20_000_000))).toBe("too large");
    expect(await client.send(server.url, "b")).toBe("b");
    expect(server.opened).toBe(2);
    expect(server.received.at(-1)).toMatchObject({ connection: 2, turn: 1 });
  });
});

describe("a connection that the server closed", () => {
  test("is noticed while it is idle", async () => {
    for (const end of ["end", "destroy", "resetAndDestroy"] as const) {
      using server = rawServer((request) => {
        echo(request);
        setTimeout(() => request.socket[end](), 5);
      });
      using client = testClient();
      for (const body of ["a", "b"]) {
        expect(await client.send(server.url, body)).toBe(body);
        await until(() => server.open === 0);
      }
      expect(server.received).toHaveLength(2);
    }
  });

  test("just as it is reused is replaced, and the request succeeds", async () => {
    // Closes each connection at its second request.
    for (const end of ["end", "resetAndDestroy"] as const) {
      using server = rawServer((request) => {
        if (request.turn === 1) echo(request);
        else request.socket[end]();
      });
      using client = testClient();
      for (let at = 0; at < 6; at++) expect(await client.send(server.url, `${at}`)).toBe(`${at}`);
      expect(server.opened).toBe(6);
    }
  });

  test("is replaced once: a server that closes a new connection too gets no further retry", async () => {
    let closesConnection = false;
    using server = rawServer((request) => {
      if (closesConnection) request.socket.end();
      else echo(request);
    });
    using client = testClient();
    await client.send(server.url, "a");
    closesConnection = true;
    expect((await failure(client.send(server.url, "b"))).name).toBe("ConnectionLost");
    expect(server.received.map(({ connection }) => connection)).toEqual([1, 1, 2]);
    expect((await failure(client.send(server.url, "c"))).name).toBe("ConnectionLost");
    expect(server.received).toHaveLength(4);
  });

  test("in the middle of its response gets no retry", async () => {
    using server = rawServer((request) => {
      if (request.turn === 1) echo(request);
      else request.socket.end("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhal");
    });
    using client = testClient();
    await client.send(server.url, "a");
    expect((await failure(client.send(server.url, "b"))).name).toBe("ConnectionLost");
    expect(server.received).toHaveLength(2);
  });

  test("is never used for a request that is not idempotent, which gets a new connection", async () => {
    let closesConnection = false;
    using server = rawServer((request) => {
      if (closesConnection) request.socket.end();
      else echo(request);
    });
    using client = testClient();
    const nonIdempotent = { isNonIdempotent: true };
    expect(await client.send(server.url, "a", nonIdempotent)).toBe("a");
    expect(await client.send(server.url, "b", nonIdempotent)).toBe("b");
    expect(server.received.map(({ connection }) => connection)).toEqual([1, 2]);
    closesConnection = true;
    expect((await failure(client.send(server.url, "c", nonIdempotent))).name).toBe(
      "ConnectionLost",
    );
    expect(server.received).toHaveLength(3);
  });
});

describe("a server that closes its own side only", () => {
  test("has responded, if its response ends with the connection", async () => {
    using server = rawServer(({ socket }) => void socket.end("HTTP/1.1 200 OK\r\n\r\nto the end"));
    using client = testClient();
    expect(await client.send(server.url, "?")).toBe("to the end");
  });

  test("has not responded, if its response declares more bytes", async () => {
    for (const half of [
      "",
      "HTTP/1.1 200",
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhe",
    ]) {
      using server = rawServer(({ socket }) => void socket.end(half));
      using client = testClient();
      expect(await failure(client.send(server.url, "?"))).toMatchObject({
        name: "ConnectionLost",
        silent: half === "",
      });
    }
  });

  test("has not responded, if the connection was reset before its response ended", async () => {
    using server = rawServer(({ socket }) => {
      socket.write("HTTP/1.1 200 OK\r\n\r\nhalf of i");
      setTimeout(() => socket.resetAndDestroy(), 10);
    });
    using client = testClient();
    expect((await failure(client.send(server.url, "?"))).name).toBe("ConnectionLost");
  });

  test("after its response has responded, and every later request gets a response as well", async () => {
    using server = rawServer(({ socket, body }) => {
      if (socket.writable) socket.end(ok(body.toString()));
    });
    using client = testClient();
    for (let at = 0; at < 20; at++) expect(await client.send(server.url, `${at}`)).toBe(`${at}`);
    // A request that is sent before the close has arrived is retried.
    expect(server.opened).toBe(20);
  });
});
