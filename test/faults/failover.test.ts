/** Failover: when the first of two upstreams fails the second serves, unless an image might be billed twice. */

import { beforeEach, describe, expect, test } from "bun:test";
import { closeAfterAll } from "../clean-up.ts";
import { fakeImage, type InjectedFault } from "../fake-upstream.ts";
import {
  expectError,
  expectVectors,
  jsonResponse,
  rowOf,
  send,
  startFaultSetup,
  unreachableUrl,
  upstreamFailure,
} from "./faults-fixture.ts";

const setup = startFaultSetup({ upstreams: 2 });
const shortTimeout = startFaultSetup({ upstreams: 2, settings: { VEXEL_IMAGES_TIMEOUT: "1" } });
const [first, second] = setup.fakes as [(typeof setup.fakes)[0], (typeof setup.fakes)[0]];
const firstUnreachable = startFaultSetup({ upstreams: 2, addresses: [unreachableUrl] });
beforeEach(() => {
  for (const fake of [...setup.fakes, ...firstUnreachable.fakes]) fake.clear();
});
closeAfterAll(setup, shortTimeout, firstUnreachable);

const refusal = (
  status: number,
  code: string | null,
  type = "invalid_request_error",
): InjectedFault => jsonResponse({ error: { message: "no", type, code } }, status);
const image = Buffer.from(
  fakeImage("an otter", 0, { format: "png", width: 1024, height: 1024 }),
).toString("base64");

/** The work was certainly not done, so it is not billed. */
const notBilled: readonly [string, InjectedFault][] = [
  ["is at its rate limit", { fail: "rate-limit" }],
  ["returns slow_down", { fail: "slow-down" }],
  ["has no credit", { fail: "quota" }],
  ["has no credit, with status 403", refusal(403, "insufficient_quota", "insufficient_quota")],
  ["has reached its spending limit", { fail: "billing" }],
  ["has no such model", refusal(404, "model_not_found")],
  ["does not permit the request", refusal(403, null)],
  ["is overloaded", { fail: "overloaded" }],
  ["rejects the gateway's key", { fail: "credentials" }],
  ["returns its own server error", { fail: "server-error" }],
];
const maybeBilled: readonly [string, InjectedFault][] = [
  ["returns a server error in HTML", { fail: "html" }],
  ["is behind a proxy that returns 502", { fail: "bad-gateway" }],
  ["returns 504", refusal(504, "timeout")],
  ["resets the connection before its response", { reset: "before-headers" }],
  ["resets the connection in its headers", { reset: "mid-headers" }],
  ["resets the connection within its body", { reset: "mid-body" }],
  ["closes the connection before its response", { close: "before-headers" }],
  ["returns a truncated document", { body: "truncated" }],
  ["returns HTML", { body: "html" }],
  ["redirects", { redirect: "http://127.0.0.1:9/" }],
];

describe("an embeddings request fails over to the second upstream when the first", () => {
  test.each([
    ...notBilled,
    ...maybeBilled,
    ["gives too few vectors", { vectors: "missing" }],
    ["gives vectors that are no numbers", { vectors: "nan" }],
    ["gives vectors of zeros", { vectors: "zero" }],
  ] as [string, InjectedFault][])("%s", async (_, fault) => {
    // Twice: if a reused connection closes without a response, the request is sent once more on a new connection.
    first.script(fault, { times: 2 });
    const response = await send.embeddings(setup);
    await expectVectors(response);
    expect(rowOf(setup, response)).toMatchObject({
      status: 200,
      error: null,
      attempts: 2,
      upstream: "hidden-1",
    });
    const silent = "reset" in fault || "close" in fault;
    expect([1, silent ? 2 : 1]).toContain(first.requests.length);
    expect(second.requests).toHaveLength(1);
  });

  test("is unreachable", async () => {
    const response = await send.embeddings(firstUnreachable);
    await expectVectors(response);
    expect(rowOf(firstUnreachable, response)).toMatchObject({ attempts: 2, upstream: "hidden-1" });
  });
});

describe("an embeddings request is sent once", () => {
  test.each<[string, InjectedFault]>([
    ["when the first upstream responds", {}],
    ["when the request is invalid", refusal(400, "invalid_value")],
  ])("%s", async (_, fault) => {
    first.script(fault);
    const response = await send.embeddings(setup);
    expect(rowOf(setup, response)).toMatchObject({ attempts: 1, upstream: "hidden-0" });
    expect(second.requests).toHaveLength(0);
  });
});

