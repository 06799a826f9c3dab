/** When there is more to do than can be done: what is given up first, and what goes on as if nothing were. */
import { afterEach, describe, expect, test } from "bun:test";
import { until } from "../http/gateway-fixture.ts";
import { type Limited, startLimited, statuses } from "./limits-fixture.ts";

let limited: Limited;
const start = (...args: Parameters<typeof startLimited>): Limited => {
  limited = startLimited(...args);
  return limited;
};
afterEach(() => limited.close());
const times = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at));
const faults = (): (string | null)[] => limited.gateway.rows().map(({ error: fault }) => fault);

describe("beyond VEXEL_MAX_CONCURRENT", () => {
  test("a new call is refused, and those that have begun are brought to their end", async () => {
    const { embed, fake } = start({ keys: { one: "" }, settings: { VEXEL_MAX_CONCURRENT: "3" } });
    fake.script({ delayMs: 300 }, { times: Infinity });
    const begun = times(3, () => embed("one"));
    await fake.arrived(3);
    const refused = await embed("one");
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(Object.fromEntries(await statuses(begun))).toEqual({ 200: 3 });
  });

  test("a call that waits is given up before anything that has begun, and before a new one", async () => {
    const { embed, fake } = start({
      keys: { many: "limits: { concurrent: 1 }", few: "" },
      settings: { VEXEL_MAX_CONCURRENT: "4" },
    });
    fake.script({ delayMs: 400 }, { times: Infinity });
    const flood = times(4, (at) => embed("many", `text ${at}`));
    await until(() => fake.requests.length === 1);
    await Bun.sleep(50);
    // One works and three wait: there is no place, so the last that came makes way.
    const other = await embed("few");
    expect(other.status).toBe(200);
    const counts = await statuses(flood);
    expect(counts.get(503)).toBe(1);
    expect(counts.get(200)).toBe(3);
    expect(faults().filter((fault) => fault === "overloaded")).toHaveLength(1);
  });

  test("it is one of the key with most waiting, not of a key with few", async () => {
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
    const shed = gateway.rows().filter(({ error: fault }) => fault === "overloaded");
    expect(shed).toHaveLength(2);
    expect(shed.map(({ keyId }) => keyId)).toEqual(["file:many", "file:many"]);
  });

  test("vectors that are known are still given, as they cost next to nothing", async () => {
    const { embed, fake } = start({
      keys: { one: "" },
      settings: { VEXEL_MAX_CONCURRENT: "8", VEXEL_CACHE_BYTES: "1000000" },
    });
    expect((await embed("one", "known")).status).toBe(200);
    fake.script({ delayMs: 500 }, { times: Infinity });
    const begun = times(8, (at) => embed("one", `text ${at}`));
    await fake.arrived(9);
    const known = await embed("one", "known");
    expect(known.status).toBe(200);
    const unknown = await embed("one", "unknown");
    expect(unknown.status).toBe(503);
    expect(fake.requests).toHaveLength(9);
    expect(Object.fromEntries(await statuses(begun))).toEqual({ 200: 8 });
  });

  test("whoever asks whether the gateway lives is answered, and so is every other look at it", async () => {
    const { embed, fake, gateway } = start({
      keys: { one: "" },
      settings: { VEXEL_MAX_CONCURRENT: "1" },
    });
    fake.script({ delayMs: 300 });
    const begun = embed("one");
    await fake.arrived(1);
    for (const path of ["/healthz", "/readyz", "/openapi.json", "/"]) {
      expect(`${path} ${(await fetch(`${gateway.url}${path}`)).status}`).toBe(`${path} 200`);
    }
    expect((await begun).status).toBe(200);
  });
});

test("image calls that wait leave room for embeddings: more of them than may wait are refused at once", async () => {
  const { draw, embed, fake } = start({
    keys: { one: "" },
    settings: { VEXEL_MAX_IMAGE_REQUESTS: "1", VEXEL_MAX_QUEUE: "2" },
  });
  fake.script({ delayMs: 200 }, { times: Infinity, when: ({ path }) => path.includes("images") });
  const pictures = times(6, () => draw("one"));
  await fake.arrived(1);
  expect((await embed("one")).status).toBe(200);
  const counts = await statuses(pictures);
  expect(counts.get(200)).toBe(3);
  expect((counts.get(503) ?? 0) + (counts.get(429) ?? 0)).toBe(3);
});
