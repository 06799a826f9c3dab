/** Internal requests (moderation, drift checks) count toward limits like any other. */
import { afterEach, describe, expect, test } from "bun:test";
import { adminKey, asOperator } from "../events/webhooks-fixture.ts";
import { startFake } from "../fake-upstream.ts";
import { until } from "../faults/faults-fixture.ts";
import { startGateway, testKey } from "../harness.ts";
import { arrange, closeArranged } from "../routing/routing-gateway-fixture.ts";

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
  await closeArranged();
});

/** A moderation at an upstream of its own that has limits, before one that draws. */
function moderated(limits: string, onFailure = "refuse") {
  const seen = { asked: 0, atOnce: 0, most: 0 };
  const watcher = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async () => {
      seen.asked++;
      seen.atOnce++;
      seen.most = Math.max(seen.most, seen.atOnce);
      await Bun.sleep(50);
      seen.atOnce--;
      return Response.json({ id: "m", results: [{ flagged: false, categories: {} }] });
    },
  });
  const painter = startFake();
  const gateway = startGateway({
    yaml: `
upstreams:
  - { id: watcher, kind: openai, baseUrl: "http://127.0.0.1:${watcher.port}/v1", apiKey: k, limits: { ${limits} } }
  - { id: painter, kind: openai, baseUrl: "${painter.url}", apiKey: sk-fake }
models:
  - id: seen
    kind: image
    moderation: { upstream: watcher, onFailure: ${onFailure} }
    targets: [{ upstream: painter, model: gpt-image-1.5 }]
keys:
  - { name: test, key: ${testKey} }
`,
  });
  open.push(
    () => watcher.stop(true),
    () => painter.close(),
    () => gateway.close(),
  );
  const draw = () =>
    gateway.post("/v1/images/generations", { model: "seen", prompt: "an otter at dusk" });
  return { seen, painter, gateway, draw };
}

describe("a moderation", () => {
  test("is asked no more than its upstream's limits allow, and the caller hears which limit it is", async () => {
    const { seen, painter, draw } = moderated("requestsPerMinute: 1");
    expect((await draw()).status).toBe(200);
    const refusal = await draw();
    expect(refusal.status).toBe(429);
    expect(Number(refusal.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await refusal.text()).toContain("Rate limit reached for seen at its upstream");
    expect(seen.asked).toBe(1);
    expect(painter.requests).toHaveLength(1);
  });

  test("at its limit is passed over where the model says that pictures may be drawn unseen", async () => {
    const { seen, gateway, draw } = moderated("requestsPerMinute: 1", "allow");
    for (let call = 0; call < 2; call++) expect((await draw()).status).toBe(200);
    expect(seen.asked).toBe(1);
    expect(gateway.rows().at(-1)!.steps).toBe(
      "moderation: target_at_limit; painter/gpt-image-1.5: generated",
    );
  });

  test("is asked by no more at a time than may be", async () => {
    const { seen, draw } = moderated("concurrent: 1");
    const responses = await Promise.all([draw(), draw(), draw()]);
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(seen).toMatchObject({ asked: 3, most: 1 });
  });

  test("is not asked while nobody could draw", async () => {
    const { seen, painter, draw } = moderated("concurrent: 9");
    painter.script({ fail: "rate-limit", retryAfter: 60 });
    expect((await draw()).status).toBe(429);
    expect(seen.asked).toBe(1);
    const refusal = await draw();
    expect(refusal.status).toBe(429);
    expect(Number(refusal.headers.get("retry-after"))).toBeGreaterThan(50);
    expect(seen.asked).toBe(1);
    expect(painter.requests).toHaveLength(1);
  });
});

test("comparing the vectors of targets counts against an upstream's limits", async () => {
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
  open.push(...fakes.map((fake) => () => fake.close()), () => gateway.close());
  await until(() => gateway.log().includes("target-not-compared"));
  // The refusal of the second model may be logged before the request of the first arrives.
  await until(() => fakes[0]!.requests.length > 0);
  expect(fakes[0]!.requests).toHaveLength(1);
});

test("time that a call stood in line here is not held against the target", async () => {
  const { gateway, fakes, embed } = arrange({
    upstreams: 2,
    ofUpstreams: ", limits: { concurrent: 1 }",
    ofVectors: ", batch: false",
    settings: { VEXEL_ADMIN_KEY: adminKey },
  });
  for (const fake of fakes) fake.script({ delayMs: 60 }, { times: Number.POSITIVE_INFINITY });
  const responses = await Promise.all(Array.from({ length: 16 }, embed));
  expect(responses.map(({ status }) => status)).toEqual(Array(16).fill(200));
  const { data } = (await (await asOperator(gateway.url, "/admin/targets")).json()) as {
    data: { models: string[]; latency: { mean_ms: number }[] }[];
  };
  const means = data
    .filter(({ models }) => models.includes("vectors"))
    .map(({ latency }) => latency[0]!.mean_ms);
  expect(means).toHaveLength(2);
  for (const mean of means) expect(mean).toBeWithin(55, 150);
});

test("calls whose time is over while they stand in line here do not count against a model's only target", async () => {
  const { fakes, embed } = arrange({
    upstreams: 1,
    ofUpstreams: ", limits: { concurrent: 1 }",
    ofVectors: ", batch: false",
    settings: { VEXEL_EMBEDDINGS_TIMEOUT: "1", VEXEL_QUEUE_TIMEOUT: "30" },
  });
  fakes[0]!.script({ delayMs: 700 }, { times: Number.POSITIVE_INFINITY });
  const responses = await Promise.all(Array.from({ length: 9 }, embed));
  expect(responses.filter(({ status }) => status === 504).length).toBeGreaterThanOrEqual(7);
  fakes[0]!.clear();
  expect((await embed()).status).toBe(200);
});
