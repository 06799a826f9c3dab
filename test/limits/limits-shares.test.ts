/** When the gateway has as much in hand as it can carry, one key with very many calls does not keep the others out. */
import { afterEach, describe, expect, test } from "bun:test";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { LoadShedder, type SheddingDecision } from "../../server/limits/load-shedder.ts";
import { embedder, type Limited, startLimited } from "./limits-fixture.ts";

let limited: Limited | undefined;
afterEach(async () => {
  await limited?.close();
  limited = undefined;
});

test("a key with little traffic is served while another key takes every slot and retries at once whenever it is shed", async () => {
  limited = startLimited({
    keys: { greedy: "", modest: "" },
    settings: { VEXEL_MAX_CONCURRENT: "8" },
  });
  const { client, embed, fake } = limited;
  fake.script({ delayMs: 120 }, { times: Infinity });
  let over = false;
  const served = { greedy: 0, refused: 0 };
  const loop = async (): Promise<void> => {
    while (!over) {
      const response = await embed("greedy");
      await response.text();
      if (response.status === 200) served.greedy++;
      else served.refused++;
      if (response.status !== 200) await Bun.sleep(5);
    }
  };
  const loops = Array.from({ length: 30 }, loop);
  await fake.arrived(8);
  for (let call = 0; call < 5; call++) {
    // Without retries: each one finds a place.
    const { data } = await client("modest").embeddings.create({ model: embedder, input: "a boat" });
    expect(data).toHaveLength(1);
  }
  over = true;
  await Promise.all(loops);
  // What the modest one does not use is the greedy one's.
  expect(served.greedy).toBeGreaterThan(20);
  expect(served.refused).toBeGreaterThan(0);
});

const small = new Headers({ "content-length": "20" });
const large = new Headers({ "content-length": "1000000" });

function house(all: number, { image = all, waiting = [] as string[] } = {}) {
  const inHand = new LoadShedder({
    all,
    image,
    shed: (mayLose) => {
      const last = waiting.at(-1);
      if (last === undefined || !mayLose(last)) return false;
      waiting.pop();
      return true;
    },
  });
  const come = (key: string, kind: "embedding" | "image" = "embedding", headers = large) => {
    inHand.begin(kind);
    try {
      return inHand.admit(kind, headers, key);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      inHand.end(kind, "uncounted", undefined);
      return error.kind;
    }
  };
  const go = (
    key: string,
    decision: SheddingDecision = "counted",
    kind: "embedding" | "image" = "embedding",
  ) => inHand.end(kind, decision, key);
  const fill = (key: string, count: number, kind: "embedding" | "image" = "embedding") =>
    Array.from({ length: count }, () => come(key, kind));
  return { inHand, come, go, fill, waiting };
}

describe("when all slots are in use", () => {
  test("a reserve is left for keys below their fair share, and for no others", () => {
    const { come, fill, inHand } = house(16);
    fill("many", 16);
    expect(come("many")).toBe("overloaded");
    expect([come("few"), come("few")]).toEqual(["counted", "counted"]);
    // One in eight, and no more.
    expect(come("few")).toBe("overloaded");
    expect(inHand.count).toBe(18);
  });

  test("released slots go to the keys with fewer, until all have the same", () => {
    const { come, go, fill } = house(16);
    fill("many", 16);
    const got = { many: 16, few: 0 };
    for (let turn = 0; turn < 100; turn++) {
      // The greedy one is always there first.
      for (const key of ["many", "few"] as const) if (come(key) === "counted") got[key]++;
      const ends = got.many >= got.few ? "many" : "few";
      go(ends);
      got[ends]--;
    }
    expect(Math.abs(got.many - got.few)).toBeLessThanOrEqual(2);
  });

  test("two greedy keys leave slots for a third", () => {
    const { come, go, fill } = house(16);
    fill("one", 16);
    for (let turn = 0; turn < 50; turn++) {
      come("two");
      go(turn % 2 === 0 ? "one" : "two");
      come("one");
    }
    expect(come("three")).toBe("counted");
  });

  test("more keys than slots get one each, as far as the slots last", () => {
    const { come } = house(4);
    expect(["a", "b", "c", "d", "e", "f"].map((key) => come(key))).toEqual([
      "counted",
      "counted",
      "counted",
      "counted",
      "counted",
      "overloaded",
    ]);
  });

  test("cache-only requests take none of these slots", () => {
    const { come, fill, go } = house(16);
    fill("many", 16);
    expect([1, 2, 3].map(() => come("many", "embedding", small))).toEqual([
      "cache-only",
      "cache-only",
      "overloaded",
    ]);
    expect([come("few"), come("few")]).toEqual(["counted", "counted"]);
    go("many", "cache-only");
    expect(come("many", "embedding", small)).toBe("cache-only");
  });

  test("a queued request is shed, but not one of a key below its fair share", () => {
    const greedy = house(8, { waiting: ["many"] });
    greedy.fill("many", 8);
    expect(greedy.come("few")).toBe("counted");
    expect(greedy.waiting).toEqual([]);
    const modest = house(8, { waiting: ["few"] });
    modest.fill("few", 1);
    modest.fill("many", 7);
    expect(modest.come("many")).toBe("overloaded");
    expect(modest.waiting).toEqual(["few"]);
  });

  test("the same holds for image requests within their own slots", () => {
    const { come, fill, inHand } = house(64, { image: 8 });
    fill("many", 8, "image");
    expect(come("many", "image")).toBe("overloaded");
    expect(come("few", "image")).toBe("counted");
    expect(come("few", "image")).toBe("overloaded");
    expect(inHand.count).toBe(9);
  });
});

test("with plenty of free slots no key is counted, and earlier counts are released", () => {
  const { come, go, fill } = house(100);
  expect(new Set(fill("many", 50))).toEqual(new Set(["uncounted"]));
  expect(new Set(fill("many", 50))).toEqual(new Set(["counted"]));
  for (let call = 0; call < 50; call++) go("many", "uncounted");
  for (let call = 0; call < 50; call++) go("many");
  expect(new Set(fill("many", 50))).toEqual(new Set(["uncounted"]));
  fill("other", 50);
  // Had it not been forgotten what the first one held, it would have its share.
  expect(come("many")).toBe("counted");
});
