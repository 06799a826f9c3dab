/** Through a real gateway: nobody spends more than allowed, and whoever would is told so in OpenAI's way. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { RateLimitError } from "openai";
import type { LedgerRow } from "../../server/storage/ledger-row.ts";
import { type Arranged, arrange, clientOf } from "../conformance/arrange.ts";
import { startFake } from "../fake-upstream.ts";
import { readLedger, startProcess, temporaryFolder, testKey } from "../harness.ts";
import { until } from "../http/gateway-fixture.ts";

/** A picture of dall-e-3 costs four cents. */
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

let house: Arranged;
beforeAll(() => {
  house = arrange({ yaml });
});
afterEach(() => house.fake.clear());
afterAll(() => house.close());

const draw = (key: string, body: object = {}, headers: Record<string, string> = {}) =>
  house.gateway.post(
    "/v1/images/generations",
    { model: "dall-e-3", prompt: "an otter", ...body },
    { authorization: `Bearer ${keyOf(key)}`, ...headers },
  );

async function rowOf(response: Response): Promise<LedgerRow> {
  await response.text();
  const id = response.headers.get("x-request-id");
  const row = house.gateway.rows().find(({ requestId }) => requestId === id);
  if (!row) throw new Error(`no row for ${id}`);
  return row;
}

const spent = (name: string): number =>
  house.gateway
    .rows()
    .filter(({ keyId }) => keyId === `file:${name}`)
    .reduce((sum, { cost, estimatedCost: estimate }) => sum + (cost ?? estimate ?? 0), 0);

test("of a hundred calls at once against a budget for ten, ten are made and paid for", async () => {
  for (let call = 0; call < 10; call++) house.fake.script({ delayMs: 50 });
  const answers = await Promise.all(Array.from({ length: 100 }, () => draw("ten")));
  const rows = await Promise.all(answers.map(rowOf));
  expect(rows.filter(({ status }) => status === 200)).toHaveLength(10);
  expect(rows.filter(({ error: fault }) => fault === "over_budget")).toHaveLength(90);
  expect(house.fake.requests.filter(({ method }) => method === "POST")).toHaveLength(10);
  expect(spent("ten")).toBeCloseTo(0.4, 12);
  const events = house.gateway
    .log()
    .split("\n")
    .filter((line) => line.includes('"budget-threshold"'))
    .map((line) => JSON.parse(line));
  expect(events.map(({ percent }) => percent)).toEqual([50, 80, 100]);
  expect(events[0]).toMatchObject({
    scope: "key",
    id: "file:ten",
    name: "ten",
    period: "total",
    budget: 0.4,
  });
});

