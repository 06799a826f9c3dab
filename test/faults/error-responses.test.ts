/** Error responses of upstreams: the client gets the meaning, and nothing of the gateway's internals. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import type { InjectedFault } from "../fake-upstream.ts";
import { testKey } from "../harness.ts";
import {
  ask,
  expectRefused,
  type Refused,
  startBroken,
  upstreamKey,
  upstreamToken,
} from "./faults-fixture.ts";

const broken = startBroken();
const { fake } = broken;
beforeEach(() => fake.clear());
afterAll(() => broken.close());

const failed: Refused = {
  status: 502,
  type: "server_error",
  code: "upstream_error",
  error: "upstream_error",
};
/** Vectors are asked for twice more, as it may pass. */
const passing: Refused = { ...failed, attempts: 3 };
const said = (
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): InjectedFault => ({
  reply: {
    status,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  },
});

describe("an upstream's failure is told as what it is", () => {
  test.each<[string, InjectedFault, Refused]>([
    [
      "a rate limit",
      { fail: "rate-limit" },
      { status: 429, type: "tokens", code: "rate_limit_exceeded", error: "upstream_rate_limit" },
    ],
    [
      "too quick a rise",
      { fail: "slow-down" },
      { status: 429, type: "rate_limit_error", code: "slow_down", error: "slow_down" },
    ],
    [
      "no credit",
      { fail: "quota" },
      {
        status: 429,
        type: "insufficient_quota",
        code: "insufficient_quota",
        error: "insufficient_quota",
      },
    ],
    [
      "a newer name for no credit",
      said(429, { error: { message: "x", type: "billing", code: "credit_balance_exhausted" } }),
      {
        status: 429,
        type: "billing",
        code: "credit_balance_exhausted",
        error: "insufficient_quota",
      },
    ],
    [
      "a spending limit",
      { fail: "billing" },
      {
        status: 400,
        type: "invalid_request_error",
        code: "billing_hard_limit_reached",
        error: "billing_hard_limit_reached",
      },
    ],
    [
      "a key it does not take, which is not the caller's key",
      { fail: "credentials" },
      {
        status: 502,
        type: "server_error",
        code: "upstream_credentials",
        error: "upstream_credentials",
      },
    ],
    [
      "a model its account may not use",
      { fail: "forbidden" },
      {
        status: 403,
        type: "invalid_request_error",
        code: "model_not_found",
        error: "upstream_forbidden",
      },
    ],
    [
      "a model it does not have",
      said(404, {
        error: {
          message: "The model `house-embedder-1` does not exist",
          type: "invalid_request_error",
          code: "model_not_found",
        },
      }),
      {
        status: 404,
        type: "invalid_request_error",
        code: "model_not_found",
        error: "model_not_found",
      },
    ],
    ["a path it does not have", { fail: "detail" }, failed],
    ["a breakdown", { fail: "server-error" }, passing],
    ["a breakdown in HTML", { fail: "html" }, passing],
    ["a bad gateway before it", { fail: "bad-gateway" }, passing],
    [
      "too much to do",
      { fail: "overloaded" },
      {
        status: 503,
        type: "service_unavailable_error",
        code: "server_is_overloaded",
        error: "upstream_overloaded",
        attempts: 3,
      },
    ],
    [
      "its own timeout",
      said(504, "late"),
      {
        ...{ status: 504, type: "server_error", code: "upstream_timeout" },
        ...{ error: "upstream_timeout", attempts: 3 },
      },
    ],
    [
      "what Azure's filter refuses",
      said(400, { error: { message: "filtered", code: "content_filter", status: 400 } }),
      {
        status: 400,
        type: "image_generation_user_error",
        code: "content_filter",
        error: "moderation_blocked",
      },
    ],
    [
      "an error that is only text",
      said(400, { error: "input is too odd" }),
      { status: 400, type: "invalid_request_error", code: null, error: "upstream_rejected" },
    ],
    [
      "an error with a number for a code",
      said(400, { object: "error", message: "too long", type: "BadRequestError", code: 400 }),
      { status: 400, type: "BadRequestError", code: null, error: "upstream_rejected" },
    ],
    ["an error without anything", said(500, null), passing],
    ["a status nobody knows", said(418, {}), passing],
  ])("%s", async (_, fault, refused) => {
    fake.script(fault, { times: 9 });
    await expectRefused(broken, await ask.embeddings(broken), refused);
    expect(fake.requests).toHaveLength(refused.attempts ?? 1);
  });

  test("a body too large for it, in HTML", async () => {
    fake.script({ fail: "too-large" });
    // One input: several would travel in smaller calls.
    await expectRefused(broken, await ask.embeddings(broken, { input: "a" }), {
      status: 413,
      type: "invalid_request_error",
      code: null,
      error: "upstream_rejected",
    });
    expect(fake.requests).toHaveLength(1);
  });

  test("the upstream's words are kept where they speak of the caller's request", async () => {
    fake.script(said(400, { detail: "Input 3 is too odd." }));
    const response = await ask.embeddings(broken);
    expect(await response.json()).toMatchObject({ error: { message: "Input 3 is too odd." } });
  });

  test("FastAPI's list of complaints is put into words", async () => {
    const detail = [{ loc: ["body", "input"], msg: "Input should be a valid string", type: "x" }];
    fake.script(said(422, { detail }));
    const error = await expectRefused(broken, await ask.embeddings(broken), {
      status: 422,
      type: "invalid_request_error",
      code: null,
      error: "upstream_rejected",
    });
    expect(error.message).toContain("Input should be a valid string");
  });
});

