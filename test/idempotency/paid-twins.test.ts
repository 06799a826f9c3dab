/** Calls with one Idempotency-Key are one call: one is made at a time, and what may have been paid for is not ordered again. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { arrange, until } from "../conformance/arrange.ts";
import type { Mischief } from "../fake-upstream.ts";
import { testKey } from "../harness.ts";

const { fake, gateway, close } = arrange({
  yaml: (url) => `
upstreams:
  - { id: fake, kind: openai, baseUrl: "${url}", apiKey: sk-fake }
models:
  - { id: painter, kind: image, timeout: 2, targets: [{ upstream: fake, model: gpt-image-2 }] }
  - { id: reckless, kind: image, retryPaid: true, targets: [{ upstream: fake, model: gpt-image-2 }] }
  - { id: hasty, kind: image, onDisconnect: cancel, targets: [{ upstream: fake, model: gpt-image-2 }] }
keys:
  - { name: test, key: ${testKey} }
`,
});
beforeEach(() => {
  fake.clear();
  gateway.forgetTargets();
});
afterAll(() => close());

const orders = (): number => fake.requests.filter(({ method }) => method === "POST").length;
const newKey = () => ({ "idempotency-key": crypto.randomUUID() });
const draw = (headers: Record<string, string>, more: object = {}, signal?: AbortSignal) =>
  fetch(`${gateway.url}/v1/images/generations`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${testKey}`,
      "content-type": "application/json",
      ...headers,
    },
    body: JSON.stringify({ model: "painter", prompt: "an otter", ...more }),
    ...(signal && { signal }),
  });
const codeOf = async (answer: Response) =>
  ((await answer.json()) as { error: { code: string | null } }).error.code;
/** So many at once, and the upstream goes on with the first when the others wait for it. */
async function twins(count: number, mischief: Mischief, headers = newKey(), more: object = {}) {
  const all = Promise.withResolvers<void>();
  fake.script({ ...mischief, until: all.promise });
  fake.script(mischief, { times: 99 });
  const answers = Array.from({ length: count }, () => draw(headers, more));
  await until(() => gateway.inHand() === count && orders() === 1);
  await Bun.sleep(50);
  all.resolve();
  return Promise.all(answers);
}

describe("ten calls with one key at the same time order one picture when", () => {
  test.each<[string, Mischief, number, string]>([
    ["the upstream fails", { fail: "server-error" }, 502, "upstream_error"],
    ["the connection breaks", { reset: "before-headers" }, 502, "upstream_unreachable"],
    ["no answer comes in time", { hang: "headers" }, 504, "upstream_timeout"],
    ["what comes is no picture", { images: "garbage" }, 502, "upstream_invalid"],
  ])("%s, and all of them are told", async (_, mischief, status, code) => {
    const answers = await twins(10, mischief);
    expect(answers.map((answer) => answer.status)).toEqual(Array(10).fill(status));
    // Their clients would try again by themselves, each with the same key.
    expect(answers.map((answer) => answer.headers.get("x-should-retry"))).toEqual(
      Array(10).fill("false"),
    );
    expect(new Set(await Promise.all(answers.map(codeOf)))).toEqual(new Set([code]));
    expect(orders()).toBe(1);
  });

  test("a stream fails", async () => {
    const answers = await twins(10, { fail: "server-error" }, newKey(), { stream: true });
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([502]));
    expect(orders()).toBe(1);
  });

  test("a stream that has begun breaks off", async () => {
    const more = { stream: true, partial_images: 1 };
    const answers = await twins(10, { eventDelayMs: 100, stream: "cut" }, newKey(), more);
    const begun = answers.filter(({ status }) => status === 200);
    expect(begun).toHaveLength(1);
    expect(await begun[0]?.text()).toContain("event: error");
    for (const answer of answers) {
      if (answer.status === 200) continue;
      expect(answer.status).toBe(502);
      expect(answer.headers.get("x-should-retry")).toBe("false");
    }
    expect(orders()).toBe(1);
  });

  test("the prompt is refused, which asking again does not change", async () => {
    const answers = await twins(10, {}, newKey(), { prompt: "a Forbidden otter" });
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([400]));
    expect(orders()).toBe(1);
  });
});

describe("of calls with one key", () => {
  test("each that only waited has its row, which names the one that failed", async () => {
    const before = gateway.rows().length;
    await twins(3, { fail: "server-error" });
    await until(() => gateway.rows().length === before + 3);
    const rows = gateway.rows().slice(before);
    const [asked, ...others] = rows.toSorted((a, b) => b.attempts - a.attempts);
    expect(asked).toMatchObject({ error: "upstream_error", attempts: 1 });
    expect(others).toHaveLength(2);
    for (const row of others) {
      expect(row).toMatchObject({ error: "upstream_error", attempts: 0, images: null });
      expect(row.steps).toBe(`failed with: ${asked?.requestId}`);
    }
  });

  test("one that comes after the failure was told tries anew", async () => {
    const key = newKey();
    const told = await twins(3, { fail: "server-error" }, key);
    expect(told.map(({ status }) => status)).toEqual([502, 502, 502]);
    expect(orders()).toBe(1);
    fake.clear();
    expect((await draw(key)).status).toBe(200);
    expect(orders()).toBe(1);
  });

  test("each tries anew, one after the other, where the model says that a picture may be paid for twice", async () => {
    const answers = await twins(3, { fail: "server-error" }, newKey(), { model: "reckless" });
    expect(answers.map(({ status }) => status)).toEqual([502, 502, 502]);
    // Each of them tries three times by itself.
    expect(orders()).toBe(9);
  });

  test("one that waits is not told that another hung up, and makes the call that was ended for it", async () => {
    const key = newKey();
    fake.script({ hang: "headers" });
    const leaver = new AbortController();
    const left = draw(key, { model: "hasty" }, leaver.signal).catch(() => "we hung up ourselves");
    await until(() => orders() === 1);
    const second = draw(key, { model: "hasty" });
    await until(() => gateway.inHand() === 2);
    await Bun.sleep(50);
    leaver.abort();
    await left;
    expect((await second).status).toBe(200);
    expect(orders()).toBe(2);
  });
});

test("whoever asks again for what they left is told that it failed, and it is not ordered again unasked", async () => {
  const waits = Promise.withResolvers<void>();
  fake.script({ until: waits.promise, fail: "server-error" });
  const leaver = new AbortController();
  const id = crypto.randomUUID();
  const more = { prompt: "left, and failed" };
  const left = draw({ "x-client-request-id": id }, more, leaver.signal).catch(() => "ourselves");
  await until(() => orders() === 1);
  leaver.abort();
  await left;
  const authorization = `Bearer ${testKey}`;
  const look = () =>
    fetch(`${gateway.url}/v1/images/results/${id}`, { headers: { authorization } });
  while ((await look()).status !== 202) await Bun.sleep(5);
  const asking = draw({}, more);
  await until(() => gateway.inHand() === 2);
  await Bun.sleep(50);
  waits.resolve();
  const again = await asking;
  expect(again.status).toBe(502);
  expect(again.headers.get("x-should-retry")).toBe("false");
  expect(orders()).toBe(1);
  expect((await draw({}, more)).status).toBe(200);
});
