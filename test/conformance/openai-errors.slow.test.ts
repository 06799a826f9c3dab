/** The official SDK's error classes: each failure has the class that OpenAI's own error has. */

import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import OpenAI, {
  APIConnectionError,
  APIConnectionTimeoutError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  UnprocessableEntityError,
} from "openai";
import { jsonResponse } from "../embeddings/upstream-response.ts";
import { unreachableUrl } from "../faults/faults-fixture.ts";
import { configFor } from "../harness.ts";
import { until } from "../until.ts";
import { arrange, clientOf, refusalOf } from "./arrange.ts";

const narrowKey = "sk-narrow-0123456789abcdef";
const { fake, gateway, client, close } = arrange({
  yaml: (url) =>
    configFor(url).concat(`  - { name: narrow, key: ${narrowKey}, models: ["gpt-image-2"] }\n`),
});
beforeEach(() => {
  fake.clear();
  gateway.resetTargets();
});
afterAll(close);

const model = "text-embedding-3-small";
const embed = (from: OpenAI = client) => from.embeddings.create({ model, input: "a" });
const generate = (more: object, from: OpenAI = client) =>
  from.images.generate({ model: "gpt-image-2", prompt: "an otter", ...more });

describe("BadRequestError", () => {
  test.each([
    ["an empty input", { input: "" }, null, null, "'$.input' is invalid"],
    ["an empty list", { input: [] }, null, null, "'$.input' is invalid"],
    ["an empty text in a list", { input: ["a", ""] }, null, null, "Entry 1 is an empty string"],
    ["too many inputs", { input: Array(2049).fill("a") }, null, null, "2049 entries"],
    ["a wrong type", { dimensions: "many" }, "invalid_type", "dimensions", "expected an integer"],
    ["no dimensions", { dimensions: 0 }, "integer_below_min_value", "dimensions", ">= 1"],
    [
      "an unknown format",
      { encoding_format: "hex" },
      "invalid_value",
      "encoding_format",
      "'base64'",
    ],
    ["no model", { model: undefined }, null, null, "you must provide a model parameter"],
  ] as const)("for embeddings with %s", async (_, wrong, code, param, message) => {
    const error = await refusalOf(
      client.embeddings.create({ model, input: "a", ...wrong } as never),
      BadRequestError,
    );
    expect(error).toMatchObject({ status: 400, code, param, type: "invalid_request_error" });
    expect(error.message).toContain(message);
    expect(error.requestID).toBeString();
    expect(fake.requests).toHaveLength(0);
  });

  test.each([
    ["no prompt", { prompt: undefined }, "missing_required_parameter", "prompt"],
    ["no model", { model: undefined }, "missing_required_parameter", "model"],
    ["no image", { n: 0 }, "integer_below_min_value", "n"],
    ["too many images", { n: 11 }, "integer_above_max_value", "n"],
    ["a fraction as n", { n: 1.5 }, "invalid_type", "n"],
    ["a wrong type", { stream: "yes" }, "invalid_type", "stream"],
    ["an unknown response_format", { response_format: "png" }, "invalid_value", "response_format"],
    [
      "too much compression",
      { output_compression: 101 },
      "integer_above_max_value",
      "output_compression",
    ],
  ] as const)("for an image request with %s", async (_, wrong, code, param) => {
    const error = await refusalOf(generate(wrong), BadRequestError);
    expect(error).toMatchObject({ status: 400, code, param, type: "invalid_request_error" });
    expect(fake.requests).toHaveLength(0);
  });

  test("has the upstream's message, if only the upstream can validate the request", async () => {
    const wrongSize = await refusalOf(generate({ size: "1792x936" }), BadRequestError);
    expect(wrongSize).toMatchObject({ code: "invalid_value", param: "size" });
    expect(wrongSize.message).toContain("Width and height must both be divisible by 16.");
    const noDimensions = await refusalOf(
      client.embeddings.create({ model: "text-embedding-ada-002", input: "a", dimensions: 8 }),
      BadRequestError,
    );
    expect(noDimensions.message).toContain("does not support specifying dimensions");
  });

  test("has OpenAI's type, code and details, when moderation refuses", async () => {
    const error = await refusalOf(generate({ prompt: "something forbidden" }), BadRequestError);
    expect(error).toMatchObject({
      type: "image_generation_user_error",
      code: "moderation_blocked",
    });
    expect(error.error).toMatchObject({
      moderation_details: { moderation_stage: "input", categories: ["violence"] },
    });
  });

  test("is not thrown for more tokens than one upstream request may have: the request is split", async () => {
    const input = Array.from({ length: 40 }, (_, at) => `${at} ${"word".repeat(8000)}`);
    const { data, usage } = await client.embeddings.create({ model, input });
    expect(data.map(({ index }) => index)).toEqual(input.map((_, at) => at));
    expect(usage.prompt_tokens).toBeGreaterThan(300_000);
  });

  test("is thrown for an image request to an embedding model", async () => {
    const error = await refusalOf(generate({ model }), BadRequestError);
    expect(error).toMatchObject({ type: "image_generation_user_error", code: "invalid_value" });
  });
});