describe("an answer that no retry can help says so, and only that one", () => {
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
    const response = await ask.embeddings(broken);
    expect(response.headers.get("x-should-retry")).toBe(header);
  });
});

describe("how long to wait is passed on", () => {
  const hints = async (fault: InjectedFault) => {
    fake.script({ fail: "rate-limit", ...fault });
    const { headers } = await ask.embeddings(broken);
    return [headers.get("retry-after"), headers.get("retry-after-ms")];
  };

  test("in seconds", async () => {
    expect(await hints({ retryAfter: 7 })).toEqual(["7", "7000"]);
  });

  test("in milliseconds, as Azure says it, also to clients that read only seconds", async () => {
    expect(await hints({ retryAfterMs: 1500 })).toEqual(["2", "1500"]);
  });

  test("in milliseconds where both are given", async () => {
    expect(await hints({ retryAfter: 2, retryAfterMs: 1234 })).toEqual(["2", "1234"]);
  });

  test("as a date", async () => {
    const soon = new Date(Date.now() + 30_000).toUTCString();
    const [seconds] = await hints({ retryAfter: soon });
    expect(Number(seconds)).toBeWithin(25, 32);
  });

  test.each(["", "soon", "-5e999", "NaN"])("not at all when it is %j", async (retryAfter) => {
    expect(await hints({ retryAfter })).toEqual([null, null]);
  });

  test("as a number that fits into a header, however large it was", async () => {
    const [seconds, ms] = await hints({ retryAfter: "1e300" });
    expect(seconds).toMatch(/^\d{1,7}$/);
    expect(ms).toMatch(/^\d{1,10}$/);
  });

  test("when the upstream is overloaded, too", async () => {
    fake.script({ fail: "overloaded", retryAfter: 4 });
    expect((await ask.embeddings(broken)).headers.get("retry-after")).toBe("4");
  });
});

describe("what stands behind the gateway stays there", () => {
  test("when the upstream puts everything it knows into its words", async () => {
    const host = new URL(fake.url).host;
    const message = `Key ${upstreamKey} with ${upstreamToken} (also sk-proj-abcdefgh12345678) of org-AbCdEf123456 in proj_AbCdEf123456 may not use house-embedder-1 at ${fake.url}/embeddings on ${host}; see https://platform.openai.com/docs.`;
    fake.script(
      said(400, { error: { message, type: upstreamKey, code: upstreamKey, param: upstreamKey } }),
    );
    const response = await ask.embeddings(broken);
    const error = await expectRefused(broken, response, {
      status: 400,
      type: "***",
      code: "***",
      error: "upstream_rejected",
    });
    expect(error.param).toBe("***");
    expect(error.message).not.toContain("abcdefgh12345678");
    expect(error.message).not.toContain("AbCdEf123456");
    expect(error.message).toContain("may not use vectors");
    expect(error.message).toContain("https://platform.openai.com/docs");
  });

  test("when its words are ordinary ones, which are left alone", async () => {
    const message = "The user-provided org-wide key-value list is no user_input at all.";
    fake.script(said(400, { error: { message } }));
    const response = await ask.embeddings(broken);
    const { error } = (await response.json()) as { error: { message: string } };
    expect(error.message).toContain("user-provided");
    expect(error.message).toContain("key-value");
    expect(error.message).toContain("user_input");
  });

  test("when a redirect asks for the key at another place", async () => {
    const caught: Request[] = [];
    const elsewhere = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: (request) => {
        caught.push(request);
        return Response.json({ data: [] });
      },
    });
    try {
      for (const status of [301, 302, 303, 307, 308]) {
        const location = `http://127.0.0.1:${elsewhere.port}/v1/embeddings`;
        fake.clear();
        fake.script({ reply: { status, headers: { location } } }, { times: 3 });
        const response = await ask.embeddings(broken);
        expect(response.headers.get("location")).toBeNull();
        await expectRefused(broken, response, passing);
      }
      expect(caught).toHaveLength(0);
    } finally {
      elsewhere.stop(true);
    }
  });

  test("in the log, too: neither keys nor what was said", async () => {
    fake.script({ fail: "credentials" });
    await ask.embeddings(broken, { input: ["a very private text"] });
    const log = broken.gateway.log();
    expect(log).toContain("upstream_credentials");
    for (const secret of [upstreamKey, upstreamToken, testKey, "a very private text"]) {
      expect(log).not.toContain(secret);
    }
  });

  test("when its error is nested deeper than any program would read", async () => {
    const deep = `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`.slice(0, 60_000);
    const body = `{"error":{"message":"m","code":"moderation_blocked","moderation_details":${"[".repeat(9_000)}${"]".repeat(9_000)}}}`;
    for (const text of [deep, body]) {
      fake.script({
        reply: { status: 400, headers: { "content-type": "application/json" }, body: text },
      });
      const response = await ask.embeddings(broken);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: { message: expect.any(String) } });
    }
  });
});
