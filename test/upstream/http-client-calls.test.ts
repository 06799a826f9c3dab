/** The bytes of an upstream request, and what happens when the client or the upstream aborts it. */

import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { loadSnapshot } from "../../server/config/build/load-snapshot.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import type { UpstreamRequest } from "../../server/upstream/adapter.ts";
import { temporaryFolder } from "../harness.ts";
import { until } from "../until.ts";
import {
  echo,
  exchange,
  failure,
  ok,
  rawServer,
  testClient,
  testSender,
} from "./http-client-fixture.ts";

const sha256 = (bytes: string | Uint8Array): string =>
  new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
const gone = (): GatewayError => new GatewayError("client_closed", "gone");

describe("a request arrives complete", () => {
  test.each([
    ["of letters", "x"],
    ["of signs of several bytes", "aé日🙂"],
  ])("however large it is and however slowly it is read: %s", async (_, text) => {
    const body = text.repeat(8_000_000 / text.length);
    let slow = 0;
    using server = rawServer(({ socket, body: came }) => void socket.write(ok(sha256(came))), {
      onHead: ({ socket }) => {
        socket.pause();
        slow = setTimeout(() => socket.resume(), 50) as unknown as number;
      },
    });
    using client = testClient();
    expect(await client.send(server.url, body)).toBe(sha256(body));
    expect(await client.send(server.url, body)).toBe(sha256(body));
    expect(slow).not.toBe(0);
    expect(server.opened).toBe(1);
  });

  test("with its content-length in bytes, and each header once", async () => {
    using server = rawServer(echo);
    using client = testClient();
    const body = '{"input":"Größe 日本 🙂 \ud800"}';
    const headers = {
      authorization: "Bearer k",
      "content-type": "application/json",
      "content-length": "1",
      "transfer-encoding": "chunked",
      connection: "close",
    };
    const response = await client.send(`${server.url}/embeddings?a=b`, body, { headers });
    expect(response).toBe(Buffer.from(body).toString());
    expect(server.received[0]!.head.split("\r\n").sort()).toEqual([
      "POST /v1/embeddings?a=b HTTP/1.1",
      "accept-encoding: identity",
      "accept: */*",
      "authorization: Bearer k",
      `content-length: ${Buffer.byteLength(body)}`,
      "content-type: application/json",
      `host: ${new URL(server.url).host}`,
      "user-agent: vexel",
    ]);
  });

  test("as a GET if it has no body", async () => {
    using server = rawServer(({ socket, head }) => void socket.write(ok(head.slice(0, 3))));
    using client = testClient();
    const response = await exchange(
      client.client,
      { url: server.url, headers: {} },
      new AbortController().signal,
    );
    expect(response.body.toString()).toBe("GET");
    expect(server.received[0]!.head).not.toContain("content-length");
  });

  test("over IPv4 and IPv6, by address and by name", async () => {
    for (const host of ["127.0.0.1", "::1"]) {
      let server: ReturnType<typeof rawServer>;
      try {
        server = rawServer(echo, { host });
      } catch (error) {
        // This machine has no IPv6.
        expect(`${error}`).toMatch(/EADDRNOTAVAIL|EAFNOSUPPORT/);
        continue;
      }
      using _ = server;
      using client = testClient();
      expect(await client.send(server.url, "by number")).toBe("by number");
      const { port } = new URL(server.url);
      if (host === "::1") continue;
      expect(await client.send(`http://localhost:${port}/`, "by name")).toBe("by name");
    }
  });
});

