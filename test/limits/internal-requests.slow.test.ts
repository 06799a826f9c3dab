/** Internal requests (moderation, drift checks) count toward limits like any other. */

import { afterEach, describe, expect, test } from "bun:test";
import { closeAfterEach } from "../clean-up.ts";
import { adminToken, asOperator } from "../events/webhooks-fixture.ts";
import { startFake } from "../fake-upstream.ts";
import { startGateway, testKey } from "../harness.ts";
import { arrange, closeSetups } from "../routing/routing-gateway-fixture.ts";
import { until } from "../until.ts";

const closeAfter = closeAfterEach();
afterEach(closeSetups);

/** A gateway whose image model is moderated by an upstream with limits. */
function startModerated(limits: string, onFailure = "refuse") {
  const counts = { requests: 0, inFlight: 0, maxInFlight: 0 };
  const moderation = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async () => {
      counts.requests++;
      counts.inFlight++;
      counts.maxInFlight = Math.max(counts.maxInFlight, counts.inFlight);
      await Bun.sleep(50);
      counts.inFlight--;
      return Response.json({ id: "m", results: [{ flagged: false, categories: {} }] });
    },
  });
  const imageUpstream = startFake();
  const gateway = startGateway({
    yaml: `
upstreams:
  - { id: moderation, kind: openai, baseUrl: "http://127.0.0.1:${moderation.port}/v1", apiKey: k, limits: { ${limits} } }
  - { id: images, kind: openai, baseUrl: "${imageUpstream.url}", apiKey: sk-fake }
models:
  - id: moderated
    kind: image
    moderation: { upstream: moderation, onFailure: ${onFailure} }
    targets: [{ upstream: images, model: gpt-image-1.5 }]
keys:
  - { name: test, key: ${testKey}, project: shop }
projects:
  - { name: shop, perEndUser: { budget: { day: 100 } } }
`,
  });
  closeAfter(moderation, imageUpstream, gateway);
  const generate = (more: object = {}) =>
    gateway.post("/v1/images/generations", {
      model: "moderated",
      prompt: "an otter at dusk",
      ...more,
    });
  return { counts, imageUpstream, gateway, generate };
}

