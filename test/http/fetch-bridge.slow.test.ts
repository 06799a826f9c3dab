/** A handler with fetch's Request and Response, mounted in the HTTP server. */
import { afterEach, describe, expect, test } from "bun:test";
import {
  type BridgedRequest,
  type FetchHandler,
  serveByFetch,
} from "../../server/http/fetch-bridge.ts";
import { until } from "../until.ts";
import { expectError, RawConnection } from "./gateway-fixture.ts";
import { chunkedPost, gate, get } from "./http-server-fixture.ts";
import { listenWith } from "./listen-fixture.ts";

const maxBodyBytes = 8 * 1024 * 1024;
const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

/** A server whose paths below /admin are served by this handler. */
function mounted(handler: FetchHandler) {
  const errors: unknown[] = [];
  const handle = (incoming: BridgedRequest) => serveByFetch(incoming, handler);
  const server = listenWith(
    {},
    {
      mounts: [{ name: "admin", prefix: "/admin", headers: {}, handle }],
      maxBodyBytes,
      onInternalError: (_, error) => errors.push(error),
    },
  );
  const close = () => server.stop(true);
  open.push({ close });
  return { url: server.url, errors };
}

const echo: FetchHandler = async (request) => {
  const { pathname, search } = new URL(request.url);
  return Response.json({
    method: request.method,
    path: pathname,
    search,
    type: request.headers.get("content-type"),
    cookie: request.headers.get("cookie"),
    repeated: request.headers.get("x-repeated"),
    body: request.body ? await request.text() : null,
  });
};

