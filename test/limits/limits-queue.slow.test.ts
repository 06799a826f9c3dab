/** Concurrency limits and their queue: fair queueing by key, queue timeouts, and refusals when the queue is full. */

import { describe, expect, test } from "bun:test";
import { until } from "../until.ts";
import { embedder, limitedTests, maxConcurrent, statuses, times } from "./limits-fixture.ts";

const start = limitedTests();

describe("a concurrency limit", () => {
  test.each([
    ["of a key", { keys: { one: "limits: { concurrent: 2 }" } }],
    [
      "of a project",
      {
        keys: { one: "project: shared" },
        projects: "  - { name: shared, limits: { concurrent: 2 } }",
      },
    ],
    ["of a model", { keys: { one: "" }, embedderLimits: "concurrent: 2" }],
    ["of an upstream", { keys: { one: "" }, upstreamLimits: "concurrent: 2" }],
    ["of a target", { keys: { one: "" }, targetLimits: "concurrent: 2" }],
  ])("%s is exact, and requests above it are queued and served", async (_, options) => {
    const { embed, fake } = start(options);
    fake.script({ delayMs: 30 }, { times: Infinity });
    const counts = await statuses(times(12, (at) => embed("one", `text ${at}`)));
    expect(Object.fromEntries(counts)).toEqual({ 200: 12 });
    expect(maxConcurrent(fake.requests)).toBe(2);
  });

  test("of an upstream applies to each chunk of a split request, and a request that has begun does not time out in the queue", async () => {
    const { client, fake } = start({
      keys: { one: "" },
      upstreamLimits: "concurrent: 1",
      settings: { VEXEL_MAX_INPUTS: "8000", VEXEL_QUEUE_TIMEOUT: "0.1" },
    });
    fake.script({ delayMs: 200 }, { times: Infinity });
    const { data } = await client().embeddings.create({
      model: embedder,
      input: times(7000, String),
      dimensions: 2,
    });
    expect(data).toHaveLength(7000);
    expect(fake.requests.length).toBe(4);
    expect(maxConcurrent(fake.requests)).toBe(1);
  });

  test("with a full queue sheds requests of the key with the most queued requests, so one key cannot lock out another", async () => {
    const { embed, fake } = start({
      keys: { one: "", two: "" },
      upstreamLimits: "concurrent: 2",
      settings: { VEXEL_MAX_QUEUE: "10", VEXEL_QUEUE_TIMEOUT: "10" },
    });
    fake.script({ delayMs: 30 }, { times: Infinity });
    const flood = times(40, (at) => embed("one", `flood ${at}`));
    await until(() => fake.requests.length > 0);
    const others = await statuses(times(3, (at) => embed("two", `other ${at}`)));
    expect(Object.fromEntries(others)).toEqual({ 200: 3 });
    const counts = await statuses(flood);
    expect(counts.get(429) ?? 0).toBeGreaterThan(0);
  });

  test("of an upstream holds its slot for the whole image request, streams included", async () => {
    const { generate, fake } = start({ keys: { one: "" }, upstreamLimits: "concurrent: 1" });
    fake.script({ eventDelayMs: 40 }, { times: Infinity });
    const counts = await statuses(
      times(3, () => generate("one", { stream: true, partial_images: 2 })),
    );
    expect(Object.fromEntries(counts)).toEqual({ 200: 3 });
    expect(maxConcurrent(fake.requests)).toBe(1);
  });
});

