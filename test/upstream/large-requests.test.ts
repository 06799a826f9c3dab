/** Large request bodies, which are serialized before they are sent, reach the upstream whole. */
import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { LargeJson } from "../../server/lib/large-json.ts";
import type { UpstreamRequest } from "../../server/upstream/adapter.ts";
import { adapters } from "../../server/upstream/adapters/index.ts";
import { createUpstreamClient } from "../../server/upstream/client.ts";
import { createCredentialCache } from "../../server/upstream/credentials/credential-cache.ts";
import { targetNamed } from "../embeddings/stage-fixture.ts";
import { embeddingsQuery } from "../laws/adapter-responses.ts";
import { ok, type ReceivedRequest, rawServer, testClient } from "./http-client-fixture.ts";

const hashOf = (bytes: Buffer | string): string => createHash("sha1").update(bytes).digest("hex");
const respondWithHash = ({ socket, body }: ReceivedRequest): void =>
  void socket.write(ok(hashOf(body)));
const bodyWith = (letter: string) => ({
  model: "a",
  input: [`猫${letter.repeat(3_000_000)}`, "b"],
});

describe("a large request body", () => {
  test("reaches an upstream that reads slowly, also on a connection that is used again", async () => {
    using server = rawServer(respondWithHash, {
      onHead: ({ socket }) => {
        socket.pause();
        setTimeout(() => socket.resume(), 50);
      },
    });
    using client = testClient();
    for (const letter of ["x", "y", "\n"]) {
      const value = bodyWith(letter);
      const hash = await client.send(server.url, "", { body: new LargeJson(value) });
      expect(hash).toBe(hashOf(JSON.stringify(value)));
      expect(await client.send(server.url, "small")).toBe(hashOf("small"));
    }
    expect(server.opened).toBe(1);
  });

  test("is sent again whole, if the upstream closed the connection meanwhile", async () => {
    using server = rawServer(respondWithHash, {
      onHead: ({ socket, connection, turn }) => {
        if (connection === 1 && turn === 2) socket.destroy();
      },
    });
    using client = testClient();
    expect(await client.send(server.url, "first")).toBe(hashOf("first"));
    const value = bodyWith("x");
    const hash = await client.send(server.url, "", { body: new LargeJson(value) });
    expect(hash).toBe(hashOf(JSON.stringify(value)));
    expect(server.opened).toBe(2);
  });

  test("is freed when the request is over, and when it fails", async () => {
    using server = rawServer(respondWithHash);
    using client = testClient();
    const body = new LargeJson(bodyWith("x"));
    const { bytes } = body;
    expect(bytes.length).toBeGreaterThan(3_000_000);
    await client.send(server.url, "", { body });
    expect(bytes.length).toBe(0);
    const failed = new LargeJson(bodyWith("x"));
    const { bytes: unsent } = failed;
    expect(unsent.length).toBeGreaterThan(3_000_000);
    const outcome = client.send("http://127.0.0.1:1/v1", "", { body: failed });
    expect(await outcome.catch(() => "failed")).toBe("failed");
    expect(unsent.length).toBe(0);
  });
});

test("other requests are served between the serializations of large request bodies", async () => {
  let turn = 0;
  const countTurn = (): void => {
    turn++;
    if (turn < 100) setImmediate(countTurn);
  };
  const sentAt: number[] = [];
  const send = ({ body }: UpstreamRequest): Promise<never> => {
    expect(body).toBeInstanceOf(LargeJson);
    sentAt.push(turn);
    return Promise.reject(new Error("not needed"));
  };
  const client = createUpstreamClient({
    adapters,
    builtInModels: new Map(),
    send,
    credentials: createCredentialCache({ send, now: () => 0, env: {} }),
    now: () => 0,
  });
  const input = { kind: "text", texts: ["x".repeat(1_000_000)] } as const;
  const { signal } = new AbortController();
  setImmediate(countTurn);
  const sendOne = () =>
    client.embeddings({
      query: { ...embeddingsQuery(1), input },
      target: targetNamed("a"),
      signal: () => signal,
    });
  const outcomes = await Promise.allSettled([sendOne(), sendOne(), sendOne()]);
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  const [first = 0, second = 0, third = 0] = sentAt;
  expect(second - first).toBeGreaterThanOrEqual(2);
  expect(third - second).toBeGreaterThanOrEqual(2);
});
