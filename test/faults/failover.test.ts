/** Two upstreams behind a model: when the first fails the second answers, unless a picture might be paid for twice. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { fakeImage, type InjectedFault } from "../fake-upstream.ts";
import {
  ask,
  expectRefused,
  expectVectors,
  nowhere,
  rowOf,
  startBroken,
} from "./faults-fixture.ts";

const broken = startBroken({ upstreams: 2, settings: { VEXEL_IMAGES_TIMEOUT: "1" } });
const [first, second] = broken.fakes as [(typeof broken.fakes)[0], (typeof broken.fakes)[0]];
const orphaned = startBroken({ upstreams: 2, elsewhere: [nowhere] });
beforeEach(() => {
  for (const fake of [...broken.fakes, ...orphaned.fakes]) fake.clear();
});
afterAll(async () => {
  await broken.close();
  await orphaned.close();
});

const refusal = (status: number, code: string): InjectedFault => ({
  reply: {
    status,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ error: { message: "no", type: "invalid_request_error", code } }),
  },
});
const picture = Buffer.from(
  fakeImage("an otter", 0, { format: "png", width: 1024, height: 1024 }),
).toString("base64");

/** Certain not to have been done, so certain not to be charged. */
const unpaid: readonly [string, InjectedFault][] = [
  ["is at its rate limit", { fail: "rate-limit" }],
  ["is asked too quickly", { fail: "slow-down" }],
  ["has no credit", { fail: "quota" }],
  ["is overloaded", { fail: "overloaded" }],
  ["does not take the gateway's key", { fail: "credentials" }],
  ["breaks down and says so itself", { fail: "server-error" }],
];
const maybePaid: readonly [string, InjectedFault][] = [
  ["breaks down, as somebody says", { fail: "html" }],
  ["has a bad gateway before it", { fail: "bad-gateway" }],
  ["gives up waiting", refusal(504, "timeout")],
  ["resets the connection before its answer", { reset: "before-headers" }],
  ["resets the connection in its headers", { reset: "mid-headers" }],
  ["resets the connection in its answer", { reset: "mid-body" }],
  ["closes the connection before its answer", { close: "before-headers" }],
  ["answers half a document", { body: "truncated" }],
  ["answers HTML", { body: "html" }],
  ["points elsewhere", { redirect: "http://127.0.0.1:9/" }],
];

describe("embeddings are asked of the second upstream when the first", () => {
  test.each([
    ...unpaid,
    ...maybePaid,
    ["gives too few vectors", { vectors: "missing" }],
    ["gives vectors that are no numbers", { vectors: "nan" }],
    ["gives vectors of zeros", { vectors: "zero" }],
  ] as [string, InjectedFault][])("%s", async (_, fault) => {
    // Twice: a kept connection that ends without a word is tried once more on a new one.
    first.script(fault, { times: 2 });
    const response = await ask.embeddings(broken);
    await expectVectors(response);
    expect(rowOf(broken, response)).toMatchObject({
      status: 200,
      error: null,
      attempts: 2,
      upstream: "hidden-1",
    });
    const silent = "reset" in fault || "close" in fault;
    expect([1, silent ? 2 : 1]).toContain(first.requests.length);
    expect(second.requests).toHaveLength(1);
  });

  test("is not there", async () => {
    const response = await ask.embeddings(orphaned);
    await expectVectors(response);
    expect(rowOf(orphaned, response)).toMatchObject({ attempts: 2, upstream: "hidden-1" });
  });
});

describe("embeddings are not asked twice", () => {
  test.each<[string, InjectedFault]>([
    ["when the first upstream answers", {}],
    ["when the request itself is wrong", refusal(400, "invalid_value")],
    ["when the spending limit is reached", { fail: "billing" }],
  ])("%s", async (_, fault) => {
    first.script(fault);
    const response = await ask.embeddings(broken);
    expect(rowOf(broken, response)).toMatchObject({ attempts: 1, upstream: "hidden-0" });
    expect(second.requests).toHaveLength(0);
  });
});

