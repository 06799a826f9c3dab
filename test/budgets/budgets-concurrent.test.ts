/** Concurrent requests do not exceed a budget, whether or not their cost can be predicted. */
import { describe, expect, test } from "bun:test";
import { closeAfterAll } from "../clean-up.ts";
import { arrange } from "../conformance/arrange.ts";
import { png } from "../http/gateway-fixture.ts";
import { budgeted, certain, createTestBudgets, dayMs, noon, refusal } from "./budgets-fixture.ts";

const apiKey = "sk-test-images00000000000000";

/** An upstream with an unlisted model, whose usage is known only from its response. */
const upstream = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: async (request) => {
    const body = (await request.json()) as { prompt?: string };
    await Bun.sleep(30);
    const read = Buffer.byteLength(body.prompt ?? "");
    return Response.json({
      created: 1,
      data: [{ b64_json: Buffer.from(png).toString("base64") }],
      usage: {
        input_tokens: read,
        output_tokens: 10_000,
        total_tokens: read + 10_000,
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
  - id: images
    kind: image
    price: { input: 5, output: 40 }
    targets: [{ upstream: own, model: own }]
keys:
  - { name: images, key: ${apiKey}, budget: { month: 4, unknownPrice: refuse } }
`;

const setup = arrange({ yaml });
closeAfterAll(setup, upstream);

const generate = () =>
  setup.gateway.post(
    "/v1/images/generations",
    { model: "images", prompt: "an otter" },
    { authorization: `Bearer ${apiKey}` },
  );

test("concurrent image requests billed by an unpredictable number of tokens stay within the budget", async () => {
  const responses = await Promise.all(Array.from({ length: 100 }, generate));
  for (const response of responses) await response.text();
  const spent = setup.gateway.rows().reduce((sum, { cost }) => sum + (cost ?? 0), 0);
  const served = responses.filter(({ status }) => status === 200).length;
  // Each costs $0.40 and reserves more, so fewer than ten run at once; settlement releases the difference.
  expect(served).toBeGreaterThanOrEqual(5);
  expect(spent).toBeLessThanOrEqual(4);
  expect(spent).toBeCloseTo(served * 0.40004, 9);
  expect((await generate()).status).toBe(200);
});

test("a request that is refused only because of reservations gets a short Retry-After", async () => {
  const responses = await Promise.all(Array.from({ length: 20 }, generate));
  const refused = responses.find(({ status }) => status === 429)!;
  expect(refused.headers.get("retry-after")).toBe("2");
  expect(refused.headers.get("x-should-retry")).toBeNull();
  const { error } = (await refused.json()) as { error: { message: string; code: string } };
  expect(error.code).toBe("insufficient_quota");
  expect(error.message).toEndWith("when those requests end. Retry then.");
});

describe("if several budgets are exceeded", () => {
  const [day, month] = ["2026-11-15", "2026-11"];
  const key = budgeted({ day: 1, month: 10 });

  test("the error names the budget that is spent, not the one that is only reserved", () => {
    const { budgets } = createTestBudgets({ [`key ci ${day}`]: 0.9, [`key ci ${month}`]: 5 });
    // Yesterday's request reserves part of this month's budget and nothing of today's.
    budgets.reserve([key], certain(0.9), noon - dayMs);
    budgets.reserve([budgeted({ month: 10 })], certain(4), noon);
    const error = refusal(() => budgets.reserve([key], certain(0.3), noon));
    expect(error.message).toContain("the daily budget of the key");
    expect(error.details.retryAfterMs).toBe(dayMs / 2);
    expect(error.definition.retry).toBe("never");
  });

  test("the maximum is reserved, and the charge is settled", () => {
    const { budgets } = createTestBudgets();
    const reservation = budgets.reserve(
      [key],
      { dollars: 0.2, maxDollars: 0.8, isCertain: true },
      noon,
    );
    const error = refusal(() => budgets.reserve([key], { ...certain(0.3), maxDollars: 0.4 }, noon));
    expect(error.message).toContain("estimated at $0.30, at most $0.40");
    expect(error.details.retryAfterMs).toBe(2000);
    expect(error.definition.retry).toBe("later");
    reservation.settle(0.2);
    expect(budgets.status(key, noon)[0]).toMatchObject({ spent: 0.2, reserved: 0 });
  });
});
