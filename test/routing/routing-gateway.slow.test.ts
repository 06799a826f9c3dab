/** A failing upstream behind a real gateway: clients hardly notice, or get a clear error at once. */

import { afterEach, describe, expect, test } from "bun:test";
import { type Fake, fakeImage } from "../fake-upstream.ts";
import { expectVectors } from "../faults/faults-fixture.ts";
import { until } from "../until.ts";
import { arrange, closeSetups, errorOf } from "./routing-gateway-fixture.ts";

afterEach(closeSetups);

/** Sends requests, which must all succeed, until the condition holds. */
const meanwhile = (embed: () => Promise<Response>, happened: () => boolean): Promise<void> =>
  until(async () => {
    if (happened()) return true;
    const responses = await Promise.all([embed(), embed(), embed()]);
    for (const response of responses) await expectVectors(response);
    return false;
  });

/** Sends a request, waits as long as its refusal says, and repeats, until a response is 200. Returns the refusals. */
async function refusalsUntilServed(request: () => Promise<Response>): Promise<number> {
  for (let refusals = 0; ; refusals++) {
    const response = await request();
    if (response.status === 200) return refusals;
    await Bun.sleep((await errorOf(response)).wait);
  }
}

describe("with two upstreams", () => {
  test.each([
    ["returns server errors", { fail: "server-error" }],
    ["returns invalid vectors", { vectors: "zero" }],
    ["resets its connections", { reset: "before-headers" }],
  ] as const)(
    "an upstream that %s fails no request, and is logged as ejected and recovered",
    async (_, errorKind) => {
      const { gateway, fakes, embed } = arrange({ upstreams: 2 });
      const [bad] = fakes as [Fake];
      for (let request = 0; request < 20; request++) await expectVectors(await embed());
      bad.script(errorKind, { times: Number.POSITIVE_INFINITY });
      await meanwhile(embed, () => gateway.log().includes("target-ejected"));
      const attempts = bad.requests.length;
      for (let request = 0; request < 20; request++) await expectVectors(await embed());
      expect(bad.requests.length - attempts).toBeLessThanOrEqual(2);
      bad.clear();
      await meanwhile(embed, () => gateway.log().includes("target-recovered"));
    },
  );
});

describe("when no upstream is healthy", () => {
  test("requests fail immediately with retry-after, and succeed soon after an upstream recovers", async () => {
    const { gateway, fakes, embed } = arrange({ upstreams: 2 });
    for (const fake of fakes) {
      fake.script({ fail: "server-error" }, { times: Number.POSITIVE_INFINITY });
    }
    for (let request = 0; request < 12; request++) await (await embed()).text();
    const attempts = fakes.map(({ requests }) => requests.length);
    const refusal = await errorOf(await embed());
    expect(refusal).toMatchObject({ status: 503, code: "no_healthy_target" });
    expect(refusal.wait).toBeGreaterThanOrEqual(1);
    expect(refusal.wait).toBeLessThanOrEqual(1200);
    // Immediately: no upstream request was sent.
    expect(fakes.map(({ requests }) => requests.length)).toEqual(attempts);
    expect(gateway.rows().at(-1)).toMatchObject({ error: "no_healthy_target", attempts: 0 });
    for (const fake of fakes) fake.clear();
    expect(await refusalsUntilServed(embed)).toBeLessThanOrEqual(3);
  });
});

describe("the only upstream of a model", () => {
  test("that sent retry-after gets no request before that, and clients get the remaining time", async () => {
    const { fakes, embed } = arrange({ upstreams: 1 });
    const retryAfterMs = 2000;
    fakes[0]!.script({ fail: "rate-limit", retryAfterMs });
    expect((await embed()).status).toBe(429);
    const refusal = await errorOf(await embed());
    expect(refusal).toMatchObject({ status: 429, code: "rate_limit_exceeded" });
    expect(refusal.wait).toBeGreaterThan(0);
    expect(refusal.wait).toBeLessThanOrEqual(retryAfterMs);
    expect(fakes[0]!.requests).toHaveLength(1);
    await Bun.sleep(refusal.wait);
    await expectVectors(await embed());
  });

  test("that is overloaded and sent retry-after gets no request, and the error is not a rate limit", async () => {
    const { fakes, embed } = arrange({ upstreams: 1 });
    fakes[0]!.script({ fail: "overloaded", retryAfterMs: 60_000 });
    expect((await errorOf(await embed())).code).toBe("server_is_overloaded");
    const refusal = await errorOf(await embed());
    expect(refusal).toMatchObject({ status: 503, code: "no_healthy_target" });
    expect(refusal.wait).toBeGreaterThan(50_000);
    expect(fakes[0]!.requests).toHaveLength(1);
  });

  test("that keeps failing is ejected: requests fail immediately, and succeed soon after it recovers", async () => {
    const { fakes, embed, generateImage } = arrange({ upstreams: 1 });
    // An embeddings request has three attempts until the upstream is ejected; an image request may have been billed.
    for (const [request, attempts] of [
      [embed, 4 * 3 + 1],
      [generateImage, 5],
    ] as const) {
      fakes[0]!.clear();
      fakes[0]!.script({ fail: "server-error" }, { times: Number.POSITIVE_INFINITY });
      for (let turn = 0; turn < 5; turn++) expect((await request()).status).toBe(502);
      const refusal = await errorOf(await request());
      expect(refusal).toMatchObject({ status: 503, code: "no_healthy_target" });
      expect(refusal.wait).toBeWithin(1, 1201);
      expect(fakes[0]!.requests).toHaveLength(attempts);
      fakes[0]!.clear();
      expect(await refusalsUntilServed(request)).toBeLessThanOrEqual(3);
    }
  });
});

