/** Fair shares of the load shedder: under overload, a key with very many requests does not lock out the others. */
import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { LoadShedder } from "../../server/limits/load-shedder.ts";
import type { Priority } from "../../server/request/http-types.ts";
import { embedder, limitedTests } from "./limits-fixture.ts";

const start = limitedTests();

test("a key with little traffic is served while another key takes every slot and retries at once whenever it is shed", async () => {
  const limited = start({
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
  for (let request = 0; request < 5; request++) {
    // Without retries: each request gets a slot.
    const { data } = await client("modest").embeddings.create({ model: embedder, input: "a boat" });
    expect(data).toHaveLength(1);
  }
  over = true;
  await Promise.all(loops);
  // The greedy key uses the slots that the modest key leaves free.
  expect(served.greedy).toBeGreaterThan(20);
  expect(served.refused).toBeGreaterThan(0);
});

function setUp(requests: number, { connections = 10_000 } = {}) {
  const shedder = new LoadShedder({ requests, connections });
  const begin = (key: string, priority: Priority = "interactive") => {
    try {
      shedder.admit(key, priority);
      return "counted";
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      return error.kind;
    }
  };
  const end = (key: string) => shedder.release(key);
  const fill = (key: string, count: number) => Array.from({ length: count }, () => begin(key));
  return { shedder, begin, end, fill };
}

describe("when all slots are in use", () => {
  test("a reserve is left for keys below their fair share, and for no others", () => {
    const { begin, fill, shedder } = setUp(16);
    fill("many", 16);
    expect(begin("many")).toBe("overloaded");
    expect([begin("few"), begin("few")]).toEqual(["counted", "counted"]);
    // One slot in eight is reserved, and no more.
    expect(begin("few")).toBe("overloaded");
    expect(shedder.count).toBe(18);
  });

  test("released slots go to the keys with fewer, until all have the same", () => {
    const { begin, end, fill } = setUp(16);
    fill("many", 16);
    const slots = { many: 16, few: 0 };
    for (let turn = 0; turn < 100; turn++) {
      // The greedy key always comes first.
      for (const key of ["many", "few"] as const) if (begin(key) === "counted") slots[key]++;
      const ending = slots.many >= slots.few ? "many" : "few";
      end(ending);
      slots[ending]--;
    }
    expect(Math.abs(slots.many - slots.few)).toBeLessThanOrEqual(2);
  });

  test("two keys that take every slot leave slots for a third", () => {
    const { begin, end, fill } = setUp(16);
    fill("one", 16);
    for (let turn = 0; turn < 50; turn++) {
      begin("two");
      end(turn % 2 === 0 ? "one" : "two");
      begin("one");
    }
    expect(begin("three")).toBe("counted");
  });

  test("more keys than slots get one slot each, while there are slots", () => {
    const { begin } = setUp(4);
    expect(["a", "b", "c", "d", "e", "f"].map((key) => begin(key))).toEqual([
      "counted",
      "counted",
      "counted",
      "counted",
      "counted",
      "overloaded",
    ]);
  });
});

describe("batch requests", () => {
  const beginBatch = ({ begin }: ReturnType<typeof setUp>) => begin("batch", "batch");

  test("are shed while interactive requests are still admitted", () => {
    const setup = setUp(16);
    setup.fill("many", 14);
    expect(beginBatch(setup)).toBe("overloaded");
    expect(setup.fill("many", 2)).toEqual(["counted", "counted"]);
    setup.end("many");
    setup.end("many");
    setup.end("many");
    expect(beginBatch(setup)).toBe("counted");
  });

  test("get no slot of those that are left for other keys", () => {
    const setup = setUp(16);
    setup.fill("many", 16);
    expect(beginBatch(setup)).toBe("overloaded");
    expect(setup.begin("few")).toBe("counted");
  });

  test("are admitted at the smallest limit", () => {
    expect(beginBatch(setUp(1))).toBe("counted");
  });
});

test("one key has requests in flight on at most half of the connections", () => {
  const { begin, end, fill } = setUp(100, { connections: 9 });
  expect(fill("many", 5)).toEqual(["counted", "counted", "counted", "counted", "rate_limited"]);
  expect(begin("other")).toBe("counted");
  end("many");
  expect(begin("many")).toBe("counted");
});

test("a key that ends its requests has its whole share again", () => {
  const { begin, end, fill } = setUp(100);
  expect(new Set(fill("many", 100))).toEqual(new Set(["counted"]));
  for (let request = 0; request < 100; request++) end("many");
  expect(new Set(fill("many", 40))).toEqual(new Set(["counted"]));
  fill("other", 60);
  // If the count of the first key had not been released, it would be above its share.
  expect(begin("many")).toBe("counted");
});
