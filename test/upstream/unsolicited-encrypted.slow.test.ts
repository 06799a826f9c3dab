/**
 * An unsolicited response goes to no other client, on every kind of connection: plain or over TLS, with
 * a body in memory or uploaded from disk, with a response that is buffered or streamed.
 */

import { afterAll, describe, expect, test } from "bun:test";
import type { StreamedRequestBody, UpstreamRequest } from "../../server/upstream/adapter.ts";
import { needsFetch } from "../../server/upstream/transport/transport.ts";
import { selfSigned } from "../certificate-fixture.ts";
import { temporaryFolder } from "../harness.ts";
import { testsWith } from "../programs.ts";
import { until } from "../until.ts";
import {
  echo,
  failure,
  ok,
  type ReceivedRequest,
  rawServer,
  testSender,
} from "./http-client-fixture.ts";

testsWith(["openssl"], import.meta.file, () => {
  const folder = temporaryFolder();
  afterAll(() => folder[Symbol.dispose]());
  const certificate = selfSigned(folder.path, "IP:127.0.0.1");

  const testSend = (ca = certificate.cert) =>
    testSender({ maxResponseBytes: 100_000_000, tls: { ca } });

  const uploaded = (text: string): StreamedRequestBody => ({
    length: text.length,
    async *open() {
      yield Buffer.from(text);
    },
  });

  /** An embeddings request, an image generation and an image edit. */
  const shapes: Readonly<
    Record<string, (body: string) => Omit<UpstreamRequest, "headers" | "url">>
  > = {
    buffered: (body) => ({ body }),
    streamed: (body) => ({ body, streams: true, isNonIdempotent: true }),
    "uploaded from disk": (body) => ({
      body: uploaded(body),
      streams: true,
      isNonIdempotent: true,
    }),
  };

  /**
   * Extra responses that are not written yet. A request written before them could not tell them from its own response.
   */
  let pendingExtras = 0;

  /** An extra response after each response, in the same write or in a later one. */
  const extras: Readonly<Record<string, (request: ReceivedRequest) => void>> = {
    "in the same write": ({ socket, body }) => socket.write(ok(String(body)) + ok(String(body))),
    "in the next write": ({ socket, body }) => {
      socket.write(ok(String(body)));
      socket.write(ok(String(body)));
    },
    "a millisecond later": ({ socket, body }) => {
      socket.write(ok(String(body)));
      pendingExtras++;
      setTimeout(() => {
        socket.write(ok(String(body)));
        pendingExtras--;
      }, 1);
    },
  };

  /**
   * Bun's `fetch` takes no certificate authority of ours here: its requests over TLS are tested in a process of their
   * own.
   */
  const ways = [
    ["http", "buffered"],
    ["http", "streamed"],
    ["http", "uploaded from disk"],
    ["https", "buffered"],
  ] as const;

  describe("a second response to one request is not the response to another", () => {
    for (const [scheme, shape] of ways) {
      for (const [when, responseBody] of Object.entries(extras)) {
        test(`${scheme}, ${shape}, ${when}`, async () => {
          using server = rawServer(responseBody, scheme === "https" ? { tls: certificate } : {});
          using transport = testSend();
          const clients = Array.from({ length: 4 }, async (_, client) => {
            for (let at = 0; at < 15; at++) {
              const body = `${client}-${at}`;
              // An error is not a wrong response; image requests are not retried.
              const response = await transport
                .textOf(server.url, body, shapes[shape]?.(body))
                .catch(() => body);
              expect(response).toBe(body);
              do await Bun.sleep(Math.random() * 3);
              while (pendingExtras > 0);
            }
          });
          await Promise.all(clients);
        });
      }
    }
  });

  test("every request that fetch sends over TLS has its own connection", async () => {
    using server = rawServer(echo, { tls: certificate });
    const script = `
    import { createTransport } from "./server/upstream/transport/transport.ts";
    const sender = createTransport({
      maxResponseBytes: 1000,
      clock: () => performance.now(),
      fetchOnly: { http: true, https: true },
    });
    const url = ${JSON.stringify(server.url)};
    for (const streams of [false, true, true]) {
      const response = await sender.send({ url, headers: {}, body: "x", streams }, new AbortController().signal);
      if ((await response.text()) !== "x") throw new Error("another response");
    }`;
    const child = Bun.spawn([process.execPath, "-e", script], {
      env: { ...process.env, NODE_EXTRA_CA_CERTS: `${folder.path}/cert.pem` },
      stderr: "pipe",
    });
    expect([await child.exited, await new Response(child.stderr).text()]).toEqual([0, ""]);
    expect(server.received.map(({ connection }) => connection)).toEqual([1, 2, 3]);
  });

  describe("a connection over TLS", () => {
    test("is reused for sequential requests of any length", async () => {
      using server = rawServer(echo, { tls: certificate });
      using transport = testSend();
      for (const length of [1, 100_000, 300_000, 10_000_000]) {
        const body = "abcdefg".repeat(length / 7 + 1);
        expect((await transport.textOf(server.url, body)) === body).toBe(true);
      }
      expect(server.opened).toBe(1);
    });

    test("on which an unsolicited response waits is dropped, and its upstream is reported", async () => {
      using server = rawServer(echo, { tls: certificate });
      using transport = testSend();
      expect(await transport.textOf(server.url, "a")).toBe("a");
      server.received[0]?.socket.write(ok("stray"));
      for (const body of ["b", "c"]) expect(await transport.textOf(server.url, body)).toBe(body);
      await until(() => transport.reports.length === 1);
      expect(server.received[1]?.connection).toBe(2);
    });

    test("is not used for a request if the certificate is for another host or not trusted", async () => {
      using elsewhere = temporaryFolder();
      const other = selfSigned(elsewhere.path, "DNS:elsewhere.example");
      for (const [tls, ca] of [
        [other, other.cert],
        [certificate, other.cert],
      ] as const) {
        using server = rawServer(echo, { tls });
        using transport = testSend(ca);
        const error = await failure(transport.textOf(server.url, "secret"));
        expect(error).toMatchObject({ kind: "upstream_unreachable", details: { notSent: true } });
        expect(server.received).toEqual([]);
        await until(() => server.open === 0);
      }
    });

    test("is closed when its handshake fails because the server disconnects", async () => {
      using server = rawServer(echo, { onConnection: (socket) => socket.destroy() });
      using transport = testSend();
      const url = server.url.replace("http:", "https:");
      const error = await failure(transport.textOf(url, "a"));
      expect(error).toMatchObject({ kind: "upstream_unreachable", details: { notSent: true } });
    });
  });

  test("requests through a proxy or without certificate verification use fetch, decided per scheme", () => {
    expect(needsFetch({})).toEqual({ http: false, https: false });
    expect(needsFetch({ HTTP_PROXY: "http://p" })).toEqual({ http: true, https: false });
    expect(needsFetch({ https_proxy: "http://p" })).toEqual({ http: false, https: true });
    expect(needsFetch({ NODE_TLS_REJECT_UNAUTHORIZED: "0" })).toEqual({ http: false, https: true });
  });
});
