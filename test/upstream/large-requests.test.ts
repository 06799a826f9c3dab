/** Large request bodies, which are serialized and sent in chunks, reach the upstream whole. */
import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { LargeJson } from "../../server/lib/large-json.ts";
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
    const chunks = body.chunks();
    await client.send(server.url, "", { body });
    expect(chunks.map(({ length }) => length).filter((length) => length > 0)).toEqual([]);
    const failed = new LargeJson(bodyWith("x"));
    const unsent = failed.chunks();
    const outcome = client.send("http://127.0.0.1:1/v1", "", { body: failed });
    expect(await outcome.catch(() => "failed")).toBe("failed");
    expect(unsent.map(({ length }) => length).filter((length) => length > 0)).toEqual([]);
  });
});
