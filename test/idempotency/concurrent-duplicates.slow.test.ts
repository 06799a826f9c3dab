/**
 * Concurrent requests with one Idempotency-Key: one is sent upstream at a time, and what may have been billed is not
 * sent again.
 */

import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { arrange } from "../conformance/arrange.ts";
import type { InjectedFault } from "../fake-upstream.ts";
import { testKey } from "../harness.ts";
import { until } from "../until.ts";

const { fake, gateway, close } = arrange({
  yaml: (url) => `
upstreams:
  - { id: fake, kind: openai, baseUrl: "${url}", apiKey: sk-fake }
models:
  - { id: image-model, kind: image, targets: [{ upstream: fake, model: gpt-image-2 }] }
  - { id: short-timeout-model, kind: image, timeout: 2, targets: [{ upstream: fake, model: gpt-image-2 }] }
  - { id: retry-paid-model, kind: image, retryPaid: true, targets: [{ upstream: fake, model: gpt-image-2 }] }
  - { id: cancel-model, kind: image, onDisconnect: cancel, targets: [{ upstream: fake, model: gpt-image-2 }] }
keys:
  - { name: test, key: ${testKey} }
`,
});
beforeEach(() => {
  fake.clear();
  gateway.resetTargets();
});
afterAll(() => close());

const upstreamRequests = (): number =>
  fake.requests.filter(({ method }) => method === "POST").length;
