/**
 * Embeddings requests without HTTP through all stages of a gateway: cache, single-flight, splitting, routing over two
 * targets, micro-batching, verification and target limits treat them like HTTP requests.
 */
import { describe, expect, test } from "bun:test";
import { embeddingsEndpoint } from "../../server/api/embeddings.ts";
import { countedTokens } from "../../server/embeddings/embedding-usage.ts";
import type { CachePolicy, Priority } from "../../server/request/http-types.ts";
import { type Fake, fakeTokens, fakeVector, startFake } from "../fake-upstream.ts";
import { bitsOf } from "../fuzz/cache-fixture.ts";
import { startGateway, testKey } from "../harness.ts";
import { until } from "../until.ts";

interface OpenOptions {
  /** Limits and budgets of the key. */
  readonly key?: string;
  /** Limits of both upstreams. */
  readonly upstream?: string;
  readonly settings?: Readonly<Record<string, string>>;
}

interface EmbedOptions {
  readonly signal?: AbortSignal;
  readonly priority?: Priority;
  readonly cachePolicy?: CachePolicy;
}

const dollarsPerToken = 0.001;
const upstreamModel = "text-embedding-3-small";
const dimensions = 1536;

/** A gateway with cache and micro-batching, and a model with two targets: the second one is used if the first fails. */
function open({ key = "", upstream = "", settings = {} }: OpenOptions = {}) {
  const fakes = [startFake(), startFake()] as const;
  const target = (at: number) => `{ upstream: u${at}, model: ${upstreamModel}, tier: ${at} }`;
  const gateway = startGateway({
    yaml: `
upstreams:
  - { id: u0, kind: openai, baseUrl: "${fakes[0].url}", apiKey: sk-fake${upstream} }
  - { id: u1, kind: openai, baseUrl: "${fakes[1].url}", apiKey: sk-fake${upstream} }
models:
  - { id: vectors, kind: embedding, price: { input: ${dollarsPerToken * 1e6} }, targets: [${target(0)}, ${target(1)}] }
keys: [{ name: test, key: ${testKey}${key} }]
`,
    settings: { VEXEL_CACHE_BYTES: "10000000", VEXEL_BATCH_WAIT_MS: "25", ...settings },
  });
  let executed = 0;
  /** Resolves with the bits of each vector. */
  const embed = (texts: readonly string[], options: EmbedOptions = {}): Promise<string[]> =>
    gateway.execute({
      requestId: `req_${executed++}`,
      caller: gateway.caller(),
      priority: "batch",
      signal: new AbortController().signal,
      ...options,
      query: {
        model: "vectors",
        input: { kind: "text", texts },
        single: false,
        encoding: "base64",
        extraFields: {},
      },
      endpoint: embeddingsEndpoint({ maxInputs: 2048 }),
      send: gateway.send.embeddings,
      usageOf: (response) => {
        const inputTokens = countedTokens(response);
        return inputTokens === undefined ? undefined : { inputTokens };
      },
      use: async ({ vectors }) => vectors.map(bitsOf),
    });
  const row = (requestId: string) => gateway.rows().find((each) => each.requestId === requestId);
  const dispose = async () => {
    await gateway.close();
    for (const fake of fakes) fake.close();
  };
  return { gateway, fakes, embed, row, [Symbol.asyncDispose]: dispose };
}

const inputsOf = (fake: Fake) =>
  fake.requests.map(({ json }) => [(json as { input: string | string[] }).input].flat());
const vectorsOf = (...texts: string[]) => texts.map((text) => bitsOf(fakeVector(text, dimensions)));
const tokensOf = (...texts: string[]) => texts.reduce((sum, text) => sum + fakeTokens(text), 0);

/** An upstream that holds its next request until the test ends it. */
function hold(fake: Fake): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  fake.script({ until: promise });
  return resolve;
}

