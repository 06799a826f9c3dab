/**
 * An image upstream that puts an error into a response with status 200 is understood as if it had sent the error's
 * status.
 */

import { beforeEach, describe, expect, test } from "bun:test";
import { closeAfterAll } from "../clean-up.ts";
import { startFake } from "../fake-upstream.ts";
import { startGateway, testKey } from "../harness.ts";

const first = startFake();
const second = startFake();
const gateway = startGateway({
  yaml: `
upstreams:
  - { id: first, kind: openai-compatible, baseUrl: "${first.url}", apiKey: sk-fake }
  - { id: second, kind: openai-compatible, baseUrl: "${second.url}", apiKey: sk-fake }
models:
  - { id: one, kind: image, price: { image: 0.04 }, targets: [{ upstream: first, model: gpt-image-2 }] }
  - id: two
    kind: image
    price: { image: 0.04 }
    targets: [{ upstream: first, model: gpt-image-2, tier: 1 }, { upstream: second, model: gpt-image-2, tier: 2 }]
keys:
  - { name: test, key: ${testKey}, budget: { total: 10 } }
`,
});
beforeEach(() => {
  first.clear();
  second.clear();
  gateway.resetTargets();
});
closeAfterAll(gateway, first, second);

const respondWith = (body: unknown, times = 1): void =>
  first.script(
    {
      response: {
        status: 200,
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      },
    },
    { times },
  );

const noQuota = {
  error: {
    message: "You exceeded your current quota",
    type: "insufficient_quota",
    code: "insufficient_quota",
  },
};

async function generate(model: string, more: object = {}) {
  const response = await gateway.post("/v1/images/generations", { model, prompt: "x", ...more });
  const body = (await response.json()) as { error?: { code: string; message: string } };
  const row = gateway.rows().at(-1);
  return { status: response.status, error: body.error, row };
}

describe("an error in a 200 response", () => {
  test("has the status and the message of the error, and nothing is charged", async () => {
    respondWith(noQuota);
    const { status, error, row } = await generate("one");
    expect([status, error?.code]).toEqual([429, "insufficient_quota"]);
    expect(error?.message).toBe("You exceeded your current quota");
    expect([row?.cost ?? null, row?.estimatedCost ?? null]).toEqual([null, null]);
  });

  test("about quota makes the gateway call the next target", async () => {
    respondWith(noQuota);
    const { status } = await generate("two");
    expect(status).toBe(200);
    expect([first.requests.length, second.requests.length]).toEqual([1, 1]);
  });

  test("from the safety system is a 400, and no other target is called", async () => {
    respondWith({ error: { message: "Not this.", code: "moderation_blocked" } });
    const { status, error } = await generate("two");
    expect([status, error?.code]).toEqual([400, "moderation_blocked"]);
    expect(second.requests).toEqual([]);
  });

  test("is the same for a streamed request", async () => {
    respondWith(noQuota);
    const { status, error } = await generate("one", { stream: true });
    expect([status, error?.code]).toEqual([429, "insufficient_quota"]);
  });
});

test("a response with invalid images is not reported as an error of the upstream, whatever else it contains", async () => {
  respondWith({ message: "success", data: [{ index: 0 }] });
  const { status, error, row } = await generate("one");
  expect([status, error?.code]).toEqual([502, "upstream_invalid"]);
  expect(row?.estimatedCost).toBe(0.04);
});