describe("a request", () => {
  test.each(["POST", "PUT", "PATCH", "DELETE"])(
    "%s arrives with its path, query, headers, cookies and JSON body",
    async (method) => {
      const { url } = mounted(echo);
      const response = await fetch(`${url}/admin/api/a%2Fb?x=1&x=2`, {
        method,
        headers: { "content-type": "application/json", cookie: "a=1; b=2", "x-repeated": "one" },
        body: '{"name":"é"}',
      });
      expect(response.status).toBe(200);
      expect(await response.json()).toEqual({
        method,
        path: "/admin/api/a%2Fb",
        search: "?x=1&x=2",
        type: "application/json",
        cookie: "a=1; b=2",
        repeated: "one",
        body: '{"name":"é"}',
      });
    },
  );

  test("keeps repeated headers, and characters that are special in a URL stay part of the path", async () => {
    const { url } = mounted(echo);
    const connection = await RawConnection.open(url);
    connection.send(get("/admin/a#b\\c", "x-repeated: one\r\nX-Repeated: two\r\n"));
    const { body } = await connection.response();
    expect(JSON.parse(body)).toMatchObject({ path: "/admin/a%23b%5Cc", repeated: "one, two" });
    connection.disconnect();
  });

  test.each([
    ["GET", "x:99999"],
    ["GET", "["],
    ["get", "x"],
    ["TRACE", "x"],
    ["PROPFIND", "x"],
    ["FOO", "x"],
    ["Post", "x"],
    ["post", "x"],
  ])("%s with the host %s reaches the handler, with its method unchanged", async (method, host) => {
    const { url, errors } = mounted(echo);
    const connection = await RawConnection.open(url);
    connection.send(`${method} /admin/%zz HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
    const { status, body } = await connection.response();
    expect([status, errors]).toEqual([200, []]);
    expect(JSON.parse(body)).toMatchObject({ method, path: "/admin/%zz" });
    connection.disconnect();
  });

  test("reaches the handler only if its path is below the prefix", async () => {
    const { url } = mounted(echo);
    for (const [path, status] of [
      ["/admin", 200],
      ["/admin/", 200],
      ["/admin/x", 200],
      ["/administrator", 404],
      ["/adminx/y", 404],
    ] as const) {
      const response = await fetch(`${url}${path}`);
      expect([path, response.status]).toEqual([path, status]);
      await response.text();
    }
  });
});

describe("a request body", () => {
  const hashBody: FetchHandler = async (request) => {
    const hash = new Bun.CryptoHasher("sha1");
    let bytes = 0;
    for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
      hash.update(chunk);
      bytes += chunk.length;
    }
    return Response.json({ bytes, hash: hash.digest("hex") });
  };

  test("that is large arrives in chunks, every byte of it", async () => {
    const { url } = mounted(hashBody);
    const body = Buffer.alloc(5_000_000, "0123456789abcdef!");
    const response = await fetch(`${url}/admin/upload`, { method: "POST", body });
    const hash = new Bun.CryptoHasher("sha1").update(body).digest("hex");
    expect(await response.json()).toEqual({ bytes: body.length, hash });
  });

  test.each([
    [
      "with a length",
      (body: Buffer): Buffer<ArrayBuffer> | ReadableStream => body as Buffer<ArrayBuffer>,
    ],
    [
      "in chunks",
      (body: Buffer): Buffer<ArrayBuffer> | ReadableStream =>
        new ReadableStream({
          start: (controller) => {
            controller.enqueue(body);
            controller.close();
          },
        }),
    ],
  ])("beyond the maximum, %s, is refused with 413", async (_, bodyOf) => {
    const { url, errors } = mounted(hashBody);
    const body = bodyOf(Buffer.alloc(maxBodyBytes + 1));
    const response = await fetch(`${url}/admin/upload`, { method: "POST", body });
    await expectError(response, "request_too_large");
    expect(errors).toEqual([]);
  });

  test("is read no faster than the handler reads it", async () => {
    let read = 0;
    const incoming = {
      method: "POST",
      path: "/admin/x",
      search: "",
      publicUrl: "",
      signal: new AbortController().signal,
      headerEntries: () => [],
      chunks: async function* () {
        while (read < 100) {
          read++;
          yield Buffer.from("x");
        }
      },
    } as unknown as BridgedRequest;
    const counts: number[] = [];
    const response = await serveByFetch(incoming, async ({ body }) => {
      await Bun.sleep(1);
      counts.push(read);
      const reader = (body as ReadableStream<Uint8Array>).getReader();
      for (let at = 0; at < 3; at++) {
        await reader.read();
        counts.push(read);
      }
      await reader.cancel();
      return new Response(null);
    });
    expect(counts).toEqual([0, 1, 2, 3]);
    expect([response.status, read]).toEqual([200, 3]);
  });

  test("that ends when the client disconnects fails in the handler, and aborts its signal", async () => {
    const failed = Promise.withResolvers<unknown>();
    const aborted = gate();
    const { url, errors } = mounted(async (request) => {
      request.signal.addEventListener("abort", aborted.open);
      try {
        await request.text();
      } catch (error) {
        failed.resolve(error);
        throw error;
      }
      return new Response("whole");
    });
    const connection = await RawConnection.open(url, chunkedPost("/admin/x"), "3\r\nabc\r\n");
    await Bun.sleep(20);
    connection.disconnect();
    expect(await failed.promise).toMatchObject({ kind: "incomplete_body" });
    await aborted.opened;
    expect(errors).toEqual([]);
  });
});

describe("a response", () => {
  test("keeps several cookies apart", async () => {
    const { url } = mounted(async () => {
      const headers = new Headers({ "x-other": "1" });
      headers.append("set-cookie", "session=a; HttpOnly; Path=/admin");
      headers.append("set-cookie", "csrf=b; Expires=Wed, 21 Oct 2026 07:28:00 GMT");
      return new Response("ok", { status: 201, headers });
    });
    const response = await fetch(`${url}/admin/login`, { method: "POST", body: "{}" });
    expect(response.status).toBe(201);
    expect(response.headers.getSetCookie()).toEqual([
      "session=a; HttpOnly; Path=/admin",
      "csrf=b; Expires=Wed, 21 Oct 2026 07:28:00 GMT",
    ]);
    expect(response.headers.get("x-other")).toBe("1");
  });

  test("to HEAD has the headers of GET and no body", async () => {
    const { url } = mounted(async () => Response.json({ a: 1 }, { headers: { "x-other": "1" } }));
    const [gotten, head] = await Promise.all(
      ["GET", "HEAD"].map((method) => fetch(`${url}/admin/x`, { method })),
    );
    expect(await gotten?.text()).toBe('{"a":1}');
    expect(await head?.text()).toBe("");
    for (const name of ["content-length", "content-type", "x-other"]) {
      expect([name, head?.headers.get(name)]).toEqual([name, gotten?.headers.get(name)]);
    }
    expect(head?.headers.get("content-length")).toBe("7");
  });

  test("without a body has none", async () => {
    const { url } = mounted(async () => new Response(null, { status: 204 }));
    const response = await fetch(`${url}/admin/x`, { method: "DELETE" });
    expect([response.status, await response.text()]).toEqual([204, ""]);
  });

  test("that is large JSON arrives whole", async () => {
    const list = Array.from({ length: 100_000 }, (_, id) => ({ id }));
    const { url } = mounted(async () => Response.json(list));
    expect(await (await fetch(`${url}/admin/x`)).json()).toEqual(list);
  });

  const chunk = Buffer.alloc(64 * 1024, "slow");
  const chunks = 640;
  /** Counts the chunks that it has produced. */
  function streaming(headers: Record<string, string> = {}) {
    const counts = { produced: 0, canceled: 0 };
    const handler: FetchHandler = async () =>
      new Response(
        new ReadableStream(
          {
            pull: (controller) => {
              if (counts.produced++ < chunks) controller.enqueue(chunk);
              else controller.close();
            },
            cancel: () => void counts.canceled++,
          },
          { highWaterMark: 0 },
        ),
        { headers },
      );
    return { ...mounted(handler), counts };
  }

  test("is produced no faster than a slow client reads it, and arrives whole", async () => {
    const { url, counts, errors } = streaming();
    const connection = await RawConnection.open(url);
    connection.pause();
    connection.send(get("/admin/x", "connection: close\r\n"));
    let last = -1;
    await until(async () => {
      const isStill = counts.produced === last && last > 0;
      last = counts.produced;
      await Bun.sleep(200);
      return isStill;
    });
    expect(counts.produced).toBeLessThan(chunks);
    connection.resume();
    await connection.closed;
    expect(counts.produced).toBe(chunks + 1);
    expect(connection.received.length).toBeGreaterThan(chunks * chunk.length);
    expect(connection.received).toEndWith("\r\n0\r\n\r\n");
    expect(errors).toEqual([]);
  });

  test.each([
    ["in chunks", {}],
    ["with a length", { "content-length": String(chunks * chunk.length) }],
  ])("%s is canceled when the client disconnects", async (_, headers) => {
    const { url, counts, errors } = streaming(headers);
    const connection = await RawConnection.open(url);
    connection.pause();
    connection.send(get("/admin/x"));
    await until(() => counts.produced > 1);
    connection.disconnect();
    await until(() => counts.canceled === 1);
    expect(errors).toEqual([]);
  });

  test("whose next chunk never comes is canceled when the client disconnects", async () => {
    const canceled = gate();
    const { url } = mounted(
      async () =>
        new Response(
          new ReadableStream({
            start: (controller) => controller.enqueue(Buffer.from("first")),
            cancel: canceled.open,
          }),
        ),
    );
    const connection = await RawConnection.open(url, get("/admin/x"));
    await until(() => connection.received.includes("first"));
    connection.disconnect();
    await canceled.opened;
  });
});

test("a handler that throws gets 500 without details, and its stack is logged", async () => {
  const { url, errors } = mounted(async () => {
    throw new Error("the secret detail");
  });
  const message = await expectError(await fetch(`${url}/admin/x`), "internal");
  expect(message).not.toContain("secret");
  expect(String((errors[0] as Error).stack)).toContain("the secret detail");
  expect(errors).toHaveLength(1);
});