describe("an embeddings request without HTTP", () => {
  test("gets each vector in its place, and pays only for the inputs that it sends", async () => {
    await using opened = open();
    const { fakes, embed, row } = opened;
    expect(await embed(["cached", "other"])).toEqual(vectorsOf("cached", "other"));
    const texts = ["new", "cached", "new", "newer"];
    expect(await embed(texts)).toEqual(vectorsOf(...texts));
    expect(inputsOf(fakes[0])).toEqual([
      ["cached", "other"],
      ["new", "newer"],
    ]);
    expect(row("req_1")).toMatchObject({
      endpoint: "embeddings",
      keyId: "file:test",
      model: "vectors",
      upstream: "u0",
      targetModel: upstreamModel,
      attempts: 1,
      status: 200,
      error: null,
      inputs: 4,
      cachedInputs: 2,
      inputTokens: tokensOf(...texts),
      upstreamTokens: tokensOf("new", "newer"),
    });
    expect(row("req_1")!.cost).toBeCloseTo(tokensOf("new", "newer") * dollarsPerToken, 9);
  });

  test("that is larger than one upstream request may be is split, with one ledger row", async () => {
    await using opened = open();
    const { fakes, gateway, embed } = opened;
    const texts = Array.from({ length: 2100 }, (_, at) => `text ${at}`);
    expect(await embed(texts)).toEqual(vectorsOf(...texts));
    expect(fakes[0].requests).toHaveLength(2);
    expect(gateway.rows()).toHaveLength(1);
    expect(gateway.rows()[0]).toMatchObject({ inputs: 2100, upstreamTokens: tokensOf(...texts) });
  });

  test.each([
    ["fails", { fail: "overloaded" }, "upstream_overloaded"],
    ["sends vectors that are not valid", { vectors: "nan" }, "upstream_invalid"],
    ["sends too few vectors", { vectors: "missing" }, "upstream_invalid"],
  ] as const)("fails over to the second target if the first %s", async (_, fault, error) => {
    await using opened = open();
    const { fakes, embed, row } = opened;
    fakes[0].script(fault);
    expect(await embed(["a", "b"])).toEqual(vectorsOf("a", "b"));
    expect(fakes.map(inputsOf)).toEqual([[["a", "b"]], [["a", "b"]]]);
    expect(row("req_0")).toMatchObject({ upstream: "u1", attempts: 2, status: 200 });
    expect(row("req_0")!.steps).toContain(error);
    // The valid vectors are cached, not the others.
    expect(await embed(["a", "b"])).toEqual(vectorsOf("a", "b"));
    expect(row("req_1")).toMatchObject({ attempts: 0, cachedInputs: 2, cost: 0 });
  });

  test("fails with the error of the last target, in the ledger, and caches nothing", async () => {
    await using opened = open();
    const { fakes, gateway, embed, row } = opened;
    for (const fake of fakes) fake.script({ vectors: "zero" }, { times: 9 });
    const failed = await embed(["a"]).catch((error) => error);
    expect(failed).toMatchObject({ kind: "upstream_invalid" });
    expect(row("req_0")).toMatchObject({ status: 502, error: "upstream_invalid", cost: null });
    expect(gateway.inFlight()).toBe(0);
    for (const fake of fakes) fake.clear();
    gateway.resetTargets();
    expect(await embed(["a"])).toEqual(vectorsOf("a"));
    expect(row("req_1")).toMatchObject({ cachedInputs: 0, attempts: 1 });
  });

  test("uses, refreshes or bypasses the cache as its policy says", async () => {
    await using opened = open();
    const { fakes, embed, row } = opened;
    const requests = () => fakes[0].requests.length;
    await embed(["a"], { cachePolicy: "no-store" });
    expect([requests(), row("req_0")!.cachedInputs]).toEqual([1, 0]);
    await embed(["a"], { cachePolicy: "use" });
    expect([requests(), row("req_1")!.cachedInputs]).toEqual([2, 0]);
    await embed(["a"], { cachePolicy: "refresh" });
    expect([requests(), row("req_2")!.cachedInputs]).toEqual([3, 0]);
    await embed(["a"]);
    expect([requests(), row("req_3")!.cachedInputs]).toEqual([3, 1]);
    await embed(["a"], { cachePolicy: "no-store" });
    expect([requests(), row("req_4")!.cachedInputs]).toEqual([4, 0]);
  });
});

