/** An upstream account without credit, at its spending limit or at its quota: another target serves the request. */
import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import { startFake } from "../fake-upstream.ts";
import { startGateway, testKey } from "../harness.ts";

const [poor, rich] = [startFake(), startFake()];
/** For each test: a target without credit gets no request for a while. */
const openGateway = () =>
  startGateway({
    yaml: `
upstreams:
  - { id: poor, kind: openai, baseUrl: "${poor.url}", apiKey: sk-fake }
  - { id: rich, kind: openai, baseUrl: "${rich.url}", apiKey: sk-fake }
models:
  - id: embedder
    kind: embedding
    targets: [{ upstream: poor, model: text-embedding-3-small, tier: 0 }, { upstream: rich, model: text-embedding-3-small, tier: 1 }]
  - id: image-model
    kind: image
    targets: [{ upstream: poor, model: gpt-image-2, tier: 0 }, { upstream: rich, model: gpt-image-2, tier: 1 }]
  - { id: only-poor, kind: embedding, targets: [{ upstream: poor, model: text-embedding-3-small }] }
keys: [{ name: test, key: ${testKey} }]
`,
  });
let gateway: ReturnType<typeof openGateway>;
beforeEach(() => {
  poor.clear();
  rich.clear();
  gateway = openGateway();
});
afterEach(() => gateway.close());
afterAll(() => {
  poor.close();
  rich.close();
});

const forbidden = {
  response: {
    status: 403,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      error: { message: "no credit", type: "insufficient_quota", code: "insufficient_quota" },
    }),
  },
};
const refusals = [
  ["billing_hard_limit_reached (400)", { fail: "billing" }],
  ["insufficient_quota (429)", { fail: "quota" }],
  ["insufficient_quota with status 403", forbidden],
] as const;

describe("a target that failed with", () => {
  test.each(refusals)("%s is replaced by another target for the request", async (name, refusal) => {
    poor.script(refusal, { times: 9 });
    const vectors = await gateway.post("/v1/embeddings", { model: "embedder", input: name });
    expect(vectors.status).toBe(200);
    await vectors.arrayBuffer();
    const image = await gateway.post("/v1/images/generations", {
      model: "image-model",
      prompt: name,
    });
    expect(image.status).toBe(200);
    await image.arrayBuffer();
    expect(poor.requests.map(({ path }) => path)).toContain("/v1/embeddings");
    expect(rich.requests.map(({ path }) => path)).toEqual([
      "/v1/embeddings",
      "/v1/images/generations",
    ]);
  });
});

test("without another target, the client gets the upstream's error and x-should-retry: false", async () => {
  poor.script({ fail: "billing" });
  const response = await gateway.post("/v1/embeddings", { model: "only-poor", input: "alone" });
  expect(response.status).toBe(400);
  expect(response.headers.get("x-should-retry")).toBe("false");
  expect(await response.json()).toMatchObject({
    error: { type: "invalid_request_error", code: "billing_hard_limit_reached" },
  });
  expect(poor.requests).toHaveLength(1);
});
