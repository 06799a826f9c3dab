/** A request that reached no upstream, through no fault of its client, is refunded its rate limits. */
import { afterEach, describe, expect, test } from "bun:test";
import { until } from "../faults/faults-fixture.ts";
import { type Limited, startLimited, statuses } from "./limits-fixture.ts";

let limited: Limited;
const start = (...args: Parameters<typeof startLimited>): Limited => {
  limited = startLimited(...args);
  return limited;
};
afterEach(() => limited.close());

const left = async ({ embed }: Limited, what: string): Promise<string | null> =>
  (await embed("one", [])).headers.get(`x-ratelimit-remaining-${what}`);
const times = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at));

describe("while no upstream serves", () => {
  test("callers are told so as often as they ask, and not that they asked too often", async () => {
    const { embed, fake } = start({ keys: { one: "limits: { requestsPerMinute: 8 }" } });
    fake.script({ fail: "server-error" }, { times: Infinity });
    // These have come to the upstream, and count.
    await statuses(times(5, (at) => embed("one", `text ${at}`)));
    const asked = fake.requests.length;
    const counts = await statuses(times(3, () => embed("one")));
    for (let call = 0; call < 10; call++) {
      const response = await embed("one");
      // One call a second tries, and may be among them.
      expect(response.status, await response.text()).toBeOneOf([502, 503]);
    }
    expect(counts.get(429)).toBeUndefined();
    expect(fake.requests.length - asked).toBeLessThan(9);
  });

  test("what many ask at once is all there again, to the last one", async () => {
    const one = start({
      keys: { one: "limits: { requestsPerMinute: 10, tokensPerMinute: 100000 }" },
    });
    one.fake.close();
    await statuses(times(60, (at) => one.embed("one", `text ${at}`)));
    expect(await left(one, "requests")).toBe("10");
    expect(await left(one, "tokens")).toBe("100000");
  });

  test("nor do pictures that nobody could be asked for count", async () => {
    const one = start({ keys: { one: "limits: { requestsPerMinute: 5, imagesPerMinute: 5 }" } });
    one.fake.close();
    for (let call = 0; call < 9; call++) {
      expect((await one.draw("one")).status).toBeOneOf([502, 503]);
    }
    expect(await left(one, "requests")).toBe("5");
    expect(await left(one, "images")).toBe("5");
  });
});

test("a call that found no place at its upstream takes nothing", async () => {
  const { embed, fake } = start({
    keys: { one: "limits: { requestsPerMinute: 3 }" },
    targetLimits: "concurrent: 1",
    settings: { VEXEL_QUEUE_TIMEOUT: "0" },
  });
  fake.script({ hang: "headers" });
  const leaving = new AbortController();
  const first = embed("one", "a", leaving.signal).catch(() => undefined);
  await until(() => fake.requests.length === 1);
  for (let call = 0; call < 6; call++) {
    const response = await embed("one", `text ${call}`);
    expect(response.status).toBe(429);
    expect(await response.text()).toContain("Too many concurrent requests");
    expect(response.headers.get("x-ratelimit-remaining-requests")).toBe("2");
  }
  leaving.abort();
  await first;
});

test("what is the caller's own mistake counts as a request, and so does what an upstream failed", async () => {
  const one = start({ keys: { one: "limits: { requestsPerMinute: 9, tokensPerMinute: 9000 }" } });
  const wrong = await one
    .client()
    .embeddings.create(
      // Nobody makes vectors of this length.
      { model: "text-embedding-3-small", input: "a", dimensions: 1_000_000 },
    )
    .catch((error: { status: number }) => error.status);
  expect(wrong).toBe(400);
  expect(await left(one, "requests")).toBe("8");
  one.fake.script({ fail: "forbidden" });
  expect((await one.embed("one")).status).toBe(403);
  expect(await left(one, "requests")).toBe("7");
  expect(await left(one, "tokens")).toBe("9000");
});
