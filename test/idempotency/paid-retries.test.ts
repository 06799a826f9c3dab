/** Clients try again by themselves. A picture that may have been paid for is not ordered a second time by that. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { mayBeBilled } from "../../server/upstream/may-have-been-billed.ts";
import { arrange, clientOf } from "../conformance/arrange.ts";
import type { Mischief } from "../fake-upstream.ts";
import { testKey } from "../harness.ts";

const { fake, gateway, close } = arrange({
  yaml: (url) => `
upstreams:
  - { id: fake, kind: openai, baseUrl: "${url}", apiKey: sk-fake }
models:
  - { id: painter, kind: image, timeout: 1, targets: [{ upstream: fake, model: gpt-image-2 }] }
  - { id: reckless, kind: image, retryPaid: true, targets: [{ upstream: fake, model: gpt-image-2 }] }
  - { id: embedder, kind: embedding, targets: [{ upstream: fake, model: text-embedding-3-small }] }
keys:
  - { name: test, key: ${testKey} }
`,
});
beforeEach(() => {
  fake.clear();
  gateway.forgetTargets();
});
afterAll(() => close());

const client = clientOf(gateway, { maxRetries: 2 });
const draw = (model = "painter") => client.images.generate({ model, prompt: "an otter" });
const orders = (): number => fake.requests.filter(({ method }) => method === "POST").length;
const failure = (call: Promise<unknown>) =>
  call.then(
    () => expect.unreachable(),
    (error: { status: number; code: string; headers: Headers }) => error,
  );

describe("the official client orders a picture once when", () => {
  test.each<[string, Mischief, number, string]>([
    [
      "the connection breaks after the order",
      { reset: "before-headers" },
      502,
      "upstream_unreachable",
    ],
    ["the upstream fails", { fail: "server-error" }, 502, "upstream_error"],
    ["no answer comes in time", { hang: "headers" }, 504, "upstream_timeout"],
    ["what comes is no picture", { images: "garbage" }, 502, "upstream_invalid"],
  ])("%s", async (_, mischief, status, code) => {
    fake.script(mischief, { times: 9 });
    const error = await failure(draw());
    expect({ status: error.status, code: error.code }).toEqual({ status, code });
    expect(error.headers.get("x-should-retry")).toBe("false");
    expect(orders()).toBe(1);
  });
});

describe("it tries again by itself", () => {
  test("where nothing can have been drawn", async () => {
    fake.script({ fail: "rate-limit", retryAfterMs: 1 });
    await draw();
    expect(orders()).toBe(2);
  });

  test("where the model says that a picture may be paid for twice", async () => {
    fake.script({ reset: "before-headers" });
    await draw("reckless");
    expect(orders()).toBe(2);
  });

  test("for vectors, which cost next to nothing", async () => {
    fake.script({ fail: "server-error" });
    await client.embeddings.create({ model: "embedder", input: "an otter" });
    expect(orders()).toBe(2);
  });
});

test("what was never sent, or came to a place that is none, was not paid for", () => {
  const fault = (details: object) => mayBeBilled(new GatewayError("upstream_error", "no", details));
  expect(fault({})).toBe(true);
  expect(fault({ notExecuted: true })).toBe(false);
  expect(fault({ notSent: true })).toBe(false);
  expect(mayBeBilled(new GatewayError("upstream_rate_limit", "no", { mayBeBilled: true }))).toBe(
    true,
  );
  expect(mayBeBilled(new GatewayError("upstream_rate_limit", "no"))).toBe(false);
});
