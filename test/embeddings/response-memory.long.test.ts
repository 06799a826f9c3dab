/** The memory of large embeddings responses: reserved before the upstream request, until the last byte is sent. */
import { afterAll, describe, expect, test } from "bun:test";
import { sendResponse } from "../../server/http/server/send-response.ts";
import { SocketWriter } from "../../server/http/server/socket-writer.ts";
import { lendEach } from "../../server/lib/byte-memory.ts";
import { ignoreRejection } from "../../server/lib/tasks.ts";
import { ResponseMemory } from "../../server/limits/response-memory.ts";
import { testKey } from "../harness.ts";
import {
  embeddingModel,
  RawConnection,
  startGatewayWithFake,
  toHttpText,
} from "../http/gateway-fixture.ts";
import { until } from "../until.ts";

const MiB = 1024 * 1024;
const otherKey = "sk-other-0123456789abcdef";
const edge = startGatewayWithFake({
  settings: { VEXEL_RESPONSE_MEMORY_BYTES: String(64 * MiB), VEXEL_CACHE_BYTES: "0" },
  yaml: `  - { name: other, key: ${otherKey} }\n`,
});
afterAll(() => edge.close());

/** 600 vectors: 15 MB are reserved, and the response has 10 MB, more than the system's buffers. */
const requestText = (key: string, name: string): string => {
  const body = JSON.stringify({
    model: embeddingModel,
    input: Array.from({ length: 600 }, (_, at) => `${name} ${at}`),
    encoding_format: "float",
  });
  const headers = {
    authorization: `Bearer ${key}`,
    "content-type": "application/json",
    "content-length": String(body.length),
  };
  return toHttpText({ method: "POST", path: "/v1/embeddings", headers }) + body;
};

const request = async (key: string, name: string): Promise<RawConnection> => {
  const connection = await RawConnection.open(edge.gateway.url);
  connection.send(requestText(key, name));
  return connection;
};

/** Inputs of the test that the upstream has received. */
const inputsAtUpstream = (): string =>
  edge.fake.requests.map(({ json }) => JSON.stringify(json)).join("");

const wasSent = (name: string): boolean => inputsAtUpstream().includes(`"${name} 0"`);

test("clients that do not read large embeddings responses hold bounded memory, and other API keys are served", async () => {
  const unread = ["a1", "a2", "a3", "a4", "a5", "a6"];
  const connections: RawConnection[] = [];
  for (const name of unread) {
    const connection = await request(testKey, name);
    connection.pause();
    connections.push(connection);
  }
  // Two reservations of 15 MB leave 34 MB free. A third would be more than is free after it.
  await until(() => unread.filter(wasSent).length === 2);
  const other = await request(otherKey, "b1");
  expect((await other.response()).status).toBe(200);
  expect(unread.filter(wasSent)).toHaveLength(2);
  // The end of one response frees space for the next request of the key.
  for (let at = 0; at < unread.length; at++) {
    connections[at]?.disconnect();
    await until(() => unread.filter(wasSent).length >= Math.min(unread.length, at + 3));
  }
  other.disconnect();
  const last = await request(testKey, "a7");
  expect((await last.response()).status).toBe(200);
  last.disconnect();
});

describe("the memory of large responses", () => {
  const never = new AbortController().signal;
  const reserve = (
    memory: ResponseMemory,
    keyId: string,
    bytes: number,
    { signal = never, timeoutMs = 60_000 } = {},
  ) => memory.reserve({ keyId, bytes, signal: () => signal, timeoutMs });

  test("is shared: a key waits beyond its share, and a request of another key is admitted", async () => {
    const memory = new ResponseMemory(1000);
    await reserve(memory, "a", 400);
    const waiting = reserve(memory, "a", 200);
    expect(memory.held).toBe(400);
    await reserve(memory, "b", 300);
    expect(memory.held).toBe(700);
    memory.release("a", 400);
    await waiting;
    expect(memory.held).toBe(500);
  });

  test("admits a response that is larger than all of it alone", async () => {
    const memory = new ResponseMemory(1000);
    await reserve(memory, "a", 5000);
    const waiting = reserve(memory, "b", 1);
    expect(memory.held).toBe(5000);
    memory.release("a", 5000);
    await waiting;
    expect(memory.held).toBe(1);
  });

  test("refuses a request that waits too long, and stops waiting when the client disconnects", async () => {
    const memory = new ResponseMemory(1000);
    const client = new AbortController();
    await reserve(memory, "a", 900);
    const late = reserve(memory, "b", 200, { timeoutMs: 1 });
    const left = reserve(memory, "c", 200, { signal: client.signal });
    client.abort();
    expect(await left.catch((error) => error.kind)).toBe("client_closed");
    expect(await late.catch((error) => error.kind)).toBe("overloaded");
    memory.release("a", 900);
    expect(memory.held).toBe(0);
    await reserve(memory, "d", 500);
    expect(memory.held).toBe(500);
  });

  test("lets large responses begin in different turns of the event loop", async () => {
    const memory = new ResponseMemory(1024 * MiB);
    let turn = 0;
    let isCounting = true;
    const count = (): void => {
      turn++;
      if (isCounting) setImmediate(count);
    };
    setImmediate(count);
    const turns: number[] = [];
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        await reserve(memory, "a", 10 * MiB);
        turns.push(turn);
      }),
    );
    isCounting = false;
    expect(new Set(turns).size).toBe(10);
  });
});

test("all bytes of a response that a client does not read count as unread, not only those at the socket", () => {
  const chunks = [Buffer.alloc(1000), Buffer.alloc(1000), Buffer.alloc(1000)];
  let written = 0;
  const writer = new SocketWriter({
    write: (data) => {
      // The system takes the head of the response, and nothing else.
      if (written > 0) return 0;
      written = Buffer.byteLength(data as string);
      return written;
    },
  });
  const body = {
    length: 3000,
    open: () => lendEach(chunks),
    isInMemory: true as const,
    close: async () => undefined,
  };
  const head = { method: "POST", supportsChunked: true } as Parameters<typeof sendResponse>[1];
  ignoreRejection(sendResponse({ status: 200, headers: {}, body }, head, "", writer));
  return until(() => writer.unsentBytes + writer.heldBytes === 3000).finally(() => writer.close());
});
