/** Load shedding: under overload new requests are refused, and requests in flight and health checks are served. */

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

  test("a request of another key is served while the queued requests of one key hold every slot", async () => {
    const { embed, fake, gateway } = start({
      keys: { many: "limits: { concurrent: 1 }", few: "" },
      settings: { VEXEL_MAX_CONCURRENT: "4" },
    });
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    fake.script({ until: released });
    const flood = times(4, (at) => embed("many", `text ${at}`));
    await fake.arrived(1);
    await until(() => gateway.inFlight() === 4);
    expect((await embed("few")).status).toBe(200);
    release();
    expect(Object.fromEntries(await statuses(flood))).toEqual({ 200: 4 });
  });

  test("health checks and the other unlimited routes are still served", async () => {
    const { embed, fake, gateway } = start({
      keys: { one: "" },
      settings: { VEXEL_MAX_CONCURRENT: "1" },
    });
    fake.script({ delayMs: 300 });
    const inFlight = embed("one");
    await fake.arrived(1);
    for (const path of ["/healthz", "/readyz", "/openapi.json"]) {
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
