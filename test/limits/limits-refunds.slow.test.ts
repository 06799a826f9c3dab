/** A request that reached no upstream, for a reason outside its client, is refunded its rate limits. */

import { describe, expect, test } from "bun:test";
import { unreachableUrl } from "../faults/faults-fixture.ts";
import { until } from "../until.ts";
import { type Limited, limitedTests, statuses, times } from "./limits-fixture.ts";

const start = limitedTests();

const remaining = async ({ embed }: Limited, what: string): Promise<string | null> =>
  (await embed("one", [])).headers.get(`x-ratelimit-remaining-${what}`);

describe("while no upstream serves", () => {
  test("clients get a server error however often they retry, never a rate limit error", async () => {
    const { embed, fake } = start({ keys: { one: "limits: { requestsPerMinute: 8 }" } });
    fake.script({ fail: "server-error" }, { times: Infinity });
    // These requests reach the upstream, and count.
    await statuses(times(5, (at) => embed("one", `text ${at}`)));
    const before = fake.requests.length;
    const counts = await statuses(times(3, () => embed("one")));
    for (let request = 0; request < 10; request++) {
      const response = await embed("one");
      // One request a second is a half-open probe, and may be among them.
      expect(response.status, await response.text()).toBeOneOf([502, 503]);
    }
    expect(counts.get(429)).toBeUndefined();
    expect(fake.requests.length - before).toBeLessThan(9);
  });

  test("concurrent requests are refunded completely", async () => {
    const one = start({
      keys: { one: "limits: { requestsPerMinute: 10, tokensPerMinute: 100000 }" },
      url: unreachableUrl,
    });
    await statuses(times(60, (at) => one.embed("one", `text ${at}`)));
    expect(await remaining(one, "requests")).toBe("10");
    expect(await remaining(one, "tokens")).toBe("100000");
  });

  test("image requests are refunded as well", async () => {
    const one = start({
      keys: { one: "limits: { requestsPerMinute: 5, imagesPerMinute: 5 }" },
      url: unreachableUrl,
    });
    for (let request = 0; request < 9; request++) {
      expect((await one.generate("one")).status).toBeOneOf([502, 503]);
    }
    expect(await remaining(one, "requests")).toBe("5");
    expect(await remaining(one, "images")).toBe("5");
  });
});

test("a request that found no concurrency slot at its upstream is refunded", async () => {
  const { embed, fake } = start({
    keys: { one: "limits: { requestsPerMinute: 3 }" },
    targetLimits: "concurrent: 1",
    settings: { VEXEL_QUEUE_TIMEOUT: "0" },
  });
  fake.script({ hang: "headers" });
  const disconnect = new AbortController();
  const first = embed("one", "a", disconnect.signal).catch(() => undefined);
  await until(() => fake.requests.length === 1);
  for (let request = 0; request < 6; request++) {
    const response = await embed("one", `text ${request}`);
    expect(response.status).toBe(429);
    expect(await response.text()).toContain("Too many concurrent requests");
    expect(response.headers.get("x-ratelimit-remaining-requests")).toBe("2");
  }
  disconnect.abort();
  await first;
});

test("an invalid request counts as a request, and so does one that the upstream rejects", async () => {
  const one = start({ keys: { one: "limits: { requestsPerMinute: 9, tokensPerMinute: 9000 }" } });
  const invalid = await one
    .client()
    .embeddings.create(
      // The model supports no such dimensions.
      { model: "text-embedding-3-small", input: "a", dimensions: 1_000_000 },
    )
    .catch((error: { status: number }) => error.status);
  expect(invalid).toBe(400);
  expect(await remaining(one, "requests")).toBe("8");
  one.fake.script({ fail: "forbidden" });
  expect((await one.embed("one")).status).toBe(403);
  expect(await remaining(one, "requests")).toBe("7");
  expect(await remaining(one, "tokens")).toBe("9000");
});
