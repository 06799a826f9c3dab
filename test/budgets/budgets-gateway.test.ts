/** Budgets through a real gateway: spending stays within them, and a refusal has OpenAI's error shape. */

import { afterEach, describe, expect, test } from "bun:test";
import { RateLimitError } from "openai";
import type { LedgerRow } from "../../server/storage/ports/ledger-row.ts";
import { closeAfterAll } from "../clean-up.ts";
import { arrange, clientOf } from "../conformance/arrange.ts";
import { testKey } from "../harness.ts";
import { until } from "../until.ts";

/** An image of dall-e-3 costs four cents. */
const cents = 0.04;
const keyOf = (name: string): string => `sk-test-${name.padEnd(20, "0")}`;

const yaml = (url: string): string => `
upstreams:
  - { id: fake, kind: openai, baseUrl: "${url}", apiKey: sk-fake }
  - { id: own, kind: openai-compatible, baseUrl: "${url}", apiKey: sk-fake }
models:
  - { id: dall-e-3, kind: image, targets: [{ upstream: fake, model: dall-e-3 }] }
  - { id: unpriced, kind: image, targets: [{ upstream: own, model: dall-e-3 }] }
  - { id: embedder, kind: embedding, cache: false, price: { input: 1000 }, targets: [{ upstream: fake, model: text-embedding-3-small }] }
projects:
  - { name: shared, budget: { month: 0.08 } }
keys:
  - { name: test, key: ${testKey} }
  - { name: ten, key: ${keyOf("ten")}, budget: { total: 0.4 } }
  - { name: one, key: ${keyOf("one")}, budget: { total: 0.05 } }
  - { name: left, key: ${keyOf("left")}, project: shared }
  - { name: right, key: ${keyOf("right")}, project: shared }
  - { name: broke, key: ${keyOf("broke")}, budget: { total: 0 } }
  - { name: large, key: ${keyOf("large")}, budget: { day: 100 } }
  - { name: picky, key: ${keyOf("picky")}, budget: { day: 100, unknownPrice: refuse } }
`;

const setup = arrange({ yaml });
afterEach(() => setup.fake.clear());
closeAfterAll(setup);

const generate = (key: string, body: object = {}, headers: Record<string, string> = {}) =>
  setup.gateway.post(
    "/v1/images/generations",
    { model: "dall-e-3", prompt: "an otter", ...body },
    { authorization: `Bearer ${keyOf(key)}`, ...headers },
  );

async function rowsOf(responses: readonly Response[]): Promise<LedgerRow[]> {
  await Promise.all(responses.map((response) => response.text()));
  const rows = new Map(setup.gateway.rows().map((row) => [row.requestId, row]));
  return responses.map(({ headers }) => {
    const id = headers.get("x-request-id") ?? "";
    const row = rows.get(id);
    if (!row) throw new Error(`no row for ${id}`);
    return row;
  });
}

const rowOf = async (response: Response): Promise<LedgerRow> => (await rowsOf([response]))[0]!;

const spent = (name: string): number =>
  setup.gateway
    .rows()
    .filter(({ keyId }) => keyId === `file:${name}`)
    .reduce((sum, { cost, estimatedCost: estimate }) => sum + (cost ?? estimate ?? 0), 0);

test("of 100 concurrent requests against a budget for ten, ten are sent and billed", async () => {
  for (let request = 0; request < 10; request++) setup.fake.script({ delayMs: 50 });
  const responses = await Promise.all(Array.from({ length: 100 }, () => generate("ten")));
  const rows = await rowsOf(responses);
  expect(rows.filter(({ status }) => status === 200)).toHaveLength(10);
  expect(rows.filter(({ error }) => error === "over_budget")).toHaveLength(90);
  expect(setup.fake.requests.filter(({ method }) => method === "POST")).toHaveLength(10);
  expect(spent("ten")).toBeCloseTo(0.4, 12);
  const thresholds = () =>
    setup.gateway
      .log()
      .split("\n")
      .filter((line) => line.includes('"budget-threshold"'))
      .map((line) => JSON.parse(line));
  await until(() => thresholds().length >= 3);
  const events = thresholds();
  expect(events.map(({ percent }) => percent)).toEqual([50, 80, 100]);
  expect(events[0]).toMatchObject({
    scope: "key",
    id: "file:ten",
    name: "ten",
    period: "total",
    budget: 0.4,
  });
});

