/** Large JSON bodies share the memory with the requests of other clients. */

import { afterAll, describe, expect, test } from "bun:test";
import { takeJsonMemory } from "../../server/http/json-memory.ts";
import { KeyShares } from "../../server/lib/key-shares.ts";
import { testKey } from "../harness.ts";
import { until } from "../until.ts";
import {
  chunk,
  embeddingModel,
  RawConnection,
  type RawResponse,
  startGatewayWithFake,
  toHttpText,
} from "./gateway-fixture.ts";

const otherKey = "sk-other-0123456789abcdef";
const MiB = 1024 * 1024;
const edge = startGatewayWithFake({
  settings: { VEXEL_MAX_BODY_BYTES: String(2 * MiB), VEXEL_JSON_MEMORY_BYTES: String(8 * MiB) },
  yaml: `  - { name: other, key: ${otherKey} }\n`,
});
const { gateway } = edge;
afterAll(() => edge.close());

/** Valid JSON with exactly this many bytes. */
const bodyOf = (bytes: number): string =>
  JSON.stringify({ model: embeddingModel, input: "a" }).padEnd(bytes, " ");

const head = (key: string, more: Record<string, string>): string =>
  toHttpText({
    method: "POST",
    path: "/v1/embeddings",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...more },
  });

const announced = async (key: string, bytes: number): Promise<RawConnection> => {
  const connection = await RawConnection.open(gateway.url);
  connection.send(head(key, { "content-length": String(bytes) }));
  return connection;
};

/** The body up to its last byte; resolves when the gateway holds it. */
const allButLast = async (connection: RawConnection, bytes: number): Promise<void> => {
  await connection.sendAll(Buffer.from(bodyOf(bytes)).subarray(0, -1));
  await Bun.sleep(50);
};

const refusal = ({ status, headers, body }: RawResponse) => ({
  status,
  retryAfter: Number(headers.get("retry-after")),
  code: JSON.parse(body).error.code as string,
});

describe("the memory of JSON bodies", () => {
  test("that one API key holds is at most its share, other keys find space, and a request that ends releases its part", async () => {
    const size = 1.5 * MiB;
    // 8 MiB in all: a key may hold what is still free, which is 3 MiB of two bodies and not 4.5 of three.
    const held = [await announced(testKey, size), await announced(testKey, size)];
    for (const connection of held) await allButLast(connection, size);
    const third = await announced(testKey, size);
    expect(refusal(await third.response())).toEqual({
      status: 429,
      retryAfter: 2,
      code: "rate_limit_exceeded",
    });
    const other = await announced(otherKey, size);
    await other.sendAll(Buffer.from(bodyOf(size)));
    expect((await other.response()).status).toBe(200);
    // One ends with a response, the other with its connection.
    held[0]?.send(" ");
    expect((await held[0]!.response()).status).toBe(200);
    held[1]?.disconnect();
    await Bun.sleep(50);
    const again = [await announced(testKey, size), await announced(testKey, size)];
    for (const connection of again) {
      await connection.sendAll(Buffer.from(bodyOf(size)));
      expect((await connection.response()).status).toBe(200);
    }
    for (const connection of [...held, third, other, ...again]) connection.disconnect();
  });

  test("is counted for bodies in chunks as they arrive", async () => {
    const connections: RawConnection[] = [];
    for (let at = 0; at < 3; at++) {
      const connection = await RawConnection.open(gateway.url);
      connection.send(head(testKey, { "transfer-encoding": "chunked" }));
      await connection.sendAll(chunk(bodyOf(1.9 * MiB)));
      connections.push(connection);
    }
    await until(() => connections.some(({ received }) => received.includes("\r\n\r\n")));
    const refused = connections.filter(({ received }) => received !== "");
    expect(refused.length).toBe(1);
    expect(refusal(await refused[0]!.response()).status).toBe(429);
    for (const connection of connections) connection.disconnect();
  });

  test("is not enough for a body that is larger than any share: a retry is not suggested", () => {
    const memory = new KeyShares(1000);
    const refusals = [
      () => takeJsonMemory(memory, "a", 501, 0),
      () => takeJsonMemory(memory, "a", 101, 400),
    ];
    for (const refuse of refusals) {
      expect(refuse).toThrow("more than the 500 bytes of memory that a request may use");
    }
    expect(memory.held).toBe(0);
  });

  test("is shared: a key gets half, and a key that comes later always finds space", () => {
    const memory = new KeyShares(1000);
    const take = (keyId: string, bytes: number) => takeJsonMemory(memory, keyId, bytes, 0);
    take("a", 500);
    expect(() => take("a", 1)).toThrow("share");
    take("b", 250);
    take("c", 125);
    expect(() => take("d", 63)).toThrow("all the memory");
    memory.release("a", 500);
    take("d", 63);
    expect(memory.held).toBe(438);
  });
});
