/** Concurrent requests do not exceed a budget, whatever is known of their cost beforehand. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Arranged, arrange } from "../conformance/arrange.ts";
import { png } from "../http/gateway-fixture.ts";
import { budgeted, dayMs, noon, arrange as onPaper, refusal, sure } from "./budgets-fixture.ts";

const keyOf = (name: string): string => `sk-test-${name.padEnd(20, "0")}`;

/** An upstream of whose models nobody has heard. It counts as dear as honest ones can: every byte is a token; or as is usual. */
const upstream = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: async (request) => {
    const body = (await request.json()) as { model: string; input?: string; prompt?: string };
    await Bun.sleep(30);
    if (body.input !== undefined) {
      const bytes = Buffer.byteLength(body.input);
      const tokens = body.model === "usual" ? Math.round(bytes / 4) : bytes + 2;
      return Response.json({
        object: "list",
        model: "own",
        data: [{ object: "embedding", index: 0, embedding: [0.6, 0.8] }],
        usage: { prompt_tokens: tokens, total_tokens: tokens },
      });
    }
    const read = Buffer.byteLength(body.prompt ?? "");
    return Response.json({
      created: 1,
      data: [{ b64_json: Buffer.from(png).toString("base64") }],
      usage: {
        ...{ input_tokens: read, output_tokens: 10_000, total_tokens: read + 10_000 },
        input_tokens_details: { text_tokens: read, image_tokens: 0 },
        output_tokens_details: { text_tokens: 0, image_tokens: 10_000 },
      },
    });
  },
});

const yaml = (): string => `
upstreams:
  - { id: own, kind: openai-compatible, baseUrl: "http://127.0.0.1:${upstream.port}/v1", apiKey: sk-fake }
models:
  - id: vectors
    kind: embedding
    cache: false
    batch: false
    price: { input: 1000 }
    targets: [{ upstream: own, model: own }]
  - id: words
    kind: embedding
    cache: false
    batch: false
    price: { input: 1000 }
    targets: [{ upstream: own, model: usual }]
  - id: pictures
    kind: image
    price: { input: 5, output: 40 }
    targets: [{ upstream: own, model: own }]
keys:
  - { name: vectors, key: ${keyOf("vectors")}, budget: { month: 1 } }
  - { name: words, key: ${keyOf("words")}, budget: { month: 1 } }
  - { name: pictures, key: ${keyOf("pictures")}, budget: { month: 4, unknownPrice: refuse } }
`;

let house: Arranged;
beforeAll(() => {
  house = arrange({ yaml });
});
afterAll(() => {
  house.close();
  upstream.stop(true);
});

const ask = (key: string, path: string, body: object) =>
  house.gateway.post(path, body, { authorization: `Bearer ${keyOf(key)}` });

async function hundred(key: string, path: string, body: (at: number) => object) {
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, at) => ask(key, path, body(at))),
  );
  for (const answer of answers) await answer.text();
  const rows = house.gateway.rows().filter(({ keyId }) => keyId === `file:${key}`);
  return { answers, spent: rows.reduce((sum, { cost }) => sum + (cost ?? 0), 0) };
}

test("vectors of a text that is all tokens, a hundred at once against a budget for ten", async () => {
  // 98 bytes and 2 tokens around them: a hundredth of a million tokens' price, ten cents.
  const { answers, spent } = await hundred("vectors", "/v1/embeddings", (at) => ({
    model: "vectors",
    input: `${"\u00fc!".repeat(32)}${at % 10}${at % 7}`,
  }));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
  expect(spent).toBeCloseTo(1, 9);
});

test("vectors of plain words, for each of which four times its cost is held, a hundred at once against a budget for ten", async () => {
  const { answers, spent } = await hundred("words", "/v1/embeddings", (at) => ({
    model: "words",
    input: `${"some words ".repeat(40).slice(0, 397)} ${at}`.padEnd(400),
  }));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
  expect(spent).toBeCloseTo(1, 9);
  // The others are told at once that it is spent, and not to come back.
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused).toHaveLength(90);
  for (const { headers } of refused) expect(headers.get("x-should-retry")).toBe("false");
});

test("pictures that are paid for by tokens nobody has told the number of", async () => {
  const draw = { model: "pictures", prompt: "an otter" };
  const { answers, spent } = await hundred("pictures", "/v1/images/generations", () => draw);
  const served = answers.filter(({ status }) => status === 200).length;
  // Forty cents each; held for more than they cost, so fewer than ten at once, and the rest of it is free again after.
  expect(served).toBeGreaterThanOrEqual(5);
  expect(spent).toBeLessThanOrEqual(4);
  expect(spent).toBeCloseTo(served * 0.40004, 9);
  expect((await ask("pictures", "/v1/images/generations", draw)).status).toBe(200);
});

test("who is refused for what is only held is told to come back soon, and may", async () => {
  const draw = () =>
    ask("pictures", "/v1/images/generations", { model: "pictures", prompt: "an otter" });
  const answers = await Promise.all(Array.from({ length: 20 }, draw));
  const held = answers.find(({ status }) => status === 429)!;
  expect(held.headers.get("retry-after")).toBe("5");
  expect(held.headers.get("x-should-retry")).toBeNull();
  const { error } = (await held.json()) as { error: { message: string; code: string } };
  expect(error.code).toBe("insufficient_quota");
  expect(error.message).toEndWith("when those requests end. Retry then.");
});

describe("of several budgets that are short", () => {
  const [day, month] = ["2026-11-15", "2026-11"];
  const key = budgeted({ day: 1, month: 10 });

  test("the one that is spent is told of, and not one that is only held", () => {
    const { budgets } = onPaper({ [`key ci ${day}`]: 0.9, [`key ci ${month}`]: 5 });
    // What a call of yesterday holds of the month is nothing of today.
    budgets.reserve([key], sure(0.9), noon - dayMs);
    budgets.reserve([budgeted({ month: 10 })], sure(4), noon);
    const error = refusal(() => budgets.reserve([key], sure(0.3), noon));
    expect(error.message).toContain("of the daily budget");
    expect(error.details.retryAfterMs).toBe(dayMs / 2);
    expect(error.definition.retry).toBe("never");
  });

  test("what is held is held at its most, and given back to what it was", () => {
    const { budgets } = onPaper();
    const call = budgets.reserve([key], { dollars: 0.2, maxDollars: 0.8, isCertain: true }, noon);
    const error = refusal(() => budgets.reserve([key], { ...sure(0.3), maxDollars: 0.4 }, noon));
    expect(error.message).toContain("estimated at $0.30, at most $0.40");
    expect(error.details.retryAfterMs).toBe(5000);
    expect(error.definition.retry).toBe("later");
    call.settle(undefined);
    expect(budgets.status(key, noon)[0]).toMatchObject({ spent: 0.2, reserved: 0 });
  });
});