test("the official client gets insufficient_quota and does not retry", async () => {
  const client = clientOf(setup.gateway, { apiKey: keyOf("one"), maxRetries: 3 });
  const generateOnce = () => client.images.generate({ model: "dall-e-3", prompt: "an otter" });
  await generateOnce();
  const before = setup.gateway.rows().length;
  const error = await generateOnce().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(RateLimitError);
  expect(error).toMatchObject({
    status: 429,
    code: "insufficient_quota",
    type: "insufficient_quota",
  });
  expect(String(error)).toContain('the budget of the key "one" is $0.05; $0.04 is spent');
  expect(setup.gateway.rows()).toHaveLength(before + 1);
  expect(setup.fake.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
});

test("keys of one project share its budget, and the ledger records the project", async () => {
  expect((await rowOf(await generate("left"))).project).toBe("shared");
  expect((await rowOf(await generate("right"))).status).toBe(200);
  const refused = await generate("left");
  expect(refused.status).toBe(429);
  expect(refused.headers.get("x-should-retry")).toBe("false");
  const { error } = (await refused.json()) as { error: { budget: object } };
  expect(error.budget).toMatchObject({
    scope: "project",
    name: "shared",
    period: "month",
    limit: 0.08,
  });
});

describe("a budget is charged", () => {
  const after = async (response: Promise<Response>): Promise<readonly [LedgerRow, number]> => {
    const before = spent("large");
    const row = await rowOf(await response);
    return [row, spent("large") - before];
  };

  test("the cost, when it is known", async () => {
    const [row, counted] = await after(generate("large", { n: 2, size: "1792x1024" }));
    expect(row).toMatchObject({ status: 200, estimatedCost: null });
    expect(counted).toBeCloseTo(0.16, 12);
  });

  test("nothing if the upstream refused the request", async () => {
    setup.fake.script({ fail: "rate-limit" });
    const [row, counted] = await after(generate("large"));
    expect(row).toMatchObject({ status: 429, cost: null, estimatedCost: null });
    expect(counted).toBe(0);
  });

  test("nothing if the request was invalid and no upstream was called", async () => {
    const [row, counted] = await after(generate("large", { size: "1x1" }));
    expect(row).toMatchObject({ status: 400, attempts: 0, estimatedCost: null });
    expect(counted).toBe(0);
  });

  test("the estimate if the request may have been billed, and the cost stays unknown", async () => {
    setup.fake.script({ fail: "server-error" });
    const [row, counted] = await after(generate("large"));
    expect(row).toMatchObject({ status: 502, cost: null, estimatedCost: cents });
    expect(counted).toBeCloseTo(cents, 12);
  });

  test("the estimate if an upstream reports no usage", async () => {
    setup.fake.script({ usage: "absent" });
    const [row] = await after(
      setup.gateway.post(
        "/v1/embeddings",
        { model: "embedder", input: "eight ch" },
        { authorization: `Bearer ${keyOf("large")}` },
      ),
    );
    expect(row).toMatchObject({ status: 200, cost: null });
    expect(row.estimatedCost).toBeCloseTo(0.002, 12);
  });

  test("nothing for a replayed idempotent response", async () => {
    const key = { "idempotency-key": crypto.randomUUID() };
    await (await generate("large", {}, key)).text();
    const [row, counted] = await after(generate("large", {}, key));
    expect(row).toMatchObject({ status: 200, cost: 0 });
    expect(counted).toBe(0);
  });
});

test("a key whose budget is spent can still make requests that cost nothing", async () => {
  expect((await generate("broke")).status).toBe(429);
  const sketched = await generate("broke", { model: "vexel-sketch" });
  expect(await rowOf(sketched)).toMatchObject({ status: 200, cost: 0 });
});

test("a model of unknown price is allowed, or refused before an upstream request, as the budget says", async () => {
  expect((await generate("large", { model: "unpriced" })).status).toBe(200);
  setup.fake.clear();
  const refused = await generate("picky", { model: "unpriced" });
  expect(refused.status).toBe(403);
  expect(await refused.json()).toMatchObject({ error: { code: "price_unknown", param: "model" } });
  expect(setup.fake.requests.filter(({ method }) => method === "POST")).toHaveLength(0);
  expect((await generate("picky")).status).toBe(200);
});

test("a key without a budget has no estimate, and a model of unknown price is allowed", async () => {
  const row = await rowOf(
    await setup.gateway.post("/v1/images/generations", { model: "unpriced", prompt: "an otter" }),
  );
  expect(row).toMatchObject({ status: 200, cost: null, estimatedCost: null, project: null });
});
