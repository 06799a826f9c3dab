/** Error responses of upstreams: the client gets the meaning, and nothing of the gateway's internals. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import type { ErrorKind } from "../../contract/errors.ts";
import type { InjectedFault } from "../fake-upstream.ts";
import { testKey } from "../harness.ts";
import {
  type ExpectedError,
  expectError,
  jsonResponse,
  send,
  startFaultSetup,
  upstreamFailure,
  upstreamKey,
  upstreamToken,
} from "./faults-fixture.ts";

const setup = startFaultSetup();
const { fake } = setup;
beforeEach(() => fake.clear());
afterAll(() => setup.close());

const failed = upstreamFailure("upstream_error");
/** An embeddings request is retried twice, as the error may be transient. */
const failedAfterRetries: ExpectedError = { ...failed, attempts: 3 };
const errorResponse = (status: number, body: unknown) => jsonResponse(body, status);
const expected = (
  status: number,
  type: string,
  code: string | null,
  error: ErrorKind,
): ExpectedError => ({ status, type, code, error });

describe("an upstream error is mapped to its meaning:", () => {
  test.each<[string, InjectedFault, ExpectedError]>([
    [
      "a rate limit",
      { fail: "rate-limit" },
      expected(429, "tokens", "rate_limit_exceeded", "upstream_rate_limit"),
    ],
    [
      "a slow_down error",
      { fail: "slow-down" },
      expected(429, "rate_limit_error", "slow_down", "slow_down"),
    ],
    [
      "no credit",
      { fail: "quota" },
      expected(429, "insufficient_quota", "insufficient_quota", "insufficient_quota"),
    ],
    [
      "no credit, under its newer code",
      errorResponse(429, {
        error: { message: "x", type: "billing", code: "credit_balance_exhausted" },
      }),
      expected(429, "billing", "credit_balance_exhausted", "insufficient_quota"),
    ],
    [
      "a spending limit",
      { fail: "billing" },
      expected(
        400,
        "invalid_request_error",
        "billing_hard_limit_reached",
        "billing_hard_limit_reached",
      ),
    ],
    [
      "a rejected upstream key, which is not the client's key",
      { fail: "credentials" },
      upstreamFailure("upstream_credentials"),
    ],
    [
      "a model its account may not use",
      { fail: "forbidden" },
      expected(403, "invalid_request_error", "model_not_found", "upstream_forbidden"),
    ],
    [
      "a model it does not have",
      errorResponse(404, {
        error: {
          message: "The model `custom-embedding-1` does not exist",
          type: "invalid_request_error",
          code: "model_not_found",
        },
      }),
      expected(404, "invalid_request_error", "model_not_found", "model_not_found"),
    ],
    ["a path it does not have", { fail: "detail" }, failed],
    ["a server error", { fail: "server-error" }, failedAfterRetries],
    ["a server error in HTML", { fail: "html" }, failedAfterRetries],
    ["a bad gateway before it", { fail: "bad-gateway" }, failedAfterRetries],
    [
      "overload",
      { fail: "overloaded" },
      {
        ...expected(
          503,
          "service_unavailable_error",
          "server_is_overloaded",
          "upstream_overloaded",
        ),
        attempts: 3,
      },
    ],
    [
      "its own timeout",
      errorResponse(504, "late"),
      { ...upstreamFailure("upstream_timeout", 504), attempts: 3 },
    ],
    [
      "a rejection by Azure's content filter",
      errorResponse(400, { error: { message: "filtered", code: "content_filter", status: 400 } }),
      expected(400, "image_generation_user_error", "content_filter", "moderation_blocked"),
    ],
    [
      "an error that is only text",
      errorResponse(400, { error: "input is too odd" }),
      expected(400, "invalid_request_error", null, "upstream_rejected"),
    ],
    [
      "an error with a number for a code",
      errorResponse(400, {
        object: "error",
        message: "too long",
        type: "BadRequestError",
        code: 400,
      }),
      expected(400, "BadRequestError", null, "upstream_rejected"),
    ],
    ["an empty error", errorResponse(500, null), failedAfterRetries],
    ["an unknown status", errorResponse(418, {}), failedAfterRetries],
  ])("%s", async (_, fault, error) => {
    fake.script(fault, { times: 9 });
    await expectError(setup, await send.embeddings(setup), error);
    expect(fake.requests).toHaveLength(error.attempts ?? 1);
  });

  test("a request body above the upstream's limit, with an HTML page", async () => {
    fake.script({ fail: "too-large" });
    // One input: several would be split into smaller requests.
    await expectError(
      setup,
      await send.embeddings(setup, { input: "a" }),
      expected(413, "invalid_request_error", null, "upstream_rejected"),
    );
    expect(fake.requests).toHaveLength(1);
  });

  test("an error about the client's request keeps the upstream's message", async () => {
    fake.script(errorResponse(400, { detail: "Input 3 is too odd." }));
    const response = await send.embeddings(setup);
    expect(await response.json()).toMatchObject({ error: { message: "Input 3 is too odd." } });
  });

  test("FastAPI's list of validation errors becomes a message", async () => {
    const detail = [{ loc: ["body", "input"], msg: "Input should be a valid string", type: "x" }];
    fake.script(errorResponse(422, { detail }));
    const error = await expectError(
      setup,
      await send.embeddings(setup),
      expected(422, "invalid_request_error", null, "upstream_rejected"),
    );
    expect(error.message).toContain("Input should be a valid string");
  });
});

