/** The shipped configuration of HAProxy, with real replicas and with servers that record what it sends them. */
import { afterEach, expect } from "bun:test";
import { closeAfterEach } from "../clean-up.ts";
import { post, temporaryFolder } from "../harness.ts";
import { embeddingModel } from "../http/gateway-fixture.ts";
import { cleanUp, fill, startSmall, sufficientBytes } from "../ledger/unwritable-ledger-fixture.ts";
import { testWith } from "../programs.ts";
import { until } from "../until.ts";
import { startHaproxy } from "./haproxy.ts";

const closing = closeAfterEach();
afterEach(cleanUp);
const testWithHaproxy = testWith("haproxy");

async function startBalancer(replicas: readonly [string, string]): Promise<string> {
  const folder = temporaryFolder();
  const balancer = await startHaproxy(folder.path, replicas);
  closing({
    close: async () => {
      await balancer.stop();
      folder[Symbol.dispose]();
    },
  });
  return balancer.url;
}

/** A server that is ready, in the place of a replica. */
function startReplica(respond: (request: Request) => Response | Promise<Response>) {
  const requests: Request[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    fetch: (request) => {
      if (new URL(request.url).pathname === "/readyz") return new Response("ready");
      requests.push(request);
      return respond(request);
    },
  });
  closing({ close: () => server.stop(true) });
  return { requests, host: server.url.host };
}

testWithHaproxy(
  "HAProxy sends no request to a replica with a full disk, and uses it again when it has recovered",
  async () => {
    const [full, other] = [
      startSmall("refuse", sufficientBytes),
      startSmall("refuse", 64 * sufficientBytes),
    ];
    const hostOf = ({ gateway }: typeof full): string => new URL(gateway.url).host;
    const url = await startBalancer([hostOf(full), hostOf(other)]);
    const embed = async (): Promise<number> => {
      const body = { model: embeddingModel, input: "a red boat" };
      return (await post(`${url}/v1/embeddings`, body)).status;
    };
    const embedTen = async (): Promise<number[]> => {
      const statuses: number[] = [];
      for (let request = 0; request < 10; request++) statuses.push(await embed());
      return statuses;
    };
    await fill(full.embed);
    expect((await full.ready()).status).toBe(503);
    await until(async () => (await embedTen()).every((status) => status === 200));
    full.fake.clear();
    expect(await embedTen()).toEqual(new Array(10).fill(200));
    expect(full.fake.requests).toHaveLength(0);
    full.freeSpace();
    await until(async () => {
      await embedTen();
      return full.fake.requests.length > 0;
    });
  },
);

testWithHaproxy(
  "HAProxy passes streams, addresses and disconnects of clients on at once",
  async () => {
    const { promise: end, resolve } = Promise.withResolvers<void>();
    const stream = async function* (): AsyncGenerator<string> {
      yield "data: first\n\n";
      await end;
      yield "data: last\n\n";
    };
    const disconnected = Promise.withResolvers<void>();
    const replica = startReplica(({ url, signal }) => {
      if (!url.endsWith("/hang")) return new Response(stream());
      signal.addEventListener("abort", () => disconnected.resolve());
      return new Promise<Response>(() => undefined);
    });
    const url = await startBalancer([replica.host, "127.0.0.1:9"]);
    const response = await fetch(`${url}/v1/images/generations`, { method: "POST" });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    // The last event is not sent before the first one has arrived.
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe("data: first\n\n");
    resolve();
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe("data: last\n\n");
    const sent = replica.requests[0]?.headers;
    expect(sent?.get("x-forwarded-for")).toBe("127.0.0.1");
    expect(sent?.get("x-forwarded-proto")).toBe("http");
    expect(sent?.get("host")).toBe(new URL(url).host);

    const client = new AbortController();
    const hanging = fetch(`${url}/hang`, { method: "POST", signal: client.signal });
    await until(() => replica.requests.length === 2);
    client.abort();
    await expect(hanging).rejects.toThrow();
    await disconnected.promise;
  },
);

testWithHaproxy(
  "HAProxy sends a POST to another replica only if the first one did not receive it",
  async () => {
    const served = startReplica(() => new Response("served"));
    // Its connections are refused.
    const refused = await startBalancer(["127.0.0.1:9", served.host]);
    // On a connection of its own: HAProxy closes the connection instead of a 502 if it has been used before.
    const headers = { connection: "close", "x-forwarded-for": "203.0.113.9" };
    const send = (url: string): Promise<Response> =>
      fetch(url, { method: "POST", body: "{}", headers });
    for (let request = 0; request < 4; request++) expect((await send(refused)).status).toBe(200);

    const received: string[] = [];
    const breaking = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        data: (socket, bytes) => {
          const head = bytes.toString();
          if (head.startsWith("GET /readyz")) {
            socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
            return;
          }
          received.push(head);
          socket.terminate();
        },
      },
    });
    closing({ close: () => breaking.stop(true) });
    const broken = await startBalancer([`127.0.0.1:${breaking.port}`, served.host]);
    const before = served.requests.length;
    const statuses: number[] = [];
    for (let request = 0; request < 4; request++) statuses.push((await send(broken)).status);
    expect(statuses.toSorted()).toEqual([200, 200, 502, 502]);
    expect([received.length, served.requests.length - before]).toEqual([2, 2]);
    // The address that HAProxy has seen comes last: the client chose the other one itself.
    const forwarded = received[0]?.matchAll(/^x-forwarded-for: (.*)\r$/gim);
    expect(Array.from(forwarded ?? [], ([, address]) => address)).toEqual([
      "203.0.113.9",
      "127.0.0.1",
    ]);
  },
);
