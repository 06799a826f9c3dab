/** A budget can be spent to the last dollar, although a text reserves more than it is going to cost. */
import { describe, expect, test } from "bun:test";
import type { Estimate } from "../../server/budgets/budgets.ts";
import { closeAfterAll } from "../clean-up.ts";
import { arrange } from "../conformance/arrange.ts";
import { embeddingResponse } from "../embeddings/upstream-response.ts";
import { until } from "../until.ts";
import { budgeted, certain, createTestBudgets, noon, refusal } from "./budgets-fixture.ts";

const key = "sk-test-thousand-0000000";
const noisyKey = "sk-test-noisy-00000000";
const setup = arrange({
  yaml: (url) => `
upstreams:
  - { id: fake, kind: openai, baseUrl: "${url}", apiKey: sk-fake }
models:
  - { id: vectors, kind: embedding, cache: false, batch: false, price: { input: 1000 }, targets: [{ upstream: fake, model: text-embedding-3-small }] }
  - { id: dall-e-3, kind: image, targets: [{ upstream: fake, model: dall-e-3 }] }
keys:
  - { name: thousand, key: ${key}, budget: { total: 10 } }
  - { name: noisy, key: ${noisyKey}, budget: { total: 0.027 } }
`,
});
closeAfterAll(setup);

const events = (): number[] =>
  setup.gateway
    .log()
    .split("\n")
    .filter((line) => line.includes('"budget-threshold"'))
    .map((line) => (JSON.parse(line) as { percent: number }).percent);

test("ten sequential requests of a dollar each fit a budget of ten dollars, and every threshold event is emitted", async () => {
  // A token per four bytes, which is unknown beforehand: each request reserves four times its cost.
  const input = "some words ".repeat(400).slice(0, 4000);
  const embed = () =>
    setup.gateway.post(
      "/v1/embeddings",
      { model: "vectors", input },
      { authorization: `Bearer ${key}` },
    );
  const response = embeddingResponse(Array(1536).fill(0.02), { prompt_tokens: 1000 });
  setup.fake.script(response, { times: Infinity });
  for (let request = 0; request < 10; request++) expect((await embed()).status).toBe(200);
  const refused = await embed();
  expect(refused.status).toBe(429);
  expect(refused.headers.get("x-should-retry")).toBe("false");
  await until(() => events().length >= 3);
  expect(events()).toEqual([50, 80, 100]);
});

test("amounts in errors have no rounding noise of floating point", async () => {
  const embed = () =>
    setup.gateway.post(
      "/v1/embeddings",
      { model: "vectors", input: "otherwise" },
      { authorization: `Bearer ${noisyKey}` },
    );
  setup.fake.clear();
  const response = embeddingResponse(Array(1536).fill(0.02), { prompt_tokens: 9 });
  setup.fake.script(response, { times: Infinity });
  for (let request = 0; request < 3; request++) expect((await embed()).status).toBe(200);
  const refused = await embed();
  expect(refused.status).toBe(429);
  expect(0.009 + 0.009 + 0.009).not.toBe(0.027);
  expect(await refused.json()).toMatchObject({ error: { budget: { spent: 0.027, reserved: 0 } } });
});

test("an invalid n is rejected as invalid, however little budget is left", async () => {
  setup.fake.clear();
  const generate = (n: number) =>
    setup.gateway.post(
      "/v1/images/generations",
      { model: "dall-e-3", prompt: "an otter", n },
      { authorization: `Bearer ${key}` },
    );
  const refused = await generate(11);
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({ error: { param: "n" } });
  expect((await generate(1)).status).toBe(429);
  expect(setup.fake.requests).toHaveLength(0);
});

describe("a request whose maximum cost exceeds the remaining budget", () => {
  const text: Estimate = { dollars: 1, maxDollars: 4, isCertain: true };
  const ten = budgeted({ total: 10 });

  test("is admitted by its estimate, one at a time, so that a budget is exceeded by the error of one request at most", () => {
    const { budgets } = createTestBudgets();
    const reserve = () => budgets.reserve([ten], text, noon);
    const reservations = [reserve(), reserve(), reserve()];
    expect(budgets.status(ten, noon)[0]?.reserved).toBe(9);
    const error = refusal(reserve);
    expect(error.definition.retry).toBe("later");
    expect(error.details.retryAfterMs).toBe(2000);
    // Each request costs its maximum.
    for (const reservation of reservations) reservation.settle(4);
    expect(budgets.status(ten, noon)[0]?.spent).toBe(12);
  });

  test("lets the next such request be admitted when it is settled", () => {
    const { budgets } = createTestBudgets({ "key ci total": 8 });
    for (let request = 0; request < 2; request++) budgets.reserve([ten], text, noon).settle(1);
    expect(refusal(() => budgets.reserve([ten], text, noon)).definition.retry).toBe("never");
  });

  test("reserves its maximum in the budgets that can cover it", () => {
    const { budgets } = createTestBudgets({ "key ci total": 8 });
    const project = budgeted({ month: 100 }, "project", "web");
    budgets.reserve([ten, project], text, noon);
    expect(budgets.status(ten, noon)[0]?.reserved).toBe(1);
    expect(budgets.status(project, noon)[0]?.reserved).toBe(4);
    // Another key of the project is not blocked by it.
    budgets.reserve([budgeted({ total: 2 }, "key", "cd"), project], text, noon);
  });
});

describe("a refusal", () => {
  test("emits all thresholds up to 100 percent if no retry can succeed in this period", () => {
    const { budgets, events: emitted } = createTestBudgets();
    const ten = budgeted({ total: 10 });
    budgets.reserve([ten], certain(6), noon).settle(6);
    expect(refusal(() => budgets.reserve([ten], certain(6), noon)).definition.retry).toBe("never");
    expect(emitted.map(({ data }) => data.percent)).toEqual([50, 80, 100]);
  });

  test("emits no threshold if the request would fit without the reservations in flight", () => {
    const { budgets, events: emitted } = createTestBudgets({ "key ci total": 8.5 });
    const ten = budgeted({ total: 10 });
    budgets.reserve([ten], certain(1), noon);
    expect(refusal(() => budgets.reserve([ten], certain(1), noon)).definition.retry).toBe("later");
    expect(emitted).toEqual([]);
  });
});
