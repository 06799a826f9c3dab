/** Hints in upstream responses: exhausted rate limits, and paths that do not exist. */
import { afterEach, describe, expect, test } from "bun:test";
import type { UpstreamResponse } from "../../server/upstream/adapter.ts";
import { rateLimitExhaustedMs } from "../../server/upstream/adapters/wire/rate-limit-reset.ts";
import { createRateLimitObserver } from "../../server/upstream/client.ts";
import { ResponseParser } from "../../server/upstream/transport/parse-response.ts";
import { targetNamed } from "../embeddings/stage-fixture.ts";
import type { Fake } from "../fake-upstream.ts";
import { expectVectors } from "../faults/faults-fixture.ts";
import { candidateNamed, succeed } from "./routing-fixture.ts";
import { arrange, closeSetups } from "./routing-gateway-fixture.ts";

afterEach(closeSetups);

const always = { times: Number.POSITIVE_INFINITY };
const usedUp = { "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "30s" };

describe("a response that reports an exhausted rate limit", () => {
  test("sends no further request to the target until the reset while another target serves", async () => {
    const { fakes, embed, generateImage } = arrange({ upstreams: 2 });
    const [spent] = fakes as [Fake];
    spent.script({ headers: usedUp }, always);
    while (spent.requests.length === 0) await expectVectors(await embed());
    for (let request = 0; request < 20; request++) await expectVectors(await embed());
    expect(spent.requests).toHaveLength(1);
    for (let request = 0; request < 5; request++) expect((await generateImage()).status).toBe(200);
    expect(spent.requests).toHaveLength(2);
  });

  test("does not stop requests to a model's only target: part of the limit refills sooner", async () => {
    const { fakes, embed } = arrange({ upstreams: 1 });
    fakes[0]!.script({ headers: usedUp }, always);
    for (let request = 0; request < 5; request++) await expectVectors(await embed());
    expect(fakes[0]!.requests).toHaveLength(5);
  });

  test("stays in force after later responses, until the reset", () => {
    const candidate = candidateNamed("a");
    candidate.health.recordExhausted(0, 5000);
    succeed(candidate, 100, 10);
    expect(candidate.health.state(4999)).toBe("cooling");
    expect(candidate.health.state(5000)).toBe("healthy");
  });

  test.each<[string, Record<string, string>, number | undefined]>([
    ["requests", usedUp, 30_000],
    ["tokens", { "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1.5s" }, 1500],
    [
      "megapixels, of a Vexel gateway",
      { "x-ratelimit-remaining-megapixels": "0", "x-ratelimit-reset-megapixels": "12s" },
      12_000,
    ],
    [
      "no limit: some requests are left",
      { ...usedUp, "x-ratelimit-remaining-requests": "1" },
      undefined,
    ],
    ["nothing: it does not say what is left", { "x-ratelimit-reset-requests": "30s" }, undefined],
    ["nothing: it does not say until when", { "x-ratelimit-remaining-requests": "0" }, undefined],
    ["a minute at most", { ...usedUp, "x-ratelimit-reset-requests": "6m0s" }, 60_000],
    ["nothing: no number", { ...usedUp, "x-ratelimit-remaining-requests": "none" }, undefined],
  ])("is recognized: %s", (_, headers, expected) => {
    expect(rateLimitExhaustedMs(new Headers(headers))).toBe(expected);
  });

  test("takes effect immediately, however many responses before it reported nothing, and for its model only", async () => {
    const { gateway, fakes, embed, generateImage } = arrange({ upstreams: 2 });
    for (let request = 0; request < 40; request++) await expectVectors(await embed());
    const [spent] = fakes as [Fake];
    spent.clear();
    spent.script({ headers: usedUp }, always);
    const rowsBefore = gateway.rows().length;
    while (spent.requests.length === 0) await expectVectors(await embed());
    for (let request = 0; request < 60; request++) await expectVectors(await embed());
    // One request, and on a slow machine the hedged requests, which may arrive after the response of their request.
    const rows = gateway.rows().slice(rowsBefore);
    const hedged = rows.filter(({ attempts }) => attempts > 1).length;
    const afterwards = spent.requests.length;
    expect(afterwards).toBeLessThanOrEqual(1 + hedged);
    expect((await generateImage()).status).toBe(200);
    expect(spent.requests).toHaveLength(afterwards + 1);
  });

  test("is found in any response, and the headers of responses that the HTTP client has already checked are not read", () => {
    const received: number[] = [];
    const watch = createRateLimitObserver((_, waitMs) => received.push(waitMs));
    let reads = 0;
    const response = (
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
    for (let request = 0; request < 300; request++) watch(response({}, false), target);
    expect(reads).toBe(0);
    for (let left = 70; left >= 0; left--) {
      watch(response({ ...usedUp, "x-ratelimit-remaining-requests": String(left) }), target);
    }
    watch(response(usedUp, true), target);
    expect(received).toEqual([30_000, 30_000]);
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
  ])("is detected in a response head: %s", (line, isExhausted) => {
    for (const lines of [`${line}\r\nserver: x`, `server: x\r\n${line}`]) {
      const response = new ResponseParser(1000);
      response.push(Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: 0\r\n${lines}\r\n\r\n`));
      expect(response.mayReportExhaustedLimit).toBe(isExhausted);
    }
  });
});

describe("an upstream path that does not exist", () => {
  const nothing = { response: { status: 404, body: "<h1>Not Found</h1>" } };

  test("does not fail an embeddings request while another target serves", async () => {
    const { fakes, embed } = arrange({ upstreams: 2 });
    const [gone] = fakes as [Fake];
    gone.script(nothing, always);
    while (gone.requests.length === 0) await expectVectors(await embed());
  });

  test.each([404, 405, 410])(
    "does not fail an image request either, because nothing was generated: %d",
    async (status) => {
      const { gateway, fakes, generateImage } = arrange({ upstreams: 2 });
      fakes[0]!.script({ response: { status, body: "no" } });
      expect((await generateImage()).status).toBe(200);
      expect(fakes.map(({ requests }) => requests.length)).toEqual([1, 1]);
      expect(gateway.rows().at(-1)!.steps).toBe(
        "u0/gpt-image-1.5: upstream_error; u1/gpt-image-1.5: generated",
      );
    },
  );

  test("of a model's only target is reported with the gateway's own message", async () => {
    const { fakes, generateImage } = arrange({ upstreams: 1 });
    fakes[0]!.script(nothing);
    const response = await generateImage();
    expect(response.status).toBe(502);
    expect(await response.text()).not.toContain("<h1>");
  });
});
