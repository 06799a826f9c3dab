/** Requests to other routes than models have a log line too. */

import { expect, test } from "bun:test";
import { closeAfterAll } from "../clean-up.ts";
import { startFake } from "../fake-upstream.ts";
import { configFor, startGateway, testKey } from "../harness.ts";

const fake = startFake();
const gateway = startGateway({ yaml: configFor(fake.url) });
closeAfterAll(gateway, fake);

const lines = (): Record<string, unknown>[] =>
  gateway
    .log()
    .trim()
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>);

test("every request has one log line, also with an invalid key, an unknown path or a wrong method", async () => {
  const get = (path: string, init: RequestInit = {}) => fetch(`${gateway.url}${path}`, init);
  const responses = await Promise.all([
    get("/v1/models", { headers: { authorization: `Bearer ${testKey}` } }),
    get("/v1/models", { headers: { authorization: "Bearer sk-guessed-guessed-guessed" } }),
    get("/nope"),
    get("/v1/embeddings", { method: "DELETE" }),
    get("/"),
    get("/healthz"),
    get("/files/images/abcdefghijklmnopqrstuvwxyz012345.png"),
    gateway.post("/v1/embeddings", { model: "text-embedding-3-small", input: "x" }),
  ]);
  for (const response of responses) {
    const id = response.headers.get("x-request-id");
    const mine = lines().filter((line) => line.event === "request" && line.requestId === id);
    expect(mine.map(({ status }) => status)).toEqual([response.status]);
    expect(mine[0]?.durationMs).toBeGreaterThanOrEqual(0);
  }
  const reported = (status: number, endpoint: string) =>
    lines().find((line) => line.status === status && line.endpoint === endpoint);
  expect(reported(401, "models")).toMatchObject({ error: "invalid_api_key", method: "GET" });
  expect(reported(404, "unknown")).toMatchObject({ error: "unknown_url" });
  expect(reported(405, "embeddings")).toMatchObject({
    error: "method_not_allowed",
    method: "DELETE",
  });
  expect(reported(200, "health")).toMatchObject({ level: "debug" });
});

test("no log line has an attempted key or the name of an image link, which is secret", () => {
  expect(gateway.log()).not.toContain("sk-guessed");
  expect(gateway.log()).not.toContain("abcdefghijklmnopqrstuvwxyz012345");
});