describe("a request cannot inject a header or another request", () => {
  const problems = (upstream: string): string => {
    using folder = temporaryFolder();
    const path = `${folder.path}/vexel.yaml`;
    writeFileSync(path, `upstreams:\n  - { id: u, kind: vllm, ${upstream} }\n`);
    const loaded = loadSnapshot({ path, namedBy: "VEXEL_CONFIG", env: {} });
    return loaded.ok ? "" : JSON.stringify(loaded.problems);
  };
  const baseUrl = 'baseUrl: "http://127.0.0.1:9/v1"';

  test.each([
    ["a header's value", `${baseUrl}, headers: { x: "a\\r\\nhost: b" }`],
    ["a header's value, with half a line break", `${baseUrl}, headers: { x: "a\\nb: c" }`],
    ["a header's name", `${baseUrl}, headers: { "x\\r\\ny": "a" }`],
    ["a header's name, with a colon", `${baseUrl}, headers: { "x: y": "a" }`],
    ["a key", `${baseUrl}, apiKey: "secret\\r\\nx: y"`],
    ["an address", 'baseUrl: "http://127.0.0.1:9/v1\\r\\nx: y"'],
  ])("through %s in the configuration", (_, upstream) => {
    expect(problems(upstream)).toMatch(/upstreams/);
    expect(problems(baseUrl)).toBe("");
  });

  test("through a fetched token", async () => {
    using server = rawServer(echo);
    using sender = testSender();
    const headers = { authorization: "Bearer a\r\nx: y" };
    const error = await failure(sender.post(server.url, "{}", { headers }));
    expect(error).toMatchObject({ kind: "upstream_unreachable", details: { notSent: true } });
    expect(server.opened).toBe(0);
  });
});

describe("an aborted request rejects at once, and its connection is not reused", () => {
  /** Rejects in the same turn of the event loop, without waiting for the network. */
  const atOnce = async (promise: Promise<unknown>): Promise<unknown> =>
    Promise.race([failure(promise), Bun.sleep(0).then(() => "late")]);
  const request = (url: string): UpstreamRequest => ({ url, headers: {}, body: "mine" });

  test("before a connection is needed", async () => {
    using server = rawServer(echo);
    using sender = testSender();
    const cancel = new AbortController();
    const reason = gone();
    cancel.abort(reason);
    expect(await atOnce(sender.send(request(server.url), cancel.signal))).toBe(reason);
    await Bun.sleep(10);
    expect(server.opened).toBe(0);
  });

  test("while connecting: the connection may serve the next request, because nothing was sent on it", async () => {
    using server = rawServer(echo);
    using sender = testSender();
    const cancel = new AbortController();
    const reason = gone();
    const call = sender.send(request(server.url), cancel.signal);
    cancel.abort(reason);
    expect(await atOnce(call)).toBe(reason);
    await until(() => server.opened === 1);
    await Bun.sleep(5);
    expect(await sender.textOf(server.url, "next")).toBe("next");
    expect(server.received.map(({ body }) => body.toString())).toEqual(["next"]);
  });

  test.each([
    ["while it waits for a response", ""],
    ["in the head of the response", "HTTP/1.1 200 OK\r\ncontent-le"],
    ["in its body", "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nmi"],
    ["between its chunks", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nmi\r\n"],
  ])("%s", async (_, beginning) => {
    using server = rawServer((request) => {
      if (request.body.toString() === "next") echo(request);
      else if (beginning !== "") request.socket.write(beginning);
    });
    using sender = testSender();
    for (let round = 1; round <= 3; round++) {
      const cancel = new AbortController();
      const reason = gone();
      const call = sender.send(request(server.url), cancel.signal);
      await until(() => server.received.length === 2 * round - 1);
      await Bun.sleep(5);
      cancel.abort(reason);
      expect(await atOnce(call)).toBe(reason);
      expect(await sender.textOf(server.url, "next")).toBe("next");
      // Only the connection of the last request is open.
      await until(() => server.open === 1);
    }
  });
});

describe("a request that was never sent is reported as unsent, so that another upstream may be tried", () => {
  test.each([
    ["no server listens", "http://127.0.0.1:9/v1"],
    ["the host does not exist", "http://nobody.invalid/v1"],
    ["there is no such port", "http://[::1]:9/v1"],
  ])("because %s", async (_, url) => {
    using sender = testSender();
    const error = await failure(sender.post(url, "{}"));
    expect(error).toMatchObject({ kind: "upstream_unreachable", details: { notSent: true } });
  });

  test("a request on a connection that broke is not reported as unsent", async () => {
    using server = rawServer(({ socket }) => void socket.resetAndDestroy());
    using sender = testSender();
    const error = await failure(sender.post(server.url, "{}"));
    expect(error).toMatchObject({ kind: "upstream_unreachable" });
    expect((error as GatewayError).details.notSent).toBeUndefined();
  });
});
