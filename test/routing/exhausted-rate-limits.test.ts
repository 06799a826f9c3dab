/** Hints in upstream responses: exhausted rate limits, and paths that do not exist. */
import { afterEach, describe, expect, test } from "bun:test";
import type { UpstreamResponse } from "../../server/upstream/adapter.ts";
import { rateLimitExhaustedMs } from "../../server/upstream/adapters/wire/rate-limit-reset.ts";
import { createRateLimitObserver } from "../../server/upstream/rate-limit-signal.ts";
import { ResponseParser } from "../../server/upstream/transport/parse-response.ts";
import { targetNamed } from "../embeddings/stage-fixture.ts";
import type { Fake } from "../fake-upstream.ts";
import { expectVectors } from "../faults/faults-fixture.ts";
import { answers, seatNamed } from "./routing-fixture.ts";
import { arrange, closeArranged } from "./routing-gateway-fixture.ts";

afterEach(closeArranged);

const forEver = { times: Number.POSITIVE_INFINITY };
const usedUp = { "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "30s" };

describe("an answer that says that the limit is used up", () => {
  test("is the last one that is asked for there until the reset, while another serves", async () => {
    const { fakes, embed, draw } = arrange({ upstreams: 2 });
    const [spent] = fakes as [Fake];
    spent.script({ headers: usedUp }, forEver);
    while (spent.requests.length === 0) await expectVectors(await embed());
    for (let call = 0; call < 20; call++) await expectVectors(await embed());
    expect(spent.requests).toHaveLength(1);
    for (let call = 0; call < 5; call++) expect((await draw()).status).toBe(200);
    expect(spent.requests).toHaveLength(2);
  });

  test("does not keep a model's only target from being asked: some of the limit is there sooner", async () => {
    const { fakes, embed } = arrange({ upstreams: 1 });
    fakes[0]!.script({ headers: usedUp }, forEver);
    for (let call = 0; call < 5; call++) await expectVectors(await embed());
    expect(fakes[0]!.requests).toHaveLength(5);
  });

  test("holds although other answers come after it, and ends with the reset", () => {
    const candidate = seatNamed("a");
    candidate.health.coolDown.onExhausted(0, 5000);
    answers(candidate, 100, 10);
    expect(candidate.health.state(4999, false)).toBe("degraded");
    expect(candidate.health.state(5000, false)).toBe("available");
  });

  test.each<[string, Record<string, string>, number | undefined]>([
    ["requests", usedUp, 30_000],
    ["tokens", { "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1.5s" }, 1500],
    [
      "nothing: there is some left",
      { ...usedUp, "x-ratelimit-remaining-requests": "1" },
      undefined,
    ],
    ["nothing: it does not say what is left", { "x-ratelimit-reset-requests": "30s" }, undefined],
    ["nothing: it does not say until when", { "x-ratelimit-remaining-requests": "0" }, undefined],
    ["a minute at most", { ...usedUp, "x-ratelimit-reset-requests": "6m0s" }, 60_000],
    ["nothing: no number", { ...usedUp, "x-ratelimit-remaining-requests": "none" }, undefined],
  ])("is understood: %s", (_, headers, expected) => {
    expect(rateLimitExhaustedMs(new Headers(headers))).toBe(expected);
  });

  test("is heard at once, however many before it said nothing, and of one model alone", async () => {
    const { fakes, embed, draw } = arrange({ upstreams: 2 });
    for (let call = 0; call < 40; call++) await expectVectors(await embed());
    const [spent] = fakes as [Fake];
    spent.clear();
    spent.script({ headers: usedUp }, forEver);
    while (spent.requests.length === 0) await expectVectors(await embed());
    for (let call = 0; call < 40; call++) await expectVectors(await embed());
    // One, and on a slow machine perhaps one before it that was called off because another was quicker.
    const asked = spent.requests.length;
    expect(asked).toBeLessThan(4);
    for (let call = 0; call < 20; call++) await expectVectors(await embed());
    expect(spent.requests).toHaveLength(asked);
    expect((await draw()).status).toBe(200);
    expect(spent.requests).toHaveLength(asked + 1);
  });

  test("is found in any place, and of those that our own client has looked at no header is read", () => {
    const heard: number[] = [];
    const watch = createRateLimitObserver((_, waitMs) => heard.push(waitMs));
    let reads = 0;
    const reply = (
      headers: Record<string, string>,
      mayReportExhaustedLimit?: boolean,
    ): UpstreamResponse =>
      ({
        status: 200,
        ...(mayReportExhaustedLimit !== undefined && { mayReportExhaustedLimit }),
        get headers() {
          reads++;
          return new Headers(headers);
        },
      }) as unknown as UpstreamResponse;
    const target = targetNamed("a");
    for (let call = 0; call < 300; call++) watch(reply({}, false), target);
    expect(reads).toBe(0);
    for (let left = 70; left >= 0; left--) {
      watch(reply({ ...usedUp, "x-ratelimit-remaining-requests": String(left) }), target);
    }
    watch(reply(usedUp, true), target);
    expect(heard).toEqual([30_000, 30_000]);
  });

  test.each<[string, boolean]>([
    ["X-RateLimit-Remaining-Requests: 0", true],
    ["x-ratelimit-remaining-tokens:0", true],
    ["x-ratelimit-remaining: 0.0 ", true],
    ["x-ratelimit-remaining-images: -3", true],
    ["x-ratelimit-remaining-requests: 05", false],
    ["x-ratelimit-remaining-requests: 10", false],
    ["x-ratelimit-remaining-requests: 0.5", false],
    ["x-ratelimit-reset-requests: 0", false],
    ["x-other: x-ratelimit-remaining-requests: 0", false],
  ])("is seen in a head: %s", (line, seen) => {
    for (const lines of [`${line}\r\nserver: x`, `server: x\r\n${line}`]) {
      const answer = new ResponseParser(1000);
      answer.push(Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: 0\r\n${lines}\r\n\r\n`));
      expect(answer.mayReportExhaustedLimit).toBe(seen);
    }
  });
});

describe("a place that is not there", () => {
  const nothing = { reply: { status: 404, body: "<h1>Not Found</h1>" } };

  test("is not the end of a call for vectors while another target serves", async () => {
    const { fakes, embed } = arrange({ upstreams: 2 });
    const [gone] = fakes as [Fake];
    gone.script(nothing, forEver);
    while (gone.requests.length === 0) await expectVectors(await embed());
  });

  test.each([404, 405, 410])(
    "is not the end of a call for pictures either, for nothing was drawn: %d",
    async (status) => {
      const { gateway, fakes, draw } = arrange({ upstreams: 2 });
      fakes[0]!.script({ reply: { status, body: "no" } });
      expect((await draw()).status).toBe(200);
      expect(fakes.map(({ requests }) => requests.length)).toEqual([1, 1]);
      expect(gateway.rows().at(-1)!.steps).toBe(
        "u0/gpt-image-1.5: upstream_error; u1/gpt-image-1.5: generated",
      );
    },
  );

  test("is the answer of a model's only target, in our words", async () => {
    const { fakes, draw } = arrange({ upstreams: 1 });
    fakes[0]!.script(nothing);
    const response = await draw();
    expect(response.status).toBe(502);
    expect(await response.text()).not.toContain("<h1>");
  });
});
