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
});