const newKey = () => ({ "idempotency-key": crypto.randomUUID() });
const generate = (headers: Record<string, string>, more: object = {}, signal?: AbortSignal) =>
  fetch(`${gateway.url}/v1/images/generations`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${testKey}`,
      "content-type": "application/json",
      ...headers,
    },
    body: JSON.stringify({ model: "image-model", prompt: "an otter", ...more }),
    ...(signal && { signal }),
  });
const codeOf = async (response: Response) =>
  ((await response.json()) as { error: { code: string | null } }).error.code;
/** Sends `count` duplicates; the upstream responds to the first once the others wait for it. */
async function sendDuplicates(
  count: number,
  fault: InjectedFault,
  headers = newKey(),
  more: object = {},
) {
  const all = Promise.withResolvers<void>();
  fake.script({ ...fault, until: all.promise });
  fake.script(fault, { times: 99 });
  const responses = Array.from({ length: count }, () => generate(headers, more));
  await until(() => gateway.inFlight() === count && upstreamRequests() === 1);
  // The others need turns of the event loop to reach the first one. A single long sleep may be one turn on a busy
  // machine.
  for (let turn = 0; turn < 50; turn++) await Bun.sleep(1);
  all.resolve();
  return Promise.all(responses);
}

describe("ten concurrent requests with one key send one upstream request when", () => {
  test.each<[string, InjectedFault, number, string]>([
    ["the upstream fails", { fail: "server-error" }, 502, "upstream_error"],
    ["the connection breaks", { reset: "before-headers" }, 502, "upstream_unreachable"],
    ["the upstream times out", { hang: "headers" }, 504, "upstream_timeout"],
    ["the response is not an image", { images: "garbage" }, 502, "upstream_invalid"],
  ])("%s, and all of them get the error", async (_, fault, status, code) => {
    const more = fault.hang ? { model: "short-timeout-model" } : {};
    const responses = await sendDuplicates(10, fault, newKey(), more);
    expect(responses.map((response) => response.status)).toEqual(Array(10).fill(status));
    // Their clients would retry automatically, each with the same key.
    expect(responses.map((response) => response.headers.get("x-should-retry"))).toEqual(
      Array(10).fill("false"),
    );
    expect(new Set(await Promise.all(responses.map(codeOf)))).toEqual(new Set([code]));
    expect(upstreamRequests()).toBe(1);
  });

  test("a stream fails", async () => {
    const responses = await sendDuplicates(10, { fail: "server-error" }, newKey(), {
      stream: true,
    });
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([502]));
    expect(upstreamRequests()).toBe(1);
  });

  test("a stream fails after its first event", async () => {
    const more = { stream: true, partial_images: 1 };
    const responses = await sendDuplicates(
      10,
      { eventDelayMs: 100, stream: "cut" },
      newKey(),
      more,
    );
    const streams = responses.filter(({ status }) => status === 200);
    expect(streams).toHaveLength(1);
    expect(await streams[0]?.text()).toContain("event: error");
    for (const response of responses) {
      if (response.status === 200) continue;
      expect(response.status).toBe(502);
      expect(response.headers.get("x-should-retry")).toBe("false");
    }
    expect(upstreamRequests()).toBe(1);
  });

  test("the prompt is refused, which a retry does not change", async () => {
    const responses = await sendDuplicates(10, {}, newKey(), { prompt: "a Forbidden otter" });
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([400]));
    expect(upstreamRequests()).toBe(1);
  });
});

describe("with one key", () => {
  test("each request that only waited has a ledger row that names the failed request", async () => {
    const before = gateway.rows().length;
    await sendDuplicates(3, { fail: "server-error" });
    await until(() => gateway.rows().length === before + 3);
    const rows = gateway.rows().slice(before);
    const [first, ...others] = rows.toSorted((a, b) => b.attempts - a.attempts);
    expect(first).toMatchObject({ error: "upstream_error", attempts: 1 });
    expect(others).toHaveLength(2);
    for (const row of others) {
      expect(row).toMatchObject({ error: "upstream_error", attempts: 0, images: null });
      expect(row.steps).toBe(`failed with: ${first?.requestId}`);
    }
  });

  test("a request after the failure is sent upstream again", async () => {
    const key = newKey();
    const failed = await sendDuplicates(3, { fail: "server-error" }, key);
    expect(failed.map(({ status }) => status)).toEqual([502, 502, 502]);
    expect(upstreamRequests()).toBe(1);
    fake.clear();
    expect((await generate(key)).status).toBe(200);
    expect(upstreamRequests()).toBe(1);
  });

  test("each request is sent upstream, one after the other, for a model with retryPaid", async () => {
    const responses = await sendDuplicates(3, { fail: "server-error" }, newKey(), {
      model: "retry-paid-model",
    });
    expect(responses.map(({ status }) => status)).toEqual([502, 502, 502]);
    // The gateway makes three attempts for each.
    expect(upstreamRequests()).toBe(9);
  });

  test("a waiter whose predecessor disconnected sends the canceled request itself", async () => {
    const key = newKey();
    fake.script({ hang: "headers" });
    const controller = new AbortController();
    const detached = generate(key, { model: "cancel-model" }, controller.signal).catch(
      () => "disconnected",
    );
    await until(() => upstreamRequests() === 1);
    const second = generate(key, { model: "cancel-model" });
    await until(() => gateway.inFlight() === 2);
    await Bun.sleep(50);
    controller.abort();
    await detached;
    expect((await second).status).toBe(200);
    expect(upstreamRequests()).toBe(2);
  });
});

test("a retry after a disconnect gets the failure of the detached request, and no second upstream request is sent", async () => {
  const waits = Promise.withResolvers<void>();
  fake.script({ until: waits.promise, fail: "server-error" });
  const controller = new AbortController();
  const id = crypto.randomUUID();
  const more = { prompt: "detached and failed" };
  const detached = generate({ "x-client-request-id": id }, more, controller.signal).catch(
    () => "disconnected",
  );
  await until(() => upstreamRequests() === 1);
  controller.abort();
  await detached;
  const authorization = `Bearer ${testKey}`;
  const getResult = () =>
    fetch(`${gateway.url}/v1/images/results/${id}`, { headers: { authorization } });
  while ((await getResult()).status !== 202) await Bun.sleep(5);
  const sending = generate({}, more);
  await until(() => gateway.inFlight() === 2);
  await Bun.sleep(50);
  waits.resolve();
  const retried = await sending;
  expect(retried.status).toBe(502);
  expect(retried.headers.get("x-should-retry")).toBe("false");
  expect(upstreamRequests()).toBe(1);
  expect((await generate({}, more)).status).toBe(200);
});