describe("a request that a server answers with an error each time", () => {
  const bad = { model: "vectors", input: "a text that is too long for the server" };
  const badImage = { model: "image-model", prompt: "an otter", size: "auto" };
  test.each([
    ["/v1/embeddings", bad],
    ["/v1/images/generations", badImage],
  ])("takes the server from no other client: %s", async (path, body) => {
    const { gateway, fakes, embed, generateImage } = arrange({ upstreams: 1 });
    fakes[0]!.script({ fail: "server-error" }, { times: Number.POSITIVE_INFINITY });
    for (let turn = 0; turn < 12; turn++) expect((await gateway.post(path, body)).status).toBe(502);
    fakes[0]!.clear();
    await expectVectors(await embed());
    expect((await generateImage()).status).toBe(200);
    expect(gateway.log()).not.toContain("target-ejected");
  });

  test("does not hide that the server fails for other requests", async () => {
    const { gateway, fakes, embed } = arrange({ upstreams: 1 });
    fakes[0]!.script({ fail: "server-error" }, { times: Number.POSITIVE_INFINITY });
    for (let turn = 0; turn < 5; turn++) {
      await gateway.post("/v1/embeddings", bad);
      await embed();
    }
    expect(gateway.log()).toContain("target-ejected");
  });
});

describe("image requests", () => {
  const image = Buffer.from(
    fakeImage("an otter", 0, { format: "png", width: 1024, height: 1024 }),
  ).toString("base64");

  test("go to the first target of the list while it serves, and the ledger row says why it was skipped", async () => {
    const { gateway, fakes, generateImage } = arrange({ upstreams: 2 });
    for (let request = 0; request < 10; request++) expect((await generateImage()).status).toBe(200);
    expect(fakes[1]!.requests).toHaveLength(0);
    fakes[0]!.script({ fail: "rate-limit", retryAfter: 60 });
    for (let request = 0; request < 3; request++) expect((await generateImage()).status).toBe(200);
    expect(fakes.map(({ requests }) => requests.length)).toEqual([11, 3]);
    expect(gateway.rows().at(-1)!.steps).toBe(
      "u0/gpt-image-1.5: skipped, its rate limit is reached; u1/gpt-image-1.5: generated",
    );
  });

  test.each([
    [", retryPaid: true", 200, 1],
    ["", 502, 0],
  ])(
    "that may have been billed fail over only if the model sets retryPaid: %s",
    async (more, status, again) => {
      const { fakes, generateImage } = arrange({ upstreams: 2, imageModelFields: more });
      fakes[0]!.script({ fail: "html" });
      const response = await generateImage();
      expect(response.status).toBe(status);
      if (status === 200) expect(await response.text()).toContain(image);
      expect(fakes[1]!.requests).toHaveLength(again);
    },
  );

  test("are not used to probe a failing upstream while another serves: its model list is requested", async () => {
    const { gateway, fakes, generateImage } = arrange({ upstreams: 2 });
    const [broken] = fakes as [Fake];
    const attempts = () => broken.requests.map(({ method, path }) => `${method} ${path}`);
    broken.script({ fail: "html" }, { times: Number.POSITIVE_INFINITY });
    for (let request = 0; request < 5; request++) expect((await generateImage()).status).toBe(502);
    await Bun.sleep(1250);
    for (let request = 0; request < 3; request++) expect((await generateImage()).status).toBe(200);
    await until(() => attempts().length > 5);
    // On a busy machine there may be more than one probe by now.
    expect(new Set(attempts().slice(5))).toEqual(new Set(["GET /v1/models"]));
    broken.clear();
    await until(async () => {
      expect((await generateImage()).status).toBe(200);
      return gateway.log().includes("target-recovered");
    });
    expect(attempts().slice(0, 2)).toEqual(["GET /v1/models", "POST /v1/images/generations"]);
  });

  test("whose stream breaks off count as failures of the upstream", async () => {
    const { gateway, fakes, generateImage } = arrange({ upstreams: 2 });
    const stream = () =>
      gateway.post("/v1/images/generations", {
        model: "image-model",
        prompt: "an otter",
        stream: true,
        partial_images: 1,
      });
    fakes[0]!.script({ stream: "cut" }, { times: 5 });
    for (let request = 0; request < 5; request++)
      expect(await (await stream()).text()).toContain("error");
    await until(() => gateway.log().includes("target-ejected"));
    expect((await generateImage()).status).toBe(200);
    expect(fakes[1]!.requests).toHaveLength(1);
  });
});
