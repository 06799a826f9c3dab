/** Calls at the same time: who waits, in whose turn, for how long, and who is told to come back. */
import { afterEach, describe, expect, test } from "bun:test";
import { until } from "../http/gateway-fixture.ts";
import { embedder, type Limited, mostAtOnce, startLimited, statuses } from "./limits-fixture.ts";

let limited: Limited;
const start = (...args: Parameters<typeof startLimited>): Limited => {
  limited = startLimited(...args);
  return limited;
};
afterEach(() => limited.close());
const times = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at));

describe("a limit on calls at the same time", () => {
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
  ])(
    "%s is kept to the call, and whoever is one too many waits and is served",
    async (_, options) => {
      const { embed, fake } = start(options);
      fake.script({ delayMs: 30 }, { times: Infinity });
      const counts = await statuses(times(12, (at) => embed("one", `text ${at}`)));
      expect(Object.fromEntries(counts)).toEqual({ 200: 12 });
      expect(mostAtOnce(fake.requests)).toBe(2);
    },
  );

  test("of an upstream is kept by a large call that travels in parts, and what has begun is not given up for waiting", async () => {
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
    expect(mostAtOnce(fake.requests)).toBe(1);
  });

  test("with a full queue makes whoever has most waiting make room: one key cannot shut out another", async () => {
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

  test("of a model holds back pictures while they are drawn, also those that come as a stream", async () => {
    const { draw, fake } = start({ keys: { one: "" }, upstreamLimits: "concurrent: 1" });
    fake.script({ eventDelayMs: 40 }, { times: Infinity });
    const counts = await statuses(times(3, () => draw("one", { stream: true, partial_images: 2 })));
    expect(Object.fromEntries(counts)).toEqual({ 200: 3 });
    expect(mostAtOnce(fake.requests)).toBe(1);
  });
});

describe("those who wait", () => {
  test("take turns by key: one with many calls waiting does not hold up one with few", async () => {
    const { embed, fake } = start({
      keys: { many: "", few: "" },
      embedderLimits: "concurrent: 1",
    });
    fake.script({ delayMs: 25 }, { times: Infinity });
    const order: string[] = [];
    const ask = async (key: string): Promise<void> => {
      await (await embed(key)).text();
      order.push(key);
    };
    const flood = times(20, () => ask("many"));
    await fake.arrived(2);
    await Promise.all(times(3, () => ask("few")));
    expect(order.filter((key) => key === "many").length).toBeLessThan(10);
    await Promise.all(flood);
  });

  test("are told to come back when the queue is full", async () => {
    const { embed, fake } = start({
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
    expect(
      limited.gateway.rows().filter(({ error: fault }) => fault === "queue_full"),
    ).toHaveLength(2);
  });

  test("and when they have waited long enough, although the place is not free", async () => {
    const { embed, fake } = start({
      keys: { one: "limits: { concurrent: 1, requestsPerMinute: 10 }" },
      settings: { VEXEL_QUEUE_TIMEOUT: "0.2" },
    });
    fake.script({ delayMs: 1500 });
    const first = embed("one");
    await fake.arrived(1);
    const began = performance.now();
    const late = await embed("one");
    expect(late.status).toBe(429);
    expect(await late.text()).toContain("timed out while queued");
    expect(performance.now() - began).toBeGreaterThan(190);
    expect(performance.now() - began).toBeLessThan(1200);
    // Nothing was done for it, so it is not counted.
    expect(late.headers.get("x-ratelimit-remaining-requests")).toBe("9");
    expect((await first).status).toBe(200);
  });

  test("and who leaves gives up the place", async () => {
    const { embed, fake, gateway } = start({ keys: { one: "limits: { concurrent: 1 }" } });
    fake.script({ delayMs: 400 });
    const first = embed("one", "first");
    await fake.arrived(1);
    const leaving = new AbortController();
    const left = embed("one", "left", leaving.signal);
    const last = embed("one", "last");
    await Bun.sleep(50);
    leaving.abort();
    expect(await left.catch(() => "gone")).toBe("gone");
    expect((await first).status).toBe(200);
    expect((await last).status).toBe(200);
    await until(() => gateway.rows().length === 3);
    expect(fake.requests).toHaveLength(2);
    expect(gateway.rows().map(({ error: fault }) => fault)).toContain("client_closed");
  });

  test("find a place, one after the other, when the calls before them fail", async () => {
    const { embed, fake } = start({ keys: { one: "limits: { concurrent: 1 }" } });
    fake.script({ fail: "forbidden" }, { times: 3 });
    const counts = await statuses(times(5, (at) => embed("one", `text ${at}`)));
    expect(Object.fromEntries(counts)).toEqual({ 403: 3, 200: 2 });
  });
});

describe("image calls beyond VEXEL_MAX_IMAGE_REQUESTS", () => {
  test("wait for their turn, while embeddings go past them", async () => {
    const { draw, embed, fake } = start({
      keys: { one: "" },
      settings: { VEXEL_MAX_IMAGE_REQUESTS: "1" },
    });
    fake.script({ delayMs: 150 }, { times: 3, when: ({ path }) => path.includes("images") });
    const pictures = times(3, () => draw("one"));
    await fake.arrived(1);
    const began = performance.now();
    expect((await embed("one")).status).toBe(200);
    expect(performance.now() - began).toBeLessThan(300);
    expect(Object.fromEntries(await statuses(pictures))).toEqual({ 200: 3 });
    expect(mostAtOnce(fake.requests.filter(({ path }) => path.includes("images")))).toBe(1);
  });

  test("are not drawn for a caller who leaves before it is their turn", async () => {
    const { draw, fake, gateway } = start({
      keys: { one: "limits: { imagesPerMinute: 10 }" },
      settings: { VEXEL_MAX_IMAGE_REQUESTS: "1" },
    });
    fake.script({ delayMs: 400 });
    const first = draw("one");
    await fake.arrived(1);
    const leaving = new AbortController();
    const left = draw("one", { prompt: "left" }, leaving.signal).catch(() => "gone");
    await Bun.sleep(50);
    leaving.abort();
    await left;
    expect((await first).status).toBe(200);
    const last = await draw("one", { prompt: "last" });
    expect(last.headers.get("x-ratelimit-remaining-images")).toBe("8");
    await until(() => gateway.rows().length === 3);
    expect(fake.requests).toHaveLength(2);
  });

  test("hold their place while they are worked on for a caller who left", async () => {
    const { draw, fake, gateway } = start({
      keys: { one: "" },
      settings: { VEXEL_MAX_IMAGE_REQUESTS: "1" },
    });
    fake.script({ delayMs: 400 });
    const leaving = new AbortController();
    const left = draw("one", {}, leaving.signal).catch(() => "gone");
    await fake.arrived(1);
    leaving.abort();
    await left;
    expect((await draw("one", { prompt: "another" })).status).toBe(200);
    expect(mostAtOnce(fake.requests)).toBe(1);
    await until(() => gateway.rows().length === 2);
  });
});