test("embeddings that are too large for one call go to the first upstream in smaller ones", async () => {
  first.script(refusal(413, "too_large"));
  const response = await ask.embeddings(broken);
  await expectVectors(response);
  expect(first.requests).toHaveLength(3);
  expect(second.requests).toHaveLength(0);
});

test("an embedding that is too large by itself is asked for once", async () => {
  first.script(refusal(413, "too_large"));
  const response = await ask.embeddings(broken, { input: "a" });
  expect(response.status).toBe(413);
  expect([first.requests.length, second.requests.length]).toEqual([1, 0]);
});

describe("a picture is ordered at the second upstream when the first", () => {
  test.each(unpaid)("%s", async (_, fault) => {
    for (const stream of [false, true]) {
      broken.gateway.resetTargets();
      first.script(fault);
      const response = await ask.picture(broken, { stream });
      expect(await response.text()).toContain(picture);
      expect(rowOf(broken, response)).toMatchObject({ status: 200, attempts: 2, images: 1 });
    }
    expect([first.requests.length, second.requests.length]).toEqual([2, 2]);
  });

  test("is not there", async () => {
    const response = await ask.picture(orphaned);
    expect(await response.json()).toMatchObject({ data: [{ b64_json: picture }] });
    expect(rowOf(orphaned, response)).toMatchObject({ attempts: 2, upstream: "hidden-1" });
  });
});

describe("a picture that may have been paid for is not ordered again when the first upstream", () => {
  test.each([...maybePaid, ["sends garbage for a picture", { images: "garbage" }]] as [
    string,
    InjectedFault,
  ][])("%s", async (_, fault) => {
    first.script(fault);
    const response = await ask.picture(broken);
    expect(response.status).toBeGreaterThanOrEqual(502);
    expect(rowOf(broken, response)).toMatchObject({
      attempts: 1,
      upstream: "hidden-0",
      images: null,
    });
    expect([first.requests.length, second.requests.length]).toEqual([1, 0]);
  });

  test("lets the time run out", async () => {
    first.script({ hang: "headers" });
    await expectRefused(broken, await ask.picture(broken), {
      status: 504,
      type: "server_error",
      code: "upstream_timeout",
      error: "upstream_timeout",
    });
    expect(second.requests).toHaveLength(0);
  });

  test("breaks its stream off", async () => {
    first.script({ stream: "cut" });
    const response = await ask.picture(broken, { stream: true, partial_images: 1 });
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
  ])("goes to the second upstream whole, when the first refuses %s", async (_, fault) => {
    first.script(fault);
    const form = new FormData();
    form.append("model", "painter");
    form.append("prompt", "an otter");
    form.append("image", new Blob([large]), "large.png");
    form.append("image", new Blob([small]), "small.png");
    const response = await ask.edit(broken, form);
    expect(await response.json()).toMatchObject({ data: [{ b64_json: picture }] });
    const files = second.requests[0]!.form!.filter(({ filename }) => filename !== undefined);
    expect(files.map((file) => [file.field, file.sha256])).toEqual([
      ["image[]", sha256(large)],
      ["image[]", sha256(small)],
    ]);
    expect(rowOf(broken, response)).toMatchObject({ attempts: 2, status: 200 });
  });
});

describe("when both fail", () => {
  test("the second one's failure is told, with two attempts in the row", async () => {
    first.script({ fail: "server-error" });
    second.script({ fail: "rate-limit", retryAfter: 9 });
    const response = await ask.embeddings(broken);
    expect(response.headers.get("retry-after")).toBe("9");
    await expectRefused(broken, response, {
      status: 429,
      type: "tokens",
      code: "rate_limit_exceeded",
      error: "upstream_rate_limit",
      attempts: 2,
    });
  });
});