describe("a response sets x-should-retry: false exactly if no retry can help", () => {
  test.each<[InjectedFault, string | null]>([
    [{ fail: "quota" }, "false"],
    [{ fail: "credentials" }, "false"],
    [{ fail: "billing" }, "false"],
    [{ fail: "forbidden" }, "false"],
    [{ fail: "rate-limit" }, null],
    [{ fail: "overloaded" }, null],
    [{ fail: "server-error" }, null],
  ])("%j", async (fault, header) => {
    fake.script(fault);
    const response = await send.embeddings(setup);
    expect(response.headers.get("x-should-retry")).toBe(header);
  });
});

describe("retry-after is passed on", () => {
  const hints = async (fault: InjectedFault) => {
    fake.script({ fail: "rate-limit", ...fault });
    const { headers } = await send.embeddings(setup);
    return [headers.get("retry-after"), headers.get("retry-after-ms")];
  };

  test("in seconds", async () => {
    expect(await hints({ retryAfter: 7 })).toEqual(["7", "7000"]);
  });

  test("in milliseconds, as Azure sends it, and also in seconds for clients that read only seconds", async () => {
    expect(await hints({ retryAfterMs: 1500 })).toEqual(["2", "1500"]);
  });

  test("in milliseconds if both are given", async () => {
    expect(await hints({ retryAfter: 2, retryAfterMs: 1234 })).toEqual(["2", "1234"]);
  });

  test("as a date", async () => {
    const soon = new Date(Date.now() + 30_000).toUTCString();
    const [seconds] = await hints({ retryAfter: soon });
    expect(Number(seconds)).toBeWithin(25, 32);
  });

  test.each(["", "soon", "-5e999", "NaN"])("not if it is %j", async (retryAfter) => {
    expect(await hints({ retryAfter })).toEqual([null, null]);
  });

  test("as a bounded number, however large it was", async () => {
    const [seconds, ms] = await hints({ retryAfter: "1e300" });
    expect(seconds).toMatch(/^\d{1,7}$/);
    expect(ms).toMatch(/^\d{1,10}$/);
  });

  test("when the upstream is overloaded as well", async () => {
    fake.script({ fail: "overloaded", retryAfter: 4 });
    expect((await send.embeddings(setup)).headers.get("retry-after")).toBe("4");
  });
});

describe("internal details are not disclosed", () => {
  test("when the upstream's message contains keys, ids and addresses", async () => {
    const host = new URL(fake.url).host;
    const message = `Key ${upstreamKey} with ${upstreamToken} (also sk-proj-abcdefgh12345678) of org-AbCdEf123456 in proj_AbCdEf123456 may not use custom-embedding-1 at ${fake.url}/embeddings on ${host}; see https://platform.openai.com/docs.`;
    fake.script(
      errorResponse(400, {
        error: { message, type: upstreamKey, code: upstreamKey, param: upstreamKey },
      }),
    );
    const response = await send.embeddings(setup);
    const error = await expectError(
      setup,
      response,
      expected(400, "***", "***", "upstream_rejected"),
    );
    expect(error.param).toBe("***");
    expect(error.message).not.toContain("abcdefgh12345678");
    expect(error.message).not.toContain("AbCdEf123456");
    expect(error.message).toContain("may not use vectors");
    expect(error.message).toContain("https://platform.openai.com/docs");
  });

  test("an ordinary message is passed on unchanged", async () => {
    const message = "The user-provided org-wide key-value list is no user_input at all.";
    fake.script(errorResponse(400, { error: { message } }));
    const response = await send.embeddings(setup);
    const { error } = (await response.json()) as { error: { message: string } };
    expect(error.message).toContain("user-provided");
    expect(error.message).toContain("key-value");
    expect(error.message).toContain("user_input");
  });

  test("when a redirect points to another server", async () => {
    const caught: Request[] = [];
    const otherServer = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: (request) => {
        caught.push(request);
        return Response.json({ data: [] });
      },
    });
    try {
      for (const status of [301, 302, 303, 307, 308]) {
        const location = `http://127.0.0.1:${otherServer.port}/v1/embeddings`;
        fake.clear();
        fake.script({ response: { status, headers: { location } } }, { times: 3 });
        const response = await send.embeddings(setup);
        expect(response.headers.get("location")).toBeNull();
        await expectError(setup, response, failedAfterRetries);
      }
      expect(caught).toHaveLength(0);
    } finally {
      otherServer.stop(true);
    }
  });

  test("the log has neither keys nor messages", async () => {
    fake.script({ fail: "credentials" });
    await send.embeddings(setup, { input: ["a very private text"] });
    const log = setup.gateway.log();
    expect(log).toContain("upstream_credentials");
    for (const secret of [upstreamKey, upstreamToken, testKey, "a very private text"]) {
      expect(log).not.toContain(secret);
    }
  });

  test("when the error is nested too deeply to parse", async () => {
    const deep = `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`.slice(0, 60_000);
    const body = `{"error":{"message":"m","code":"moderation_blocked","moderation_details":${"[".repeat(9_000)}${"]".repeat(9_000)}}}`;
    for (const text of [deep, body]) {
      fake.script({
        response: { status: 400, headers: { "content-type": "application/json" }, body: text },
      });
      const response = await send.embeddings(setup);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: { message: expect.any(String) } });
    }
  });
});