describe("the limits of the key", () => {
  test("count each request, whether it is cached or not", async () => {
    await using opened = open({ key: ", limits: { requestsPerMinute: 2 }" });
    const { fakes, embed, row } = opened;
    await embed(["a"]);
    await embed(["a"]);
    expect(await embed(["a"]).catch((error) => error)).toMatchObject({ kind: "rate_limited" });
    expect(row("req_2")).toMatchObject({ status: 429, error: "rate_limited", attempts: 0 });
    expect(fakes[0].requests).toHaveLength(1);
  });

  test("let interactive requests go before requests of batch priority that were queued earlier", async () => {
    await using opened = open({ key: ", limits: { concurrent: 1 }" });
    const { gateway, fakes, embed } = opened;
    const release = hold(fakes[0]);
    const all: Promise<unknown>[] = [embed(["first"])];
    await fakes[0].arrived(1);
    all.push(embed(["b1"]), embed(["b2"]));
    all.push(gateway.post("/v1/embeddings", { model: "vectors", input: "over HTTP" }));
    all.push(embed(["interactive"], { priority: "interactive" }));
    await until(() => gateway.inFlight() === 5);
    release();
    await Promise.all(all);
    expect(inputsOf(fakes[0])[0]).toEqual(["first"]);
    expect(inputsOf(fakes[0]).slice(1, 3).sort()).toEqual([["interactive"], ["over HTTP"]]);
    expect(inputsOf(fakes[0]).slice(3)).toEqual([["b1"], ["b2"]]);
  });
});

test("the budget of the key is charged for the inputs that were sent, and refuses the rest", async () => {
  const text = "a text of about ten tokens, that is long enough";
  const cost = tokensOf(text) * dollarsPerToken;
  await using opened = open({ key: `, budget: { total: ${cost * 1.5} }` });
  const { gateway, fakes, embed, row } = opened;
  await embed([text]);
  expect(row("req_0")!.cost).toBeCloseTo(cost, 9);
  const refused = await embed([`${text} and more`]).catch((error) => error);
  expect(refused).toMatchObject({ kind: "over_budget" });
  expect(row("req_1")).toMatchObject({ status: 429, error: "over_budget", attempts: 0 });
  expect(fakes[0].requests).toHaveLength(1);
  expect(gateway.inFlight()).toBe(0);
});

describe("concurrent requests without HTTP", () => {
  test("for the same input share one upstream request, also with an HTTP request", async () => {
    await using opened = open();
    const { gateway, fakes, embed, row } = opened;
    const release = hold(fakes[0]);
    const first = embed(["a"], { priority: "interactive" });
    await fakes[0].arrived(1);
    const second = embed(["a"]);
    const overHttp = gateway.post("/v1/embeddings", { model: "vectors", input: "a" });
    await until(() => gateway.inFlight() === 3);
    release();
    expect(await Promise.all([first, second])).toEqual([vectorsOf("a"), vectorsOf("a")]);
    expect((await overHttp).status).toBe(200);
    expect(fakes[0].requests).toHaveLength(1);
    expect(row("req_0")).toMatchObject({ cachedInputs: 0, upstreamTokens: 1 });
    expect(row("req_1")).toMatchObject({ cachedInputs: 1, upstreamTokens: 0, cost: 0 });
  });

  test("are micro-batched, and each has its own vectors, usage and ledger row", async () => {
    await using opened = open();
    const { fakes, embed, gateway } = opened;
    const release = hold(fakes[0]);
    const texts = ["first", "a", "bb", "a longer text"];
    const all = [embed([texts[0]!])];
    await fakes[0].arrived(1);
    for (const text of texts.slice(1)) all.push(embed([text]));
    await fakes[0].arrived(2);
    release();
    expect(await Promise.all(all)).toEqual(texts.map((text) => vectorsOf(text)));
    expect(inputsOf(fakes[0])).toEqual([["first"], texts.slice(1)]);
    const rows = gateway.rows();
    expect(rows).toHaveLength(4);
    const tokens = rows.reduce((sum, { upstreamTokens }) => sum + (upstreamTokens ?? 0), 0);
    expect(tokens).toBe(tokensOf(...texts));
    const cost = rows.reduce((sum, each) => sum + (each.cost ?? 0), 0);
    expect(cost).toBeCloseTo(tokens * dollarsPerToken, 9);
  });

  test("of batch priority wait for a slot of the upstream behind interactive ones", async () => {
    await using opened = open({
      upstream: ", limits: { concurrent: 1 }",
      settings: { VEXEL_BATCH_WAIT_MS: "0" },
    });
    const { gateway, fakes, embed } = opened;
    const release = hold(fakes[0]);
    const all = [embed(["first"])];
    await fakes[0].arrived(1);
    // The second target has no request in flight, but it is used only while the first is not available.
    for (const text of ["b1", "b2"]) all.push(embed([text]));
    all.push(embed(["i1"], { priority: "interactive" }));
    // An input of a queued batch request.
    all.push(embed(["b2"], { priority: "interactive" }));
    await until(() => gateway.inFlight() === 5);
    release();
    await Promise.all(all);
    expect(inputsOf(fakes[0])).toEqual([["first"], ["i1"], ["b2"], ["b1"], ["b2"]]);
    expect(fakes[1].requests).toHaveLength(0);
  });
});