test("an embeddings request that is too large for the first upstream is split, and stays there", async () => {
  first.script(refusal(413, "too_large"));
  const response = await send.embeddings(setup);
  await expectVectors(response);
  expect(first.requests).toHaveLength(3);
  expect(second.requests).toHaveLength(0);
});

test("a single input that is too large is sent once", async () => {
  first.script(refusal(413, "too_large"));
  const response = await send.embeddings(setup, { input: "a" });
  expect(response.status).toBe(413);
  expect([first.requests.length, second.requests.length]).toEqual([1, 0]);
});

describe("an image request fails over to the second upstream when the first", () => {
  test.each(notBilled)("%s", async (_, fault) => {
    for (const stream of [false, true]) {
      setup.gateway.resetTargets();
      first.script(fault);
      const response = await send.image(setup, { stream });
      expect(await response.text()).toContain(image);
      expect(rowOf(setup, response)).toMatchObject({ status: 200, attempts: 2, images: 1 });
    }
    expect([first.requests.length, second.requests.length]).toEqual([2, 2]);
  });

  test("is unreachable", async () => {
    const response = await send.image(firstUnreachable);
    expect(await response.json()).toMatchObject({ data: [{ b64_json: image }] });
    expect(rowOf(firstUnreachable, response)).toMatchObject({ attempts: 2, upstream: "hidden-1" });
  });
});

describe("an image that may have been billed is not requested again when the first upstream", () => {
  test.each([...maybeBilled, ["sends garbage instead of an image", { images: "garbage" }]] as [
    string,
    InjectedFault,
  ][])("%s", async (_, fault) => {
    first.script(fault);
    const response = await send.image(setup);
    expect(response.status).toBeGreaterThanOrEqual(502);
    expect(rowOf(setup, response)).toMatchObject({
      attempts: 1,
      upstream: "hidden-0",
      images: null,
    });
    expect([first.requests.length, second.requests.length]).toEqual([1, 0]);
  });

  test("times out", async () => {
    shortTimeout.fakes[0]!.script({ hang: "headers" });
    const timedOut = upstreamFailure("upstream_timeout", 504);
    await expectError(shortTimeout, await send.image(shortTimeout), timedOut);
    expect(shortTimeout.fakes[1]!.requests).toHaveLength(0);
  });

  test("breaks off its stream", async () => {
    first.script({ stream: "cut" });
    const response = await send.image(setup, { stream: true, partial_images: 1 });
    expect(await response.text()).toContain("event: error");
    expect(second.requests).toHaveLength(0);
  });
});

describe("an upload", () => {
  const large = Buffer.concat([
    fakeImage("large", 0, { format: "png", width: 64, height: 64 }),
    crypto.getRandomValues(Buffer.alloc(60_000)),
    ...Array.from({ length: 20 }, () => Buffer.alloc(60_000, 5)),
  ]);
  const small = Buffer.from(fakeImage("small", 0, { format: "png", width: 16, height: 16 }));
  const sha256 = (bytes: Uint8Array) => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");

  test.each<[string, InjectedFault]>([
    ["after it was read", { fail: "rate-limit" }],
    ["before it was read", { fail: "overloaded", early: true }],
  ])("reaches the second upstream complete when the first rejects it %s", async (_, fault) => {
    first.script(fault);
    const form = new FormData();
    form.append("model", "image-model");
    form.append("prompt", "an otter");
    form.append("image", new Blob([large]), "large.png");
    form.append("image", new Blob([small]), "small.png");
    const response = await send.edit(setup, form);
    expect(await response.json()).toMatchObject({ data: [{ b64_json: image }] });
    const files = second.requests[0]!.form!.filter(({ filename }) => filename !== undefined);
    expect(files.map((file) => [file.field, file.sha256])).toEqual([
      ["image[]", sha256(large)],
      ["image[]", sha256(small)],
    ]);
    expect(rowOf(setup, response)).toMatchObject({ attempts: 2, status: 200 });
  });
});

describe("when both upstreams fail", () => {
  test("the client gets the second error, and the ledger row has two attempts", async () => {
    first.script({ fail: "server-error" });
    second.script({ fail: "rate-limit", retryAfter: 9 });
    const response = await send.embeddings(setup);
    expect(response.headers.get("retry-after")).toBe("9");
    await expectError(setup, response, {
      status: 429,
      type: "tokens",
      code: "rate_limit_exceeded",
      error: "upstream_rate_limit",
      attempts: 2,
    });
  });
});