describe("a moderation request", () => {
  test("stays within the limits of its upstream, and the client gets a rate limit error", async () => {
    const { counts, imageUpstream, generate } = startModerated("requestsPerMinute: 1");
    expect((await generate()).status).toBe(200);
    const refusal = await generate();
    expect(refusal.status).toBe(429);
    expect(Number(refusal.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await refusal.text()).toContain("Rate limit reached for moderated at its upstream");
    expect(counts.requests).toBe(1);
    expect(imageUpstream.requests).toHaveLength(1);
  });

  test("at the limit that the operator has set refuses the image, also with `onFailure: allow`", async () => {
    const { counts, gateway, generate, imageUpstream } = startModerated(
      "requestsPerMinute: 1",
      "allow",
    );
    expect((await generate()).status).toBe(200);
    const refusal = await generate();
    expect(refusal.status).toBe(429);
    expect(Number(refusal.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await refusal.json()).toMatchObject({
      error: { type: "requests", code: "rate_limit_exceeded", param: null },
    });
    expect(counts.requests).toBe(1);
    expect(imageUpstream.requests).toHaveLength(1);
    const images = gateway.rows().filter(({ endpoint }) => endpoint === "generations");
    expect(images.at(-1)!.steps).toBe("moderation: target_at_limit");
  });

  test("has the end user of its image request, and is charged to the same budget", async () => {
    const { gateway, generate } = startModerated("concurrent: 9");
    expect((await generate({ user: "ann" })).status).toBe(200);
    const [second, first] = gateway.rows();
    expect([first?.endpoint, second?.endpoint]).toEqual(["moderations", "generations"]);
    expect(first?.endUser).toMatch(/^eu_/);
    expect(first?.endUser).toBe(second?.endUser as string);
    expect([first?.budgets, second?.budgets]).toEqual(
      Array.from({ length: 2 }, () => `end_user=${first?.endUser}`),
    );
  });

  test("stays within the concurrency limit of its upstream", async () => {
    const { counts, generate } = startModerated("concurrent: 1");
    const responses = await Promise.all([generate(), generate(), generate()]);
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(counts).toMatchObject({ requests: 3, maxInFlight: 1 });
  });

  test("is not sent while no target can generate", async () => {
    const { counts, imageUpstream, generate } = startModerated("concurrent: 9");
    imageUpstream.script({ fail: "rate-limit", retryAfter: 60 });
    expect((await generate()).status).toBe(429);
    expect(counts.requests).toBe(1);
    const refusal = await generate();
    expect(refusal.status).toBe(429);
    expect(Number(refusal.headers.get("retry-after"))).toBeGreaterThan(50);
    expect(counts.requests).toBe(1);
    expect(imageUpstream.requests).toHaveLength(1);
  });
});

test("the drift canary counts against the limits of an upstream", async () => {
  const fakes = [startFake(), startFake()];
  const targets =
    "[{ upstream: u0, model: text-embedding-3-small }, { upstream: u1, model: text-embedding-3-small }]";
  const gateway = startGateway({
    yaml: `
upstreams:
  - { id: u0, kind: openai, baseUrl: "${fakes[0]!.url}", apiKey: sk-fake, limits: { requestsPerMinute: 1 } }
  - { id: u1, kind: openai, baseUrl: "${fakes[1]!.url}", apiKey: sk-fake }
models:
  - { id: one, kind: embedding, targets: ${targets} }
  - { id: two, kind: embedding, targets: ${targets} }
keys:
  - { name: test, key: ${testKey} }
`,
    settings: { VEXEL_CANARY_HOURS: "" },
  });
  closeAfter(...fakes, gateway);
  await until(() => gateway.log().includes("target-not-compared"));
  // The refusal of the second model may be logged before the request of the first arrives.
  await until(() => fakes[0]!.requests.length > 0);
  expect(fakes[0]!.requests).toHaveLength(1);
});

test("time in the queue does not count as latency of the target", async () => {
  const { gateway, fakes, embed } = arrange({
    upstreams: 2,
    upstreamFields: ", limits: { concurrent: 1 }",
    embeddingModelFields: ", batch: false",
    settings: { VEXEL_ADMIN_TOKEN: adminToken },
  });
  for (const fake of fakes) fake.script({ delayMs: 60 }, { times: Number.POSITIVE_INFINITY });
  const startedAt = performance.now();
  const clientMs = await Promise.all(
    Array.from({ length: 16 }, async () => {
      expect((await embed()).status).toBe(200);
      return performance.now() - startedAt;
    }),
  );
  // Of eight requests to each target, the last one waits for seven others.
  const meanClientMs = clientMs.reduce((sum, ms) => sum + ms, 0) / clientMs.length;
  const { data } = (await (await asOperator(gateway.url, "/admin/api/targets")).json()) as {
    data: { models: string[]; latency: { mean_ms: number }[] }[];
  };
  const means = data
    .filter(({ models }) => models.includes("vectors"))
    .map(({ latency }) => latency[0]!.mean_ms);
  expect(means).toHaveLength(2);
  for (const mean of means) expect(mean).toBeWithin(55, meanClientMs / 2);
});

test.each([
  ["alone", ", batch: false"],
  ["in a batch", ""],
])(
  "requests that time out in the queue, %s, do not eject the only target of a model",
  async (_, fields) => {
    const { fakes, embed, generateImage } = arrange({
      upstreams: 1,
      upstreamFields: ", limits: { concurrent: 1 }",
      embeddingModelFields: fields,
      settings: { VEXEL_EMBEDDINGS_TIMEOUT: "2", VEXEL_QUEUE_TIMEOUT: "30" },
    });
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    fakes[0]!.script({ until: released });
    const image = generateImage();
    await fakes[0]!.arrived(1);
    // An image request holds the only slot of the upstream.
    const responses = await Promise.all(Array.from({ length: 9 }, embed));
    expect(responses.map(({ status }) => status)).toEqual(Array(9).fill(504));
    for (const response of responses) {
      const { error } = (await response.json()) as { error: { message: string } };
      expect(error.message).toStartWith("Timed out while queued: no upstream was called.");
    }
    release();
    expect((await image).status).toBe(200);
    expect((await embed()).status).toBe(200);
  },
);
