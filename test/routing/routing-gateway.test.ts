/** A failing upstream behind a real gateway: clients hardly notice, or get a clear error at once. */
import { afterEach, describe, expect, test } from "bun:test";
import { type Fake, fakeImage } from "../fake-upstream.ts";
import { expectVectors, nowhere, until } from "../faults/faults-fixture.ts";
import { arrange, closeArranged, told } from "./routing-gateway-fixture.ts";

afterEach(closeArranged);

/** Calls, all of which are answered, until it has happened. */
async function meanwhile(embed: () => Promise<Response>, happened: () => boolean): Promise<void> {
  const end = performance.now() + 10_000;
  while (!happened()) {
    if (performance.now() > end) throw new Error("it did not happen");
    const responses = await Promise.all([embed(), embed(), embed()]);
    for (const response of responses) await expectVectors(response);
  }
}

describe("of two upstreams", () => {
  test("both are used while both serve", async () => {
    const { fakes, embed } = arrange({ upstreams: 2 });
    for (let turn = 0; turn < 10; turn++) {
      const responses = await Promise.all(Array.from({ length: 8 }, embed));
      for (const response of responses) await expectVectors(response);
    }
    for (const { requests } of fakes) expect(requests.length).toBeGreaterThan(10);
  });

  test.each([
    ["breaks down", { fail: "server-error" }],
    ["lies", { vectors: "zero" }],
    ["resets its connections", { reset: "before-headers" }],
  ] as const)(
    "one that %s is noticed by nobody, and by the log",
    async (_, fault) => {
      const { gateway, fakes, embed } = arrange({ upstreams: 2 });
      const [bad] = fakes as [Fake];
      for (let call = 0; call < 20; call++) await expectVectors(await embed());
      bad.script(fault, { times: Number.POSITIVE_INFINITY });
      await meanwhile(embed, () => gateway.log().includes("target-ejected"));
      const asked = bad.requests.length;
      for (let call = 0; call < 20; call++) await expectVectors(await embed());
      expect(bad.requests.length - asked).toBeLessThanOrEqual(2);
      bad.clear();
      await meanwhile(embed, () => gateway.log().includes("target-recovered"));
    },
    15_000,
  );

  test("one that hangs is ejected after a few requests, and those fail over to the other", async () => {
    const { gateway, fakes, embed } = arrange({ upstreams: 2 });
    for (let call = 0; call < 80; call++) await expectVectors(await embed());
    const [hanging] = fakes as [Fake];
    const before = hanging.requests.length;
    hanging.script({ hang: "headers" }, { times: Number.POSITIVE_INFINITY });
    await Promise.all(
      Array.from({ length: 60 }, async (_, at) => {
        await Bun.sleep(at * 20);
        await expectVectors(await embed());
      }),
    );
    await meanwhile(embed, () => gateway.log().includes("target-ejected"));
    // Half of the requests would have waited for it otherwise.
    expect(hanging.requests.length - before).toBeLessThan(20);
  }, 60_000);

  test("one at its rate limit is left alone as long as it says", async () => {
    const { fakes, embed } = arrange({ upstreams: 2 });
    const [limited] = fakes as [Fake];
    limited.script({ fail: "rate-limit", retryAfter: 60 }, { times: Number.POSITIVE_INFINITY });
    for (let call = 0; call < 40; call++) await expectVectors(await embed());
    expect(limited.requests).toHaveLength(1);
  });
});

describe("when no upstream serves", () => {
  test("callers hear it at once, and are served soon after one is back", async () => {
    const { gateway, fakes, embed } = arrange({ upstreams: 2 });
    for (const fake of fakes) {
      fake.script({ fail: "server-error" }, { times: Number.POSITIVE_INFINITY });
    }
    for (let call = 0; call < 12; call++) await (await embed()).text();
    const asked = fakes.map(({ requests }) => requests.length);
    const began = performance.now();
    const refusal = await told(await embed());
    expect(refusal).toMatchObject({ status: 503, code: "no_healthy_target" });
    expect(refusal.wait).toBeGreaterThanOrEqual(1);
    expect(refusal.wait).toBeLessThanOrEqual(1200);
    expect(performance.now() - began).toBeLessThan(500);
    expect(fakes.map(({ requests }) => requests.length)).toEqual(asked);
    expect(gateway.rows().at(-1)).toMatchObject({ error: "no_healthy_target", attempts: 0 });
    for (const fake of fakes) fake.clear();
    const back = performance.now();
    while ((await embed()).status !== 200) await Bun.sleep(20);
    expect(performance.now() - back).toBeLessThan(5000);
  });
});