describe("the abort of a request without HTTP", () => {
  test("ends its upstream request, without failover, and the same input can be requested again", async () => {
    await using opened = open();
    const { gateway, fakes, embed, row } = opened;
    fakes[0].script({ hang: "headers" });
    const abort = new AbortController();
    const aborted = embed(["a"], { signal: abort.signal }).catch((error) => error);
    await fakes[0].arrived(1);
    abort.abort();
    expect(await aborted).toMatchObject({ kind: "client_closed" });
    await until(() => fakes[0].requests[0]!.aborted);
    expect(row("req_0")).toMatchObject({ status: 499, error: "client_closed", attempts: 1 });
    expect(gateway.inFlight()).toBe(0);
    expect(await embed(["a"])).toEqual(vectorsOf("a"));
    expect(fakes[1].requests).toHaveLength(0);
  });

  test("that was queued frees its place, and no upstream is called for it", async () => {
    await using opened = open({ key: ", limits: { concurrent: 1 }" });
    const { gateway, fakes, embed, row } = opened;
    const release = hold(fakes[0]);
    const first = embed(["first"]);
    await fakes[0].arrived(1);
    const abort = new AbortController();
    const aborted = embed(["a"], { signal: abort.signal }).catch((error) => error);
    await until(() => gateway.inFlight() === 2);
    abort.abort();
    expect(await aborted).toMatchObject({ kind: "client_closed" });
    expect(row("req_1")).toMatchObject({ error: "client_closed", attempts: 0, cost: null });
    release();
    await first;
    expect(await embed(["b"])).toEqual(vectorsOf("b"));
    expect(inputsOf(fakes[0])).toEqual([["first"], ["b"]]);
  });

  test("before it starts sends nothing and has a ledger row", async () => {
    await using opened = open();
    const { gateway, fakes, embed, row } = opened;
    const aborted = await embed(["a"], { signal: AbortSignal.abort() }).catch((error) => error);
    expect(aborted).toMatchObject({ kind: "client_closed" });
    expect(row("req_0")).toMatchObject({ status: 499, attempts: 0 });
    expect([fakes[0].requests.length, gateway.inFlight()]).toEqual([0, 0]);
  });

  test("does not affect the other requests of its micro-batch", async () => {
    await using opened = open();
    const { fakes, embed, row } = opened;
    const releases = [hold(fakes[0]), hold(fakes[0])];
    const abort = new AbortController();
    const first = embed(["first"]);
    await fakes[0].arrived(1);
    const aborted = embed(["a"], { signal: abort.signal }).catch((error) => error);
    const other = embed(["b"]);
    await fakes[0].arrived(2);
    abort.abort();
    expect(await aborted).toMatchObject({ kind: "client_closed" });
    for (const release of releases) release();
    expect(await other).toEqual(vectorsOf("b"));
    expect(await first).toEqual(vectorsOf("first"));
    expect(inputsOf(fakes[0])).toEqual([["first"], ["a", "b"]]);
    expect(row("req_1")).toMatchObject({ error: "client_closed" });
    expect(row("req_2")).toMatchObject({ status: 200 });
  });

  test("that others wait for lets its upstream request continue for them", async () => {
    await using opened = open();
    const { gateway, fakes, embed } = opened;
    const release = hold(fakes[0]);
    const abort = new AbortController();
    const owner = embed(["a"], { signal: abort.signal }).catch((error) => error);
    await fakes[0].arrived(1);
    const waiter = embed(["a"]);
    await until(() => gateway.inFlight() === 2);
    abort.abort();
    release();
    expect(await waiter).toEqual(vectorsOf("a"));
    await owner;
    expect(fakes[0].requests).toHaveLength(1);
    expect(gateway.inFlight()).toBe(0);
  });
});