describe("other errors", () => {
  test("are AuthenticationError for an unknown key, which is masked in the message", async () => {
    const stranger = clientOf(gateway, { apiKey: "sk-stranger-0123456789" });
    const error = await refusalOf(embed(stranger), AuthenticationError);
    expect(error).toMatchObject({
      status: 401,
      code: "invalid_api_key",
      type: "invalid_request_error",
    });
    expect(error.message).not.toContain("sk-stranger-0123456789");
    expect(error.message).toContain("sk-st****6789");
  });

  test("are AuthenticationError without a key", async () => {
    const response = await fetch(`${gateway.baseURL}/embeddings`, { method: "POST", body: "{}" });
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({
      error: { type: "invalid_request_error", code: null, param: null },
    });
  });

  test("are NotFoundError for a model that the key may not use, as for a model that does not exist", async () => {
    const narrow = clientOf(gateway, { apiKey: narrowKey });
    const error = await refusalOf(embed(narrow), NotFoundError);
    expect(error).toMatchObject({ status: 404, code: "model_not_found" });
    expect(fake.requests).toHaveLength(0);
  });

  test("are PermissionDeniedError for an embeddings request to an image model", async () => {
    const error = await refusalOf(
      client.embeddings.create({ model: "gpt-image-2", input: "a" }),
      PermissionDeniedError,
    );
    expect(error.message).toContain("You are not allowed to generate embeddings from this model");
  });

  test("are NotFoundError for an unknown model", async () => {
    const error = await refusalOf(
      client.embeddings.create({ model: "no-such-model", input: "a" }),
      NotFoundError,
    );
    expect(error).toMatchObject({
      status: 404,
      code: "model_not_found",
      type: "invalid_request_error",
    });
  });

  test("are NotFoundError for an unknown path", async () => {
    const error = await refusalOf(
      client.chat.completions.create({ model: "gpt-4o", messages: [] }),
      NotFoundError,
    );
    expect(error).toMatchObject({ code: "unknown_url", type: "invalid_request_error" });
    expect(error.message).toContain("Invalid URL (POST /v1/chat/completions)");
  });

  test("are UnprocessableEntityError for an upstream's 422", async () => {
    const refusal = { message: "too odd", type: "odd", code: "odd", param: "input" };
    fake.script(jsonResponse({ error: refusal }, 422));
    const error = await refusalOf(embed(), UnprocessableEntityError);
    expect(error).toMatchObject({ status: 422, type: "odd", code: "odd", param: "input" });
  });

  test("are RateLimitError with the upstream's type, code and retry-after", async () => {
    fake.script({ fail: "rate-limit", retryAfter: 3 });
    const error = await refusalOf(embed(), RateLimitError);
    expect(error).toMatchObject({ status: 429, code: "rate_limit_exceeded", type: "tokens" });
    expect(error.headers.get("retry-after")).toBe("3");
  });

  test("are InternalServerError when the upstream fails", async () => {
    fake.script({ fail: "server-error" }, { times: 3 });
    const error = await refusalOf(embed(), InternalServerError);
    expect(error).toMatchObject({ status: 502, code: "upstream_error", type: "server_error" });
  });
});

describe("the client's own retries", () => {
  const patient = clientOf(gateway, { maxRetries: 2 });
  // For a shorter time the gateway waits itself.
  const retryAfterMs = 600;

  test("succeed after a transient failure", async () => {
    fake.script({ fail: "overloaded", retryAfterMs }, { times: 2 });
    const response = await embed(patient);
    expect(response.data).toHaveLength(1);
    expect(fake.requests).toHaveLength(3);
    expect(
      gateway
        .rows()
        .slice(-3)
        .map(({ status }) => status),
    ).toEqual([503, 503, 200]);
  });

  test("wait for the upstream's retry-after", async () => {
    fake.script({ fail: "rate-limit", retryAfterMs: 1200 });
    const started = performance.now();
    await embed(patient);
    // By default the SDK would wait half a second at most.
    expect(performance.now() - started).toBeGreaterThanOrEqual(1190);
    expect(fake.requests).toHaveLength(2);
  });

  test("end with RateLimitError after the third attempt", async () => {
    fake.script({ fail: "rate-limit", retryAfterMs }, { times: 9 });
    await refusalOf(embed(patient), RateLimitError);
    expect(fake.requests).toHaveLength(3);
  });

  test.each([
    ["an account without credit", "quota", RateLimitError, "insufficient_quota"],
    ["a wrong upstream key", "credentials", InternalServerError, "upstream_credentials"],
    ["a spending limit", "billing", BadRequestError, "billing_hard_limit_reached"],
  ] as const)("do not happen for %s, because they cannot help", async (_, fail, kind, code) => {
    fake.script({ fail }, { times: 9 });
    const error = await refusalOf(embed(patient), kind);
    expect(error.code).toBe(code);
    expect(error.headers.get("x-should-retry")).toBe("false");
    expect(fake.requests).toHaveLength(1);
  });

  test("do not happen for a permanent conflict at the upstream", async () => {
    fake.script(jsonResponse({ error: { message: "no", type: "invalid_request_error" } }, 409));
    await refusalOf(embed(patient), OpenAI.ConflictError);
    expect(fake.requests).toHaveLength(1);
  });
});

describe("a request that ends early", () => {
  test("is APIUserAbortError for the client and canceled at the upstream", async () => {
    fake.script({ hang: "headers" });
    const disconnect = new AbortController();
    const call = client.embeddings.create({ model, input: "a" }, { signal: disconnect.signal });
    const refused = refusalOf(call, APIUserAbortError);
    await fake.arrived(1);
    disconnect.abort();
    await refused;
    await until(() => fake.requests[0]!.aborted);
    await until(() => gateway.rows().at(-1)?.error === "client_closed");
    expect(gateway.rows().at(-1)).toMatchObject({ status: 499, inputTokens: null });
  });

  test("is APIConnectionTimeoutError after the client's own timeout", async () => {
    fake.script({ hang: "headers" });
    const call = client.embeddings.create({ model, input: "a" }, { timeout: 300 });
    await refusalOf(call, APIConnectionTimeoutError);
    await until(() => fake.requests[0]!.aborted);
  });

  test("is APIConnectionError when no gateway runs", async () => {
    const nowhere = clientOf(gateway, { baseURL: unreachableUrl });
    await refusalOf(embed(nowhere), APIConnectionError);
  });
});