describe("the only upstream of a model", () => {
  test("that said when to come back is not asked before, and callers are told the rest of it", async () => {
    const { fakes, embed } = arrange({ upstreams: 1 });
    fakes[0]!.script({ fail: "rate-limit", retryAfterMs: 700 });
    expect((await embed()).status).toBe(429);
    const refusal = await told(await embed());
    expect(refusal).toMatchObject({ status: 429, code: "rate_limit_exceeded" });
    expect(refusal.wait).toBeGreaterThan(0);
    expect(refusal.wait).toBeLessThanOrEqual(700);
    expect(fakes[0]!.requests).toHaveLength(1);
    await Bun.sleep(refusal.wait);
    await expectVectors(await embed());
  });

  test("that is overloaded and said for how long is left alone, and it is not called a rate limit", async () => {
    const { fakes, embed } = arrange({ upstreams: 1 });
    fakes[0]!.script({ fail: "overloaded", retryAfterMs: 60_000 });
    expect((await told(await embed())).code).toBe("server_is_overloaded");
    const refusal = await told(await embed());
    expect(refusal).toMatchObject({ status: 503, code: "no_healthy_target" });
    expect(refusal.wait).toBeGreaterThan(50_000);
    expect(fakes[0]!.requests).toHaveLength(1);
  });

  test("that fails on and on is left alone for a moment: callers hear it at once, and are served soon after", async () => {
    const { fakes, embed, draw } = arrange({ upstreams: 1 });
    // Vectors are asked for thrice, as long as it is not left alone; a picture may have been paid for.
    for (const [call, asked] of [
      [embed, 4 * 3 + 1],
      [draw, 5],
    ] as const) {
      fakes[0]!.clear();
      fakes[0]!.script({ fail: "server-error" }, { times: Number.POSITIVE_INFINITY });
      for (let turn = 0; turn < 5; turn++) expect((await call()).status).toBe(502);
      const refusal = await told(await call());
      expect(refusal).toMatchObject({ status: 503, code: "no_healthy_target" });
      expect(refusal.wait).toBeWithin(1, 1201);
      expect(fakes[0]!.requests).toHaveLength(asked);
      fakes[0]!.clear();
      const back = performance.now();
      while ((await call()).status !== 200) await Bun.sleep(20);
      expect(performance.now() - back).toBeLessThan(5000);
    }
  });

  test("is asked although some of its calls failed, by somebody who calls rarely", async () => {
    const { fakes, embed } = arrange({ upstreams: 1 });
    fakes[0]!.script({ fail: "server-error" }, { times: 12 });
    for (let call = 0; call < 4; call++) expect((await embed()).status).toBe(502);
    await expectVectors(await embed());
  });

  test("that takes no connections is not waited for by everyone", async () => {
    const { embed, draw } = arrange({ upstreams: 1, elsewhere: [nowhere] });
    for (const call of [embed, draw]) {
      const codes: string[] = [];
      for (let turn = 0; turn < 8; turn++) codes.push((await told(await call())).code);
      expect(codes.slice(0, 5)).toEqual(Array(5).fill("upstream_unreachable"));
      expect(codes.slice(5)).toEqual(Array(3).fill("no_healthy_target"));
    }
  });
});

describe("pictures", () => {
  const picture = Buffer.from(
    fakeImage("an otter", 0, { format: "png", width: 1024, height: 1024 }),
  ).toString("base64");

  test("go to the first of the list as long as it serves, and the account says why it did not", async () => {
    const { gateway, fakes, draw } = arrange({ upstreams: 2 });
    for (let call = 0; call < 10; call++) expect((await draw()).status).toBe(200);
    expect(fakes[1]!.requests).toHaveLength(0);
    fakes[0]!.script({ fail: "rate-limit", retryAfter: 60 });
    for (let call = 0; call < 3; call++) expect((await draw()).status).toBe(200);
    expect(fakes.map(({ requests }) => requests.length)).toEqual([11, 3]);
    expect(gateway.rows().at(-1)!.steps).toBe(
      "u0/gpt-image-1.5: skipped, its rate limit is reached; u1/gpt-image-1.5: generated",
    );
  });

  test.each([
    [", retryPaid: true", 200, 1],
    ["", 502, 0],
  ])(
    "that may have been paid for are ordered again only where the model says so: %s",
    async (more, status, again) => {
      const { fakes, draw } = arrange({ upstreams: 2, more });
      fakes[0]!.script({ fail: "html" });
      const response = await draw();
      expect(response.status).toBe(status);
      if (status === 200) expect(await response.text()).toContain(picture);
      expect(fakes[1]!.requests).toHaveLength(again);
    },
  );

  test("are not what a broken upstream is tried with while another draws: its list of models is asked for", async () => {
    const { gateway, fakes, draw } = arrange({ upstreams: 2 });
    const [broken] = fakes as [Fake];
    const asked = () => broken.requests.map(({ method, path }) => `${method} ${path}`);
    broken.script({ fail: "html" }, { times: Number.POSITIVE_INFINITY });
    for (let call = 0; call < 5; call++) expect((await draw()).status).toBe(502);
    await Bun.sleep(1250);
    for (let call = 0; call < 3; call++) expect((await draw()).status).toBe(200);
    await until(() => asked().length > 5);
    expect(asked().slice(5)).toEqual(["GET /v1/models"]);
    broken.clear();
    const end = performance.now() + 10_000;
    while (!gateway.log().includes("target-recovered") && performance.now() < end) {
      expect((await draw()).status).toBe(200);
      await Bun.sleep(50);
    }
    expect(asked().slice(0, 2)).toEqual(["GET /v1/models", "POST /v1/images/generations"]);
  }, 20_000);

  test("of a stream that breaks off count against the upstream", async () => {
    const { gateway, fakes, draw } = arrange({ upstreams: 2 });
    const stream = () =>
      gateway.post("/v1/images/generations", {
        model: "painter",
        prompt: "an otter",
        stream: true,
        partial_images: 1,
      });
    fakes[0]!.script({ stream: "cut" }, { times: 5 });
    for (let call = 0; call < 5; call++) expect(await (await stream()).text()).toContain("error");
    await until(() => gateway.log().includes("target-ejected"));
    expect((await draw()).status).toBe(200);
    expect(fakes[1]!.requests).toHaveLength(1);
  });
});
