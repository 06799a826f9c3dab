/**
 * Load shedding: under overload queued requests are shed first, and cached embeddings and health checks are still
 * served.
 */

import { describe, expect, test } from "bun:test";
import { until } from "../until.ts";
import { limitedTests, statuses, times } from "./limits-fixture.ts";

const start = limitedTests();

describe("beyond VEXEL_MAX_CONCURRENT", () => {
  test("a new request is refused, and requests in flight finish", async () => {
    const { embed, fake } = start({ keys: { one: "" }, settings: { VEXEL_MAX_CONCURRENT: "3" } });
    fake.script({ delayMs: 300 }, { times: Infinity });
    const inFlight = times(3, () => embed("one"));
    await fake.arrived(3);
    const refused = await embed("one");
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(Object.fromEntries(await statuses(inFlight))).toEqual({ 200: 3 });
  });

  test("a refused request of a valid API key has a ledger row", async () => {
    const { embed, generate, fake, gateway } = start({
      keys: { one: "" },
      settings: { VEXEL_MAX_CONCURRENT: "1" },
    });
    const { promise, resolve: finish } = Promise.withResolvers<void>();
    fake.script({ until: promise });
    const inFlight = embed("one");
    await fake.arrived(1);
    expect((await generate("one")).status).toBe(503);
    finish();
    expect((await inFlight).status).toBe(200);
    const refused = gateway.rows().filter(({ status }) => status === 503);
    expect(refused).toMatchObject([{ keyId: "file:one", error: "overloaded", attempts: 0 }]);
  });

  test("a queued request is shed before a request in flight and before a new one", async () => {
    const { embed, fake, gateway } = start({
      keys: { many: "limits: { concurrent: 1 }", few: "" },
      settings: { VEXEL_MAX_CONCURRENT: "4" },
    });
    fake.script({ delayMs: 400 }, { times: Infinity });
    const flood = times(4, (at) => embed("many", `text ${at}`));
    await until(() => fake.requests.length === 1);
    await Bun.sleep(50);
    // One is in flight and three are queued: there is no free slot, so the last one is shed.
    const other = await embed("few");
    expect(other.status).toBe(200);
    const counts = await statuses(flood);
    expect(counts.get(503)).toBe(1);
    expect(counts.get(200)).toBe(3);
    expect(gateway.rows().filter(({ error }) => error === "overloaded")).toHaveLength(1);
  });

  test("the shed request is of the key with the most queued requests", async () => {
    const { embed, fake, gateway } = start({
      keys: { many: "", few: "" },
      embedderLimits: "concurrent: 1",
      settings: { VEXEL_MAX_CONCURRENT: "6" },
    });
    fake.script({ delayMs: 250 }, { times: Infinity });
    const first = embed("few", "first");
    await fake.arrived(1);
    const flood = times(4, () => embed("many"));
    await Bun.sleep(50);
    const later = times(3, () => embed("few"));
    await statuses([first, ...flood, ...later]);
    const shed = gateway.rows().filter(({ error }) => error === "overloaded");
    expect(shed).toHaveLength(2);
    expect(shed.map(({ keyId }) => keyId)).toEqual(["file:many", "file:many"]);
  });

  test("cached embeddings are still served", async () => {
    const { embed, fake } = start({
      keys: { one: "" },
      settings: { VEXEL_MAX_CONCURRENT: "8", VEXEL_CACHE_BYTES: "1000000" },
    });
    expect((await embed("one", "cached")).status).toBe(200);
    fake.script({ delayMs: 500 }, { times: Infinity });
    const inFlight = times(8, (at) => embed("one", `text ${at}`));
    await fake.arrived(9);
    const cached = await embed("one", "cached");
    expect(cached.status).toBe(200);
    const uncached = await embed("one", "uncached");
    expect(uncached.status).toBe(503);
    expect(fake.requests).toHaveLength(9);
    expect(Object.fromEntries(await statuses(inFlight))).toEqual({ 200: 8 });
  });

  test("health checks and the other unlimited routes are still served", async () => {
    const { embed, fake, gateway } = start({
      keys: { one: "" },
      settings: { VEXEL_MAX_CONCURRENT: "1" },
    });
    fake.script({ delayMs: 300 });
    const inFlight = embed("one");
    await fake.arrived(1);
    for (const path of ["/healthz", "/readyz", "/openapi.json", "/"]) {
      expect(`${path} ${(await fetch(`${gateway.url}${path}`)).status}`).toBe(`${path} 200`);
    }
    expect((await inFlight).status).toBe(200);
  });
});

test("queued image requests leave capacity for embeddings: image requests above the queue limit are refused at once", async () => {
  const { generate, embed, fake } = start({
    keys: { one: "" },
    settings: { VEXEL_MAX_IMAGE_REQUESTS: "1", VEXEL_MAX_QUEUE: "2" },
  });
  fake.script({ delayMs: 200 }, { times: Infinity, when: ({ path }) => path.includes("images") });
  const imageRequests = times(6, () => generate("one"));
  await fake.arrived(1);
  expect((await embed("one")).status).toBe(200);
  const counts = await statuses(imageRequests);
  expect(counts.get(200)).toBe(3);
  expect((counts.get(503) ?? 0) + (counts.get(429) ?? 0)).toBe(3);
});
