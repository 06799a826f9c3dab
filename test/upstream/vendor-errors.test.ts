/** The errors that clients get for a vendor's errors, wherever they are in its response. */
import { describe, expect, test } from "bun:test";
import { adapters } from "../../server/upstream/adapters/index.ts";
import type { Target } from "../../server/upstream/contract.ts";
import { upstreamResponseOf } from "../laws/adapter-cases.ts";

const key = "secret-key-0123456789";

const targetOf = (kind: string): Target => ({
  model: "their-model",
  upstream: {
    id: "u",
    kind,
    baseUrl: "https://vendor.example/v1",
    apiKey: key,
    headers: {},
    options: {},
  },
});

const errorKindOf = (kind: string, status: number, body: object, headers = {}) =>
  adapters.get(kind)!.readError(upstreamResponseOf(JSON.stringify(body), { status, headers }), {
    target: targetOf(kind),
    model: "public-model",
  });

describe("the message of an error response is found", () => {
  const expectedMessage = "prompt: is too long";
  test.each([
    ["openai-compatible", { error: { message: expectedMessage } }],
    ["openai-compatible", { error: expectedMessage }],
    ["openai-compatible", { message: expectedMessage }],
    ["openai-compatible", { detail: expectedMessage }],
    ["fal", { detail: [{ loc: ["body", "prompt"], msg: "is too long" }] }],
    ["fal", { detail: [{ loc: ["prompt", { toString: false }, null], msg: "is too long" }] }],
    ["mistral", { message: { detail: [{ loc: ["body", "prompt"], msg: "is too long" }] } }],
    ["deepinfra", { detail: { error: expectedMessage } }],
    ["cloudflare", { errors: [{ message: expectedMessage, code: 5004 }] }],
    ["stability", { id: "1", name: "bad_request", errors: [expectedMessage] }],
    ["automatic1111", { error: "HTTPException", detail: expectedMessage }],
    ["openrouter", { error: { message: "Provider returned error", metadata: { raw: rawOf() } } }],
  ])("of %s", async (kind, body) => {
    const { kind: errorKind, message } = await errorKindOf(kind, 400, body);
    expect(errorKind).toBe("upstream_rejected");
    expect(message).toBe(expectedMessage);
  });

  test("several messages are all found", async () => {
    const { message } = await errorKindOf("stability", 400, { errors: ["one", "two"] });
    expect(message).toBe("one; two");
  });
});

const rawOf = (): string => JSON.stringify({ error: { message: "prompt: is too long" } });

describe("the retry delay is reported", () => {
  test.each([
    ["bfl", { error: "slow", retry_after: 5 }, 5000],
    ["replicate", { detail: "Request was throttled.", retry_after: 5 }, 5000],
    ["stability", { name: "rate_limit_exceeded", errors: ["slow"] }, 60_000],
    [
      "gemini",
      { error: { status: "RESOURCE_EXHAUSTED", details: [{ retryDelay: "1.5s" }] } },
      1500,
    ],
  ])("if %s sends it without a header", async (kind, body, retryAfterMs) => {
    const { kind: errorKind, details } = await errorKindOf(kind, 429, body);
    expect(errorKind).toBe("upstream_rate_limit");
    expect(details.retryAfterMs).toBe(retryAfterMs);
  });

  test("from a header if there is one", async () => {
    const { details } = await errorKindOf("bfl", 429, { retry_after: 5 }, { "retry-after": "2" });
    expect(details.retryAfterMs).toBe(2000);
  });

  test("only for errors that a retry may fix", async () => {
    const { kind, details } = await errorKindOf("bfl", 404, {
      detail: "Not Found",
      retry_after: 5,
    });
    expect(kind).toBe("model_not_found");
    expect(details.retryAfterMs).toBeUndefined();
  });
});

describe("messages about the operator's account are not sent to clients", () => {
  test.each([
    ["fal", 403, { detail: "User 4711 is locked. Reason: Exhausted balance." }],
    ["xai", 403, { error: "Team 4711 has used all available credits." }],
    ["recraft", 400, { code: "not_enough_credits", message: "Account 4711 has none." }],
    ["bfl", 403, { detail: "Not authenticated - key of 4711" }],
    ["ideogram", 429, { error: "Account 4711 is too fast" }],
    ["runware", 401, { errors: [{ code: "invalidApiKey", message: `No key ${key}, 4711` }] }],
  ])("by %s with %d", async (kind, status, body) => {
    const { message, definition: row } = await errorKindOf(kind, status, body);
    expect(row.causedBy).toBe("upstream");
    expect(message).not.toContain("4711");
    expect(message).not.toContain(key);
  });
});