test("the official client sees a spent quota, and does not try again", async () => {
  const client = clientOf(house.gateway, { apiKey: keyOf("one"), maxRetries: 3 });
  const ask = () => client.images.generate({ model: "dall-e-3", prompt: "an otter" });
  await ask();
  const before = house.gateway.rows().length;
  const error = await ask().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(RateLimitError);
  expect(error).toMatchObject({
    status: 429,
    code: "insufficient_quota",
    type: "insufficient_quota",
  });
  expect(String(error)).toContain('of the budget of the key "one", $0.05, $0.04 are spent');
  expect(house.gateway.rows()).toHaveLength(before + 1);
  expect(house.fake.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
});

test("keys of one project share its budget, and the ledger says whose it was", async () => {
  expect((await rowOf(await draw("left"))).project).toBe("shared");
  expect((await rowOf(await draw("right"))).status).toBe(200);
  const refused = await draw("left");
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

describe("what a call counts as", () => {
  const after = async (response: Promise<Response>): Promise<readonly [LedgerRow, number]> => {
    const before = spent("large");
    const row = await rowOf(await response);
    return [row, spent("large") - before];
  };

  test("its cost, once that is known", async () => {
    const [row, counted] = await after(draw("large", { n: 2, size: "1792x1024" }));
    expect(row).toMatchObject({ status: 200, estimatedCost: null });
    expect(counted).toBeCloseTo(0.16, 12);
  });

  test("nothing, where the upstream refused it", async () => {
    house.fake.script({ fail: "rate-limit" });
    const [row, counted] = await after(draw("large"));
    expect(row).toMatchObject({ status: 429, cost: null, estimatedCost: null });
    expect(counted).toBe(0);
  });

  test("nothing, where it was wrong and nobody was asked", async () => {
    const [row, counted] = await after(draw("large", { size: "1x1" }));
    expect(row).toMatchObject({ status: 400, attempts: 0, estimatedCost: null });
    expect(counted).toBe(0);
  });

  test("its estimate, where nobody knows whether it was paid for; its cost stays unknown", async () => {
    house.fake.script({ fail: "server-error" });
    const [row, counted] = await after(draw("large"));
    expect(row).toMatchObject({ status: 502, cost: null, estimatedCost: cents });
    expect(counted).toBeCloseTo(cents, 12);
  });

  test("its estimate, where an upstream does not count what it did", async () => {
    house.fake.script({ usage: "absent" });
    const [row] = await after(
      house.gateway.post(
        "/v1/embeddings",
        { model: "embedder", input: "eight ch" },
        { authorization: `Bearer ${keyOf("large")}` },
      ),
    );
    expect(row).toMatchObject({ status: 200, cost: null });
    expect(row.estimatedCost).toBeCloseTo(0.002, 12);
  });

  test("nothing, where its answer is given a second time, however little is left", async () => {
    const key = { "idempotency-key": crypto.randomUUID() };
    await (await draw("large", {}, key)).text();
    const [row, counted] = await after(draw("large", {}, key));
    expect(row).toMatchObject({ status: 200, cost: 0 });
    expect(counted).toBe(0);
  });
});

test("a key whose budget is spent is still served what costs nothing", async () => {
  expect((await draw("broke")).status).toBe(429);
  const sketched = await draw("broke", { model: "vexel-sketch" });
  expect(await rowOf(sketched)).toMatchObject({ status: 200, cost: 0 });
});

test("what has no known price is allowed, or refused before anyone is asked, as the budget says", async () => {
  expect((await draw("large", { model: "unpriced" })).status).toBe(200);
  house.fake.clear();
  const refused = await draw("picky", { model: "unpriced" });
  expect(refused.status).toBe(403);
  expect(await refused.json()).toMatchObject({ error: { code: "price_unknown", param: "model" } });
  expect(house.fake.requests.filter(({ method }) => method === "POST")).toHaveLength(0);
  expect((await draw("picky")).status).toBe(200);
});

test("a key without a budget is asked nothing", async () => {
  const row = await rowOf(
    await house.gateway.post("/v1/images/generations", { model: "unpriced", prompt: "an otter" }),
  );
  expect(row).toMatchObject({ status: 200, cost: null, estimatedCost: null, project: null });
});

test("killed and started again, a gateway knows what was spent", async () => {
  using folder = temporaryFolder();
  const fake = startFake();
  try {
    const ask = async (gateway: Awaited<ReturnType<typeof startProcess>>): Promise<number> => {
      const response = await gateway.post(
        "/v1/images/generations",
        { model: "dall-e-3", prompt: "an otter" },
        { authorization: `Bearer ${keyOf("ten")}` },
      );
      await response.text();
      return response.status;
    };
    const statuses: number[] = [];
    for (let start = 0; start < 3; start++) {
      const gateway = await startProcess({ folder: folder.path, yaml: yaml(fake.url) });
      for (let call = 0; call < 4; call++) statuses.push(await ask(gateway));
      gateway.kill("SIGKILL");
      await gateway.exited;
    }
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 200), 429, 429]);
    await until(() => readLedger(join(folder.path, "data")).length === 12);
  } finally {
    fake.close();
  }
  // Three processes start, on a machine that may have other things to do.
}, 60_000);
