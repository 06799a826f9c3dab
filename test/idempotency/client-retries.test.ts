/** Automatic retries of clients: an image that may have been billed is not requested a second time. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import {
  markMayBeBilled,
  mayBeBilled,
  mayBillFailedAttempt,
} from "../../server/upstream/may-have-been-billed.ts";
import { arrange, clientOf } from "../conformance/arrange.ts";
import type { InjectedFault } from "../fake-upstream.ts";
import { testKey } from "../harness.ts";

const { fake, gateway, close } = arrange({
  yaml: (url) => `
upstreams:
  - { id: fake, kind: openai, baseUrl: "${url}", apiKey: sk-fake }
models:
  - { id: image-model, kind: image, targets: [{ upstream: fake, model: gpt-image-2 }] }
  - { id: short-timeout-model, kind: image, timeout: 1, targets: [{ upstream: fake, model: gpt-image-2 }] }
  - { id: retry-paid-model, kind: image, retryPaid: true, targets: [{ upstream: fake, model: gpt-image-2 }] }
  - { id: embedding-model, kind: embedding, targets: [{ upstream: fake, model: text-embedding-3-small }] }
keys:
  - { name: test, key: ${testKey} }
`,
});
beforeEach(() => {
  fake.clear();
  gateway.resetTargets();
});
afterAll(() => close());

const client = clientOf(gateway, { maxRetries: 2 });
const generate = (model = "image-model") => client.images.generate({ model, prompt: "an otter" });
const upstreamRequests = (): number =>
  fake.requests.filter(({ method }) => method === "POST").length;
const rejectionOf = (request: Promise<unknown>) =>
  request.then(
    () => expect.unreachable(),
    (error: { status: number; code: string; headers: Headers }) => error,
  );

describe("the official client sends one image request when", () => {
  test.each<[string, InjectedFault, number, string]>([
    [
      "the connection is lost after the request",
      { reset: "before-headers" },
      502,
      "upstream_unreachable",
    ],
    ["the upstream fails", { fail: "server-error" }, 502, "upstream_error"],
    ["the upstream times out", { hang: "headers" }, 504, "upstream_timeout"],
    ["the response is not an image", { images: "garbage" }, 502, "upstream_invalid"],
  ])("%s", async (_, fault, status, code) => {
    fake.script(fault, { times: 9 });
    const error = await rejectionOf(generate(fault.hang && "short-timeout-model"));
    expect({ status: error.status, code: error.code }).toEqual({ status, code });
    expect(error.headers.get("x-should-retry")).toBe("false");
    expect(upstreamRequests()).toBe(1);
  });
});

describe("the official client retries", () => {
  test("after a rate limit error, because nothing was generated", async () => {
    fake.script({ fail: "rate-limit", retryAfterMs: 1 });
    await generate();
    expect(upstreamRequests()).toBe(2);
  });

  test("an image request of a model with retryPaid", async () => {
    fake.script({ reset: "before-headers" });
    await generate("retry-paid-model");
    expect(upstreamRequests()).toBe(2);
  });

  test("an embeddings request after a server error", async () => {
    fake.script({ fail: "server-error" });
    await client.embeddings.create({ model: "embedding-model", input: "an otter" });
    expect(upstreamRequests()).toBe(2);
  });
});

test("a request that was not sent, or that the upstream did not execute, is not billed", () => {
  const isBilled = (details: object) =>
    mayBeBilled(new GatewayError("upstream_error", "no", details));
  expect(isBilled({})).toBe(true);
  expect(isBilled({ notExecuted: true })).toBe(false);
  expect(isBilled({ notSent: true })).toBe(false);
  expect(mayBeBilled(new GatewayError("upstream_rate_limit", "no", { mayBeBilled: true }))).toBe(
    true,
  );
  expect(mayBeBilled(new GatewayError("upstream_rate_limit", "no"))).toBe(false);
});

test("an image may be billed once its upstream has begun, although a poll or a download was not sent", () => {
  const details = [{ notSent: true }, { notExecuted: true }, { notBilled: true }] as const;
  for (const each of details) {
    const marked = markMayBeBilled(new GatewayError("upstream_unreachable", "no", each));
    expect(mayBillFailedAttempt(marked)).toBe(true);
  }
});
