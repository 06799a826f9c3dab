/** A budget can be spent to its end, although more must be held for a text than it is going to cost. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Estimate } from "../../server/budgets/budgets.ts";
import { type Arranged, arrange } from "../conformance/arrange.ts";
import { budgeted, noon, arrange as onPaper, refusal, sure } from "./budgets-fixture.ts";

const key = "sk-test-thousand-0000000";
let house: Arranged;
beforeAll(() => {
  house = arrange({
    yaml: (url) => `
upstreams:
  - { id: fake, kind: openai, baseUrl: "${url}", apiKey: sk-fake }
models:
  - { id: vectors, kind: embedding, cache: false, batch: false, price: { input: 1000 }, targets: [{ upstream: fake, model: text-embedding-3-small }] }
  - { id: dall-e-3, kind: image, targets: [{ upstream: fake, model: dall-e-3 }] }
keys:
  - { name: thousand, key: ${key}, budget: { total: 10 } }
`,
  });
});
afterAll(() => house.close());

const events = (): number[] =>
  house.gateway
    .log()
    .split("\n")
    .filter((line) => line.includes('"budget-threshold"'))
    .map((line) => (JSON.parse(line) as { percent: number }).percent);

test("ten calls of a dollar each, one after the other, fit a budget of ten dollars, and all warnings are sent", async () => {
  // A token for four bytes, which nobody can know before: held for each is four times its cost.
  const input = "some words ".repeat(400).slice(0, 4000);
  const ask = () =>
    house.gateway.post(
      "/v1/embeddings",
      { model: "vectors", input },
      { authorization: `Bearer ${key}` },
    );
  const answer = JSON.stringify({
    object: "list",
    model: "text-embedding-3-small",
    data: [{ object: "embedding", index: 0, embedding: Array.from({ length: 1536 }, () => 0.02) }],
    usage: { prompt_tokens: 1000, total_tokens: 1000 },
  });
  house.fake.script(
    { reply: { status: 200, headers: { "content-type": "application/json" }, body: answer } },
    { times: Infinity },
  );
  for (let call = 0; call < 10; call++) expect((await ask()).status).toBe(200);
  const refused = await ask();
  expect(refused.status).toBe(429);
  expect(refused.headers.get("x-should-retry")).toBe("false");
  expect(events()).toEqual([50, 80, 100]);
});

test("whoever asks for more pictures than may be asked for is told that, however little is left", async () => {
  house.fake.clear();
  const draw = (n: number) =>
    house.gateway.post(
      "/v1/images/generations",
      { model: "dall-e-3", prompt: "an otter", n },
      { authorization: `Bearer ${key}` },
    );
  const refused = await draw(11);
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({ error: { param: "n" } });
  expect((await draw(1)).status).toBe(429);
  expect(house.fake.requests).toHaveLength(0);
});

describe("a call whose most does not fit", () => {
  const text: Estimate = { dollars: 1, maxDollars: 4, isCertain: true };
  const ten = budgeted({ total: 10 });

  test("is let in if what it likely costs does, one at a time: so a budget is passed by the error of one call at most", () => {
    const { budgets } = onPaper();
    const reserve = () => budgets.reserve([ten], text, noon);
    const held = [reserve(), reserve(), reserve()];
    expect(budgets.status(ten, noon)[0]?.reserved).toBe(9);
    const error = refusal(reserve);
    expect(error.definition.retry).toBe("later");
    expect(error.details.retryAfterMs).toBe(5000);
    // As dear as they can be.
    for (const reservation of held) reservation.settle(4);
    expect(budgets.status(ten, noon)[0]?.spent).toBe(12);
  });

  test("lets the next one follow when it is over", () => {
    const { budgets } = onPaper({ "key ci total": 8 });
    for (let call = 0; call < 2; call++) budgets.reserve([ten], text, noon).settle(1);
    expect(refusal(() => budgets.reserve([ten], text, noon)).definition.retry).toBe("never");
  });

  test("holds its most of those budgets that have it", () => {
    const { budgets } = onPaper({ "key ci total": 8 });
    const project = budgeted({ month: 100 }, "project", "web");
    budgets.reserve([ten, project], text, noon);
    expect(budgets.status(ten, noon)[0]?.reserved).toBe(1);
    expect(budgets.status(project, noon)[0]?.reserved).toBe(4);
    // Another key of the project is not held up by it.
    budgets.reserve([budgeted({ total: 2 }, "key", "cd"), project], text, noon);
  });
});

test("what may have been paid besides is spent as well", () => {
  const { budgets } = onPaper();
  const ten = budgeted({ total: 10 });
  budgets.reserve([ten], sure(1), noon).settle(1.5, 1);
  budgets.reserve([ten], sure(1), noon).settle(undefined, 2);
  expect(budgets.status(ten, noon)[0]).toMatchObject({ spent: 5.5, reserved: 0 });
});

describe("a refusal for good", () => {
  test("tells that all is spent, where half of it is and what is left is of no use", () => {
    const { budgets, told } = onPaper();
    const ten = budgeted({ total: 10 });
    budgets.reserve([ten], sure(6), noon).settle(6);
    expect(refusal(() => budgets.reserve([ten], sure(6), noon)).definition.retry).toBe("never");
    expect(told.map(({ data }) => data.percent)).toEqual([50, 80, 100]);
  });

  test("and one for what is only held tells nothing", () => {
    const { budgets, told } = onPaper({ "key ci total": 8.5 });
    const ten = budgeted({ total: 10 });
    budgets.reserve([ten], sure(1), noon);
    expect(refusal(() => budgets.reserve([ten], sure(1), noon)).definition.retry).toBe("later");
    expect(told).toEqual([]);
  });
});
