/** A linked image is downloaded within limits of bytes and time, and only if it is an image. */
import { describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import {
  expectError,
  fromClient,
  largePng,
  png,
  response,
  startDownloadSetup,
} from "./download-fixture.ts";
import type { ReceivedRequest } from "./http-client-fixture.ts";

const url = "http://a.example/secret.png";
const chunked = { headers: { "transfer-encoding": "chunked" } };
const head = (lines: string): string => `HTTP/1.1 200 OK\r\n${lines}\r\n`;
const inChunk = (body: Uint8Array): Buffer =>
  Buffer.concat([
    Buffer.from(`${head("transfer-encoding: chunked\r\n")}${body.length.toString(16)}\r\n`),
    body,
    Buffer.from("\r\n0\r\n\r\n"),
  ]);
const untilClose = (body: Uint8Array): Buffer => Buffer.concat([Buffer.from(head("")), body]);

describe("an image is downloaded completely", () => {
  const ways: readonly [string, (body: Uint8Array) => Buffer][] = [
    ["with its length", (body) => response(body)],
    ["in chunks", inChunk],
    ["until the connection is closed", untilClose],
  ];
  for (const [way, say] of ways) {
    test(`${way}: a small one in memory, a large one on disk`, async () => {
      await using net = startDownloadSetup({
        serve: (_, path) => say(path === "/large" ? largePng : png),
      });
      expect(await net.get("http://a.example/small")).toEqual({ kind: "bytes", bytes: png });
      const large = await net.get("http://a.example/large");
      if (large.kind !== "spilled") throw new Error("It is in memory.");
      expect(large.spilled).toMatchObject({ length: largePng.length, encoding: "raw" });
      expect(Buffer.from(large.spilled.start.subarray(0, 8))).toEqual(png.subarray(0, 8));
      expect(largePng.equals(await large.spilled.bytes())).toBeTrue();
    });
  }

  test("an image whose first bytes arrive one by one is downloaded completely", async () => {
    const serve = ({ socket }: ReceivedRequest): undefined => {
      socket.write(head(`content-length: ${png.length}\r\n`));
      let at = 0;
      const next = (): void => {
        socket.write(png.subarray(at, ++at));
        if (at < png.length) setImmediate(next);
      };
      next();
    };
    await using net = startDownloadSetup({ serve });
    expect(await net.get(url)).toEqual({ kind: "bytes", bytes: png });
  });
});

describe("a download reads no more bytes than the limit,", () => {
  const maxBytes = 100_000;
  const message = /larger than 100000 bytes/;

  test("whatever length is declared", async () => {
    const responses: readonly Buffer[] = [
      response(largePng),
      inChunk(largePng),
      untilClose(largePng),
    ];
    for (const bytes of responses) {
      await using net = startDownloadSetup({ serve: () => bytes, maxBytes });
      await expectError(net.get(url), "upstream_invalid", message);
      await expectError(net.get(url, fromClient), "invalid_value", message);
    }
  });

  test("the connection of an endless body is closed at the limit", async () => {
    const gone = Promise.withResolvers<void>();
    const serve = ({ socket }: ReceivedRequest): undefined => {
      socket.on("close", () => gone.resolve());
      socket.write(head(""));
      socket.write(png);
      const more = (): void => {
        if (!socket.destroyed) socket.write(Buffer.alloc(16_384), () => setImmediate(more));
      };
      more();
    };
    await using net = startDownloadSetup({ serve, maxBytes });
    await expectError(net.get(url), "upstream_invalid", message);
    await gone.promise;
  });

  test("a declared length that is too small truncates the body, and one that is too large is an error", async () => {
    const short = response(Buffer.concat([png, largePng]), {
      headers: { "content-length": String(png.length) },
    });
    await using cut = startDownloadSetup({ serve: () => short, maxBytes });
    expect(await cut.get(url)).toEqual({ kind: "bytes", bytes: png });
    const long = response(png, { headers: { "content-length": "5000" } });
    await using broken = startDownloadSetup({ serve: () => long, maxBytes });
    const why = /connection was lost before the download was complete/;
    await expectError(broken.get(url, fromClient), "invalid_value", why);
  });

  test("a response that is compressed without a request for it is not decompressed", async () => {
    const packed = gzipSync(Buffer.concat([png, Buffer.alloc(50_000_000)]));
    expect(packed.length).toBeLessThan(maxBytes);
    for (const coding of ["gzip", "br", "GZIP, identity"]) {
      const bytes = response(packed, { headers: { "content-encoding": coding } });
      await using net = startDownloadSetup({ serve: () => bytes, maxBytes });
      await expectError(net.get(url), "upstream_invalid", /compressed/);
      expect(net.server.received[0]?.head).toContain("accept-encoding: identity");
    }
    const plain = response(png, { headers: { "content-encoding": "identity" } });
    await using net = startDownloadSetup({ serve: () => plain, maxBytes });
    expect(await net.get(url)).toEqual({ kind: "bytes", bytes: png });
  });
});

describe("a download takes no more time than the timeout,", () => {
  const message = /took longer than 0.2 seconds/;
  const timeoutMs = 200;
  const silences: readonly [string, (request: ReceivedRequest) => undefined][] = [
    ["without a response", () => undefined],
    ["with an incomplete head", ({ socket }) => void socket.write("HTTP/1.1 200 OK\r\ncontent-")],
    ["with an incomplete image", ({ socket }) => void socket.write(untilClose(png))],
  ];
  for (const [when, serve] of silences) {
    test(when, async () => {
      await using net = startDownloadSetup({ serve, timeoutMs });
      await expectError(net.get(url), "upstream_timeout", message);
      const error = await expectError(net.get(url, fromClient), "invalid_value", message);
      expect(error.body.error.param).toBe("images[0].image_url");
    });
  }

  test("an image that arrives byte by byte is aborted at the timeout as well", async () => {
    const serve = ({ socket }: ReceivedRequest): undefined => {
      socket.write(untilClose(png));
      const drop = setInterval(() => socket.write("x"), 20);
      socket.on("close", () => clearInterval(drop));
    };
    await using net = startDownloadSetup({ serve, timeoutMs });
    await expectError(net.get(url), "upstream_timeout", message);
  });

  test("an aborted download ends immediately, with the abort reason", async () => {
    const reason = new GatewayError("client_closed", "The client disconnected.");
    const cancel = new AbortController();
    const { signal } = cancel;
    const gone = Promise.withResolvers<void>();
    const serve = ({ socket }: ReceivedRequest): undefined => {
      socket.on("close", () => gone.resolve());
      cancel.abort(reason);
    };
    await using net = startDownloadSetup({ serve });
    expect(await net.get(url, { signal }).catch((error: unknown) => error)).toBe(reason);
    await gone.promise;
    expect(await net.get(url, { signal }).catch((error: unknown) => error)).toBe(reason);
    expect(net.connected.length).toBe(1);
  });
});

describe("only an image is accepted", () => {
  const svg = '<?xml version="1.0"?>\n<!-- a > b -->\n<svg xmlns="http://www.w3.org/2000/svg"/>';

  test.each([
    ["a page", "<!doctype html><title>Sign in</title>"],
    ["JSON", '{"error": "expired"}'],
    ["nothing", ""],
    ["half of a beginning", png.subarray(0, 5)],
    ["a page with a drawing in it", "<!doctype html><svg></svg>"],
    ["an SVG, where none is wanted", svg],
  ])("not %s", async (_, body) => {
    await using net = startDownloadSetup({
      serve: () => response(body, { headers: { "content-type": "image/png" } }),
    });
    const error = await expectError(net.get(url), "upstream_invalid", /not an image in PNG/);
    expect(error.details.logDetail).toBe("a.example: not an image");
  });

  test("an SVG is accepted if SVG is supported", async () => {
    await using net = startDownloadSetup({
      serve: (_, path) => response(path === "/p" ? "<html/>" : svg),
    });
    expect(await net.get(url, { svg: true })).toEqual({ kind: "bytes", bytes: Buffer.from(svg) });
    const page = net.get("http://a.example/p", { svg: true });
    await expectError(page, "upstream_invalid", /not an image in PNG, .* or SVG/);
  });

  test("endless comments before an SVG do not block the event loop", async () => {
    const odd = "<!-- -->".repeat(127);
    await using net = startDownloadSetup({ serve: () => response(odd) });
    await expectError(net.get(url, { svg: true }), "upstream_invalid", /not an image/);
  });

  test.each([[201], [204], [206], [400], [401], [403], [404], [410], [300], [304]])(
    "not a response with status %d",
    async (status) => {
      await using net = startDownloadSetup({
        serve: () => response(status === 204 ? "" : png, { status }),
      });
      const message = new RegExp(`responded with status ${status}`);
      await expectError(net.get(url), "upstream_invalid", message);
      await expectError(net.get(url, fromClient), "invalid_value", message);
      expect(net.connected.length).toBe(2);
    },
  );

  test("a response that is not HTTP is refused", async () => {
    await using net = startDownloadSetup({ serve: () => Buffer.from("220 mail ready\r\n\r\n") });
    await expectError(net.get(url), "upstream_invalid", /did not respond with valid HTTP/);
    await using two = startDownloadSetup({ serve: () => response(png, chunked) });
    await expectError(two.get(url), "upstream_invalid", /did not respond with valid HTTP/);
  });
});

describe("an image that an upstream generated", () => {
  test("is downloaded again after a transport failure, and a client's link is not", async () => {
    let times = 0;
    const serve = ({ socket }: ReceivedRequest): Buffer | undefined => {
      times++;
      if (times === 1) socket.destroy();
      else return times === 2 ? response("busy", { status: 503 }) : response();
      return undefined;
    };
    await using net = startDownloadSetup({ serve });
    expect(await net.get(url)).toEqual({ kind: "bytes", bytes: png });
    expect(times).toBe(3);
    times = 0;
    await expectError(net.get(url, fromClient), "invalid_value", /connection was lost/);
    expect(times).toBe(1);
  });

  test("may have been billed, whatever happens to its download", async () => {
    await using net = startDownloadSetup({ serve: ({ socket }) => void socket.destroy() });
    const error = await expectError(net.get(url), "upstream_unreachable", /connection was lost/);
    expect(error.details).toMatchObject({ mayBeBilled: true });
    expect(error.details.notSent).toBeUndefined();
    expect(net.connected.length).toBe(3);
  });
});