describe("queued requests", () => {
  test("are served by fair queueing: a key with many of them does not delay a key with few", async () => {
    const { embed, fake } = start({
      keys: { many: "", few: "" },
      embedderLimits: "concurrent: 1",
    });
    fake.script({ delayMs: 25 }, { times: Infinity });
    const order: string[] = [];
    const send = async (key: string): Promise<void> => {
      await (await embed(key)).text();
      order.push(key);
    };
    const flood = times(20, () => send("many"));
    await fake.arrived(2);
    await Promise.all(times(3, () => send("few")));
    expect(order.filter((key) => key === "many").length).toBeLessThan(10);
    await Promise.all(flood);
  });

  test("are refused with Retry-After if the queue is full", async () => {
    const { embed, fake, gateway } = start({
      keys: { one: "limits: { concurrent: 1 }" },
      settings: { VEXEL_MAX_QUEUE: "2" },
    });
    fake.script({ delayMs: 200 }, { times: Infinity });
    const responses = await Promise.all(times(5, () => embed("one")));
    const refused = responses.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(2);
    const [first] = refused as [Response];
    expect(first.headers.get("retry-after")).toBe("1");
    expect(await first.json()).toMatchObject({
      error: { type: "requests", code: "rate_limit_exceeded" },
    });
    expect(gateway.rows().filter(({ error }) => error === "queue_full")).toHaveLength(2);
  });

  test("are refused when the queue timeout is over", async () => {
    const { embed, fake } = start({
      keys: { one: "limits: { concurrent: 1, requestsPerMinute: 10 }" },
      settings: { VEXEL_QUEUE_TIMEOUT: "0.2" },
    });
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    fake.script({ until: released });
    const first = embed("one");
    await fake.arrived(1);
    const began = performance.now();
    // While the first request holds the slot.
    const late = await embed("one");
    expect(late.status).toBe(429);
    expect(await late.text()).toContain("timed out while queued");
    expect(performance.now() - began).toBeGreaterThan(190);
    release();
    // It was not admitted, so it does not count.
    expect(late.headers.get("x-ratelimit-remaining-requests")).toBe("9");
    expect((await first).status).toBe(200);
  });

  test("give up their slot when the client disconnects", async () => {
    const { embed, fake, gateway } = start({ keys: { one: "limits: { concurrent: 1 }" } });
    fake.script({ delayMs: 400 });
    const first = embed("one", "first");
    await fake.arrived(1);
    const disconnect = new AbortController();
    const disconnected = embed("one", "left", disconnect.signal);
    const last = embed("one", "last");
    await Bun.sleep(50);
    disconnect.abort();
    expect(await disconnected.catch(() => "gone")).toBe("gone");
    expect((await first).status).toBe(200);
    expect((await last).status).toBe(200);
    await until(() => gateway.rows().length === 3);
    expect(fake.requests).toHaveLength(2);
    expect(gateway.rows().map(({ error }) => error)).toContain("client_closed");
  });

  test("are admitted when earlier requests fail", async () => {
    const { embed, fake } = start({ keys: { one: "limits: { concurrent: 1 }" } });
    fake.script({ fail: "forbidden" }, { times: 3 });
    const counts = await statuses(times(5, (at) => embed("one", `text ${at}`)));
    expect(Object.fromEntries(counts)).toEqual({ 403: 3, 200: 2 });
  });
});

describe("image requests above VEXEL_MAX_IMAGE_REQUESTS", () => {
  test("are queued, and embeddings requests are not delayed by them", async () => {
    const { generate, embed, fake } = start({
      keys: { one: "" },
      settings: { VEXEL_MAX_IMAGE_REQUESTS: "1" },
    });
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    fake.script({ until: released }, { times: 3, when: ({ path }) => path.includes("images") });
    const imageRequests = times(3, () => generate("one"));
    await fake.arrived(1);
    // While the image requests wait.
    expect((await embed("one")).status).toBe(200);
    release();
    expect(Object.fromEntries(await statuses(imageRequests))).toEqual({ 200: 3 });
    expect(maxConcurrent(fake.requests.filter(({ path }) => path.includes("images")))).toBe(1);
  });

  test("are not sent if the client disconnects while they are queued", async () => {
    const { generate, fake, gateway } = start({
      keys: { one: "limits: { imagesPerMinute: 10 }" },
      settings: { VEXEL_MAX_IMAGE_REQUESTS: "1" },
    });
    fake.script({ delayMs: 400 });
    const first = generate("one");
    await fake.arrived(1);
    const disconnect = new AbortController();
    const disconnected = generate("one", { prompt: "left" }, disconnect.signal).catch(() => "gone");
    await Bun.sleep(50);
    disconnect.abort();
    await disconnected;
    expect((await first).status).toBe(200);
    const last = await generate("one", { prompt: "last" });
    expect(last.headers.get("x-ratelimit-remaining-images")).toBe("8");
    await until(() => gateway.rows().length === 3);
    expect(fake.requests).toHaveLength(2);
  });

  test("hold their slot until they finish, even if the client disconnects", async () => {
    const { generate, fake, gateway } = start({
      keys: { one: "" },
      settings: { VEXEL_MAX_IMAGE_REQUESTS: "1" },
    });
    fake.script({ delayMs: 400 });
    const disconnect = new AbortController();
    const disconnected = generate("one", {}, disconnect.signal).catch(() => "gone");
    await fake.arrived(1);
    disconnect.abort();
    await disconnected;
    expect((await generate("one", { prompt: "another" })).status).toBe(200);
    expect(maxConcurrent(fake.requests)).toBe(1);
    await until(() => gateway.rows().length === 2);
  });
});
