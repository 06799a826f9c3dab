/**
 * Internal requests (moderation, drift canary) are limited, charged to budgets and in the ledger like client requests.
 */
import { afterEach, describe, expect, test } from "bun:test";
import { startFake } from "../fake-upstream.ts";
import { startGateway, testKey } from "../harness.ts";
import { until } from "../until.ts";

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

interface ModeratedOptions {
  /** The moderation's response, or a wait that never ends. */
  readonly response?: unknown | "hangs";
  /** The status of the moderation's response. */
  readonly status?: number;
  readonly key?: string;
  readonly model?: string;
  readonly moderation?: string;
  /** The price of the moderation. */
  readonly price?: string;
  readonly prompt?: string;
}

const passed = { results: [{ flagged: false, categories: {} }], usage: { prompt_tokens: 1000 } };
const flagged = { results: [{ flagged: true, categories: { violence: true } }] };

/** A gateway with a moderated image model: 10 dollars per million tokens of the prompt, one cent per image. */
function startModerated({
  response = passed,
  status = 200,
  key = "",
  model = "",
  moderation = "",
  price = ", price: { input: 10 }",
  prompt = "an otter at dusk",
}: ModeratedOptions) {
  let requests = 0;
  const moderationUpstream = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => {
      requests++;
      return response === "hangs"
        ? new Promise<Response>(() => {})
        : Response.json(response, { status });
    },
  });
  const imageUpstream = startFake();
  const gateway = startGateway({
    yaml: `
upstreams:
  - { id: guard, kind: openai, baseUrl: "http://127.0.0.1:${moderationUpstream.port}/v1", apiKey: k }
  - { id: images, kind: openai, baseUrl: "${imageUpstream.url}", apiKey: sk-fake }
models:
  - id: moderated
    kind: image
    price: { image: 0.01 }
    moderation: { upstream: guard, model: guard-1${price}${moderation} }
    targets: [{ upstream: images, model: gpt-image-1.5 }]
    ${model}
projects:
  - { name: atlas, budget: { total: 1 } }
keys:
  - { name: test, key: ${testKey}, project: atlas${key} }
`,
  });
  open.push(
    () => moderationUpstream.stop(true),
    () => imageUpstream.close(),
    () => gateway.close(),
  );
  const generate = (signal?: AbortSignal) =>
    fetch(`${gateway.url}/v1/images/generations`, {
      method: "POST",
      headers: { authorization: `Bearer ${testKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "moderated", prompt }),
      ...(signal && { signal }),
    });
  return { gateway, imageUpstream, generate, requests: () => requests };
}

describe("a moderation request", () => {
  test("is in the ledger for the key and the project that caused it, with its own cost", async () => {
    const { gateway, generate } = startModerated({});
    const response = await generate();
    expect(response.status).toBe(200);
    const requestId = response.headers.get("x-request-id");
    const [image, moderation] = gateway.rows();
    expect(moderation).toMatchObject({
      requestId: `${requestId}-moderation`,
      endpoint: "moderations",
      keyId: "file:test",
      project: "atlas",
      model: "moderated",
      upstream: "guard",
      targetModel: "guard-1",
      attempts: 1,
      status: 200,
      inputTokens: 1000,
      cost: 0.01,
    });
    expect(image).toMatchObject({ requestId, endpoint: "generations", upstream: "images" });
    expect(gateway.rows()).toHaveLength(2);
  });

  test("whose upstream reports impossible usage is in the ledger without it, and is logged", async () => {
    const response = { ...passed, usage: { prompt_tokens: 1_000_000_000 } };
    const { gateway, generate } = startModerated({ response });
    expect((await generate()).status).toBe(200);
    const [, moderation] = gateway.rows();
    expect(moderation).toMatchObject({ endpoint: "moderations", inputTokens: null, cost: null });
    expect(gateway.log()).toContain("usage-implausible");
  });

  test("counts toward the budget of its key", async () => {
    const { gateway, generate, imageUpstream } = startModerated({
      key: ", budget: { total: 0.05 }",
    });
    // A moderation and an image cost 2 cents together. The third image alone would still fit.
    const statuses: number[] = [];
    for (let request = 0; request < 3; request++) statuses.push((await generate()).status);
    expect(statuses).toEqual([200, 200, 429]);
    const spent = gateway.rows().reduce((sum, { cost }) => sum + (cost ?? 0), 0);
    expect(spent).toBeCloseTo(0.04, 5);
    const refused = gateway.rows().slice(-2);
    expect(refused.map(({ error }) => error)).toEqual(["over_budget", "over_budget"]);
    expect(imageUpstream.requests).toHaveLength(2);
  });

  test("does not wait for the slot or the rate limit of the request that it is part of", async () => {
    const { generate } = startModerated({
      key: ", limits: { requestsPerMinute: 1, concurrent: 1 }",
    });
    expect((await generate()).status).toBe(200);
    expect((await generate()).status).toBe(429);
  });

  test("that flags the prompt is in the ledger, and so is the refused image request", async () => {
    const { gateway, generate, imageUpstream } = startModerated({ response: flagged });
    const refusal = await generate();
    expect(refusal.status).toBe(400);
    expect(await refusal.text()).toContain("moderation_blocked");
    const rows = gateway.rows().map(({ endpoint, status, error }) => [endpoint, status, error]);
    expect(rows).toEqual([
      ["generations", 400, "moderation_blocked"],
      ["moderations", 200, null],
    ]);
    expect(imageUpstream.requests).toHaveLength(0);
  });

  test("that fails is in the ledger, and the image is generated if the model allows it", async () => {
    const { gateway, generate } = startModerated({
      response: {},
      moderation: ", onFailure: allow",
    });
    expect((await generate()).status).toBe(200);
    const rows = gateway.rows().map(({ endpoint, error }) => [endpoint, error]);
    expect(rows).toEqual([
      ["generations", null],
      ["moderations", "upstream_invalid"],
    ]);
  });

  describe("that fails for a reason that the client can cause refuses the image, also with `onFailure: allow`:", () => {
    const moderation = ", onFailure: allow";
    const prompt = "an otter at dusk. ".repeat(700);
    const rejection = { error: { message: "Invalid input.", type: "invalid_request_error" } };
    const causes: [string, ModeratedOptions, number, string, number][] = [
      [
        "the rest of the budget is too small for the moderation",
        { key: ", budget: { total: 0.05 }", price: ", price: { input: 1000 }", prompt },
        429,
        "insufficient_quota",
        0,
      ],
      [
        "the key refuses requests without a price, and the moderation has none",
        { key: ", budget: { total: 9, unknownPrice: refuse }", price: "" },
        403,
        "price_unknown",
        0,
      ],
      [
        "the moderation upstream rejects the prompt as invalid",
        { response: rejection, status: 400 },
        502,
        "upstream_error",
        1,
      ],
    ];
    test.each(causes)("%s", async (_, options, status, code, moderations) => {
      const { generate, imageUpstream, requests } = startModerated({
        response: flagged,
        moderation,
        ...options,
      });
      const refusal = await generate();
      expect(refusal.status).toBe(status);
      expect(await refusal.json()).toMatchObject({ error: { code } });
      expect(requests()).toBe(moderations);
      expect(imageUpstream.requests).toHaveLength(0);
    });
  });

  test.each([429, 500, 503])(
    "whose upstream responds with %i is skipped if the model allows it",
    async (status) => {
      const { generate, imageUpstream } = startModerated({
        response: { error: { message: "Try again later.", type: "server_error" } },
        status,
        moderation: ", onFailure: allow",
      });
      expect((await generate()).status).toBe(200);
      expect(imageUpstream.requests).toHaveLength(1);
    },
  );

  test("that takes longer than its timeout ends with upstream_timeout", async () => {
    const { gateway, generate, imageUpstream } = startModerated({
      response: "hangs",
      // Half of it is much longer than the timeout of the moderation.
      model: "timeout: 600",
      moderation: ", onFailure: allow, timeout: 1",
    });
    const startedAt = performance.now();
    expect((await generate()).status).toBe(200);
    expect(performance.now() - startedAt).toBeGreaterThan(990);
    expect(imageUpstream.requests).toHaveLength(1);
    const rows = gateway.rows().map(({ endpoint, error }) => [endpoint, error]);
    expect(rows).toEqual([
      ["generations", null],
      ["moderations", "upstream_timeout"],
    ]);
    expect(gateway.rows()[1]!.latencyMs).toBeLessThan(9000);
  });

  describe("that takes longer than half of the timeout of its image model ends with upstream_timeout, and", () => {
    test("the image is generated if the model allows it", async () => {
      // Half of the time is enough to generate the image on a busy machine.
      const { gateway, generate, imageUpstream } = startModerated({
        response: "hangs",
        model: "timeout: 6",
        moderation: ", onFailure: allow",
      });
      expect((await generate()).status).toBe(200);
      expect(imageUpstream.requests).toHaveLength(1);
      const rows = gateway.rows().map(({ endpoint, error, steps }) => [endpoint, error, steps]);
      expect(rows).toEqual([
        ["generations", null, "moderation: upstream_timeout; images/gpt-image-1.5: generated"],
        ["moderations", "upstream_timeout", null],
      ]);
    });

    test("no image is generated without a check after a wait in the queue", async () => {
      const { generate, imageUpstream } = startModerated({
        response: "hangs",
        model: "timeout: 6",
        moderation: ", onFailure: allow",
        key: ", limits: { concurrent: 1 }",
      });
      // The second request waits for the first one, so its image request times out before its moderation does, also if
      // it arrives up to a second later.
      imageUpstream.script({ delayMs: 1000 });
      const responses = await Promise.all([generate(), generate()]);
      expect(responses.map(({ status }) => status).sort()).toEqual([200, 504]);
      expect(imageUpstream.requests).toHaveLength(1);
    });

    test("the image is refused otherwise, before the timeout of its request", async () => {
      const { gateway, generate, imageUpstream } = startModerated({
        response: "hangs",
        model: "timeout: 2",
      });
      const refusal = await generate();
      expect(refusal.status).toBe(502);
      expect(await refusal.text()).toContain("The moderation service could not check the prompt");
      expect(imageUpstream.requests).toHaveLength(0);
      const rows = gateway.rows().map(({ endpoint, error }) => [endpoint, error]);
      expect(rows).toEqual([
        ["generations", "upstream_error"],
        ["moderations", "upstream_timeout"],
      ]);
    });
  });

  test("of a client that disconnects is canceled and in the ledger", async () => {
    const { gateway, generate, requests, imageUpstream } = startModerated({
      response: "hangs",
      model: "onDisconnect: cancel",
    });
    const client = new AbortController();
    const request = generate(client.signal).catch(() => undefined);
    await until(() => requests() === 1);
    client.abort();
    await request;
    await until(() => gateway.rows().length === 2);
    expect(gateway.rows().map(({ error }) => error)).toEqual(["client_closed", "client_closed"]);
    expect(imageUpstream.requests).toHaveLength(0);
  });
});

/** A gateway whose drift canary compares two targets at start. */
function startWithCanary(project = "", embeddingModel = "") {
  const fakes = [startFake(), startFake()];
  const gateway = startGateway({
    settings: { VEXEL_CANARY_HOURS: "" },
    yaml: `
upstreams:
  - { id: u0, kind: openai, baseUrl: "${fakes[0]!.url}", apiKey: sk-fake }
  - { id: u1, kind: openai, baseUrl: "${fakes[1]!.url}", apiKey: sk-fake }
models:
  - { id: vectors, kind: embedding, price: { input: 1000 }${embeddingModel}, targets: [{ upstream: u0, model: text-embedding-3-small }, { upstream: u1, model: text-embedding-3-small }] }
projects: [${project}]
keys:
  - { name: test, key: ${testKey} }
`,
  });
  open.push(...fakes.map((fake) => () => fake.close()), () => gateway.close());
  return { gateway, fakes };
}

describe("a request of the drift canary", () => {
  test("is in the ledger as the gateway's own, with its cost", async () => {
    const { gateway, fakes } = startWithCanary();
    await until(() => gateway.rows().length === 2);
    for (const [at, row] of gateway.rows().entries()) {
      expect(row).toMatchObject({
        endpoint: "embeddings",
        keyId: "vexel-internal",
        project: "vexel-internal",
        model: "vectors",
        upstream: `u${at}`,
        targetModel: "text-embedding-3-small",
        attempts: 1,
        status: 200,
        cachedInputs: 0,
      });
      expect(row.upstreamTokens).toBeGreaterThan(0);
      expect(row.cost).toBeCloseTo((row.upstreamTokens! * 1000) / 1_000_000, 9);
    }
    expect(fakes.map(({ requests }) => requests.length)).toEqual([1, 1]);
  });

  test("respects the limits that the operator gives the gateway's own project", async () => {
    const { gateway, fakes } = startWithCanary(
      "{ name: vexel-internal, limits: { requestsPerMinute: 1 } }",
    );
    await until(() => gateway.rows().length === 2);
    expect(gateway.rows().map(({ error }) => error)).toEqual([null, "rate_limited"]);
    expect(fakes[1]!.requests).toHaveLength(0);
    await until(() => gateway.log().includes("target-not-compared"));
  });

  test("counts toward the budget that the operator gives the gateway's own project", async () => {
    const { gateway, fakes } = startWithCanary(
      "{ name: vexel-internal, budget: { total: 0.001 } }",
    );
    await until(() => gateway.rows().length > 0);
    await until(() => gateway.log().includes("target-not-compared"));
    expect(gateway.rows().at(-1)!.error).toBe("over_budget");
    expect(fakes[1]!.requests).toHaveLength(0);
  });

  test("waits for a slot of its model like a client's request", async () => {
    const { gateway } = startWithCanary("", ", limits: { concurrent: 1 }");
    await until(() => gateway.rows().length === 2);
    expect(gateway.rows().map(({ status }) => status)).toEqual([200, 200]);
  });

  test("that fails does not fail a client's request", async () => {
    const { gateway } = startWithCanary("{ name: vexel-internal, budget: { total: 0 } }");
    await until(() => gateway.log().includes("target-not-compared"));
    const response = await gateway.post("/v1/embeddings", { model: "vectors", input: "a" });
    expect(response.status).toBe(200);
  });
});
