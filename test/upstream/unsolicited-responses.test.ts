/**
 * An unsolicited response goes to no client and stays in no cache. The server here is a raw socket that
 * sends two responses to one request, at once or later, on connections that are kept for the next request.
 */

import { expect, test } from "bun:test";
import { startGateway, testKey } from "../harness.ts";
import { until } from "../until.ts";
import {
  echo,
  failure,
  ok,
  type RawServer,
  type ReceivedRequest,
  rawServer,
  testSender,
} from "./http-client-fixture.ts";

function startTransport() {
  const sender = testSender();
  const { reports, textOf } = sender;
  const send = (url: string, body: string) => textOf(url, body);
  return { send, reports, [Symbol.dispose]: () => sender.close() };
}

const lastSocket = (server: RawServer) => (server.received.at(-1) as ReceivedRequest).socket;

test("unread bytes on a keep-alive connection are not the response to the next request", async () => {
  using server = rawServer(echo);
  using transport = startTransport();
  expect(await transport.send(server.url, "a")).toBe("a");
  // In the kernel before the next request is written, and before the event loop can look.
  lastSocket(server).write(ok("stray"));
  expect(await transport.send(server.url, "b")).toBe("b");
  expect(server.opened).toBe(2);
  expect(transport.reports).toHaveLength(1);
});

test("an upstream that sent one gets a new connection for each request", async () => {
  using server = rawServer(echo);
  using transport = startTransport();
  expect(await transport.send(server.url, "a")).toBe("a");
  lastSocket(server).write(ok("stray"));
  for (const body of ["b", "c", "d"]) expect(await transport.send(server.url, body)).toBe(body);
  expect(server.opened).toBe(4);
});

test("a connection that the server closes with a 408, or on which it sends a line break, is only dropped", async () => {
  for (const notice of ["HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n", "\r\n"]) {
    using server = rawServer(echo);
    using transport = startTransport();
    expect(await transport.send(server.url, "a")).toBe("a");
    lastSocket(server).write(notice);
    for (const body of ["b", "c", "d"]) expect(await transport.send(server.url, body)).toBe(body);
    expect(server.opened).toBe(2);
    expect(transport.reports).toEqual([]);
  }
});

test("the unread rest of a long error response is not a second response", async () => {
  const long = `HTTP/1.1 500 Oops\r\ncontent-length: 2000000\r\n\r\n${"x".repeat(2_000_000)}`;
  using server = rawServer(({ socket, turn, body }) => {
    socket.write(turn === 1 ? ok(String(body)) : long);
  });
  using transport = startTransport();
  expect(await transport.send(server.url, "a")).toBe("a");
  expect(await transport.send(server.url, "b")).toBe("");
  expect(server.received).toHaveLength(2);
  expect(transport.reports).toEqual([]);
});

test("a success response to a request that was not read completely is refused", async () => {
  using server = rawServer(echo, {
    onHead: ({ socket }) => {
      socket.pause();
      socket.write(ok("early"));
    },
  });
  using transport = startTransport();
  const error = await failure(transport.send(server.url, "x".repeat(20_000_000)));
  expect(error).toMatchObject({ kind: "upstream_unreachable" });
  expect(server.received).toEqual([]);
});

/** The second request of a connection gets two responses: the first of them is not its own. */
const twoForTheSecond = (request: ReceivedRequest): void => {
  const { socket, turn, body } = request;
  if (turn === 1) echo(request);
  else socket.write(ok("stray") + ok(String(body)));
};

test("of two responses on a keep-alive connection neither is delivered: the request is sent on a new connection", async () => {
  using server = rawServer(twoForTheSecond);
  using transport = startTransport();
  for (const body of ["a", "b", "c"]) expect(await transport.send(server.url, body)).toBe(body);
  expect(server.received.map(({ connection }) => connection)).toEqual([1, 1, 2, 3]);
});

const configFor = (url: string): string => `
upstreams: [{ id: raw, kind: openai, baseUrl: "${url}", apiKey: sk-fake }]
models: [{ id: m, kind: embedding, batch: false, targets: [{ upstream: raw, model: m }] }]
keys: [{ name: test, key: ${testKey} }]
`;

const vectorOf = (text: string): number[] => [text.charCodeAt(0), 1, 0];

const embeddingOf = (text: string): string =>
  ok(
    JSON.stringify({
      object: "list",
      data: [{ object: "embedding", index: 0, embedding: vectorOf(text) }],
      model: "m",
      usage: { prompt_tokens: 1, total_tokens: 1 },
    }),
    "content-type: application/json\r\n",
  );

const textOf = ({ body }: ReceivedRequest): string => {
  const { input } = JSON.parse(String(body)) as { input: string | string[] };
  return [input].flat()[0] as string;
};

test("a vector that came in an unsolicited response does not stay in the cache", async () => {
  // A second response to the first request comes while the second request is in flight: nothing can tell the two apart
  // yet.
  const release = Promise.withResolvers<void>();
  using server = rawServer(async (request) => {
    const text = textOf(request);
    if (request.connection === 1 && request.turn === 2) {
      request.socket.write(embeddingOf("a"));
      await release.promise;
    }
    request.socket.write(embeddingOf(text));
  });
  const gateway = startGateway({
    yaml: configFor(server.url),
    settings: { VEXEL_CACHE_BYTES: "1000000" },
  });
  const embed = async (input: string): Promise<number[]> => {
    const body = { model: "m", input, encoding_format: "float" };
    const response = await gateway.post("/v1/embeddings", body);
    const text = await response.text();
    if (!response.ok) throw new Error(text);
    const { data } = JSON.parse(text) as { data: { embedding: number[] }[] };
    return data[0]?.embedding ?? [];
  };
  try {
    expect(await embed("a")).toEqual(vectorOf("a"));
    expect(await embed("b")).toEqual(vectorOf("a"));
    // The real response to the second request arrives unexpectedly: it shows that the earlier one was another
    // request's.
    release.resolve();
    await until(() => gateway.log().includes("unsolicited-response"));
    expect(await embed("b")).toEqual(vectorOf("b"));
    expect(await embed("b")).toEqual(vectorOf("b"));
    expect(server.received.map(({ connection }) => connection)).toEqual([1, 1, 2]);
  } finally {
    await gateway.close();
  }
});
