/**
 * Upstreams get only inputs that are neither cached nor in flight; vectors and usage are as if each input had been
 * requested alone.
 */
import { describe, expect, test } from "bun:test";
import { type CacheStageOptions, cacheStage } from "../../server/embeddings/cache/cache-stage.ts";
import { reportServed } from "../../server/embeddings/embedding-usage.ts";
import { apportion } from "../../server/lib/apportion.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import type { PermittedModel } from "../../server/request/caller.ts";
import type { EmbeddingsResponse } from "../../server/upstream/contract.ts";
import { parseTaskType } from "../../server/upstream/task-type.ts";
import {
  expectVectors,
  inputsOf,
  modelNamed,
  requestOf,
  settle,
  startCache,
  textQuery,
  upstreamResponseOf,
} from "../fuzz/cache-fixture.ts";
import { countsOf } from "./stage-fixture.ts";

const model = modelNamed("model", "space");
const maxBytes = 1e6;

const letters = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, at) => `text ${from + at}`);

/** The cache stage before an upstream that always returns the same response. */
function before(response: EmbeddingsResponse, options: Partial<CacheStageOptions> = {}) {
  const { cache, singleFlight } = startCache({ maxBytes });
  let requested = 0;
  const send = cacheStage({
    cache,
    singleFlight,
    enabled: () => true,
    ...options,
  })(
    reportServed(async () => {
      requested++;
      return response;
    }),
  );
  return { cache, singleFlight, send, requested: () => requested };
}

describe("an upstream", () => {
  test("gets ten of a hundred inputs, if ninety are cached or in flight", async () => {
    const setup = startCache({ maxBytes });
    const known = setup.start(textQuery(letters(0, 60)), model);
    setup.upstreamRequests[0]?.respond("base64", true);
    await known.outcome;
    const inFlight = setup.start(textQuery(letters(60, 90)), model);
    const whole = setup.start(textQuery(letters(0, 100).toReversed()), model);
    expect(setup.upstreamRequests.map(({ inputs }) => inputs.length)).toEqual([60, 30, 10]);
    expect(setup.upstreamRequests[2]?.inputs).toEqual(letters(90, 100).toReversed());
    setup.upstreamRequests[2]?.respond("numbers", true);
    setup.upstreamRequests[1]?.respond("floats", true);
    for (const pending of [known, inFlight, whole]) await expectVectors(pending);
    expect(countsOf(whole.request.record)).toMatchObject({
      inputs: 100,
      cachedInputs: 90,
      upstreamTokens: 70,
    });
    expect((await upstreamResponseOf(whole)).usage).toEqual({ inputTokens: 690 });
  });

  test("gets a duplicate input once, and the usage counts it twice", async () => {
    const setup = startCache({ maxBytes });
    const pending = setup.start(textQuery(["same", "other", "same", "same"]), model);
    expect(setup.upstreamRequests[0]?.inputs).toEqual(["same", "other"]);
    setup.upstreamRequests[0]?.respond("base64", true);
    await expectVectors(pending);
    expect((await upstreamResponseOf(pending)).usage).toEqual({ inputTokens: 4 * 3 + 5 });
    expect(countsOf(pending.request.record)).toMatchObject({
      inputs: 4,
      cachedInputs: 2,
      upstreamTokens: 9,
    });
  });

  test("gets no request for cached inputs", async () => {
    const setup = startCache({ maxBytes });
    setup.start(textQuery(["a"], { single: true }), model);
    setup.upstreamRequests[0]?.respond("base64", true);
    await settle();
    const again = setup.start(textQuery(["a"], { single: true }), model, "another key");
    await expectVectors(again);
    expect(setup.upstreamRequests).toHaveLength(1);
    expect(countsOf(again.request.record)).toMatchObject({
      inputs: 1,
      cachedInputs: 1,
      upstreamTokens: 0,
    });
  });

  test("gets the unchanged request when no input is cached, and its response is passed on unchanged", async () => {
    const setup = startCache({ maxBytes });
    for (const query of [textQuery(["a"], { single: true }), textQuery(["b", "c"])]) {
      const pending = setup.start(query, model);
      const upstreamRequest = setup.upstreamRequests.at(-1);
      expect(upstreamRequest?.request.query).toBe(pending.request.query);
      expect(upstreamRequest?.request.record).toBe(pending.request.record);
      upstreamRequest?.respond("base64", true);
      expect(await upstreamResponseOf(pending)).toBe(upstreamRequest?.response as never);
    }
  });

  test("gets every request for a model with the cache switched off", async () => {
    const response = { vectors: ["AACAPw=="], usage: { inputTokens: 2 } };
    const { cache, send, requested } = before(response, { enabled: ({ id }) => id !== "off" });
    const requestUncached = () => requestOf(textQuery(["a"]), modelNamed("off", "space"));
    const request = requestUncached();
    for (const each of [request, requestUncached(), requestUncached()]) await send(each);
    expect(requested()).toBe(3);
    expect(cache.size).toBe(0);
    expect(countsOf(request.record)).toMatchObject({
      inputs: 1,
      cachedInputs: 0,
      upstreamTokens: 2,
    });
  });
});

describe("a vector", () => {
  test("is kept to the last bit, minus zero and the smallest numbers included", async () => {
    const bits = new Uint32Array([0x80000000, 1, 0x007fffff, 0x7f7fffff, 0x3f800001]);
    const base64 = Buffer.from(bits.buffer).toString("base64");
    const { send } = before({ vectors: [base64] });
    await send(requestOf(textQuery(["a"]), model));
    const again = await send(requestOf(textQuery(["a"], { encoding: "float" }), model));
    const [vector] = again.vectors as [Float32Array<ArrayBuffer>];
    expect([...new Uint32Array(vector.buffer)]).toEqual([...bits]);
    // A copy of its own bytes and no others.
    expect(vector.buffer.byteLength).toBe(20);
    const encoded = await send(requestOf(textQuery(["a"]), model));
    expect(encoded.vectors.map(String)).toEqual([base64]);
  });

  test("that is cached is returned in the requested encoding, alone and beside other vectors", async () => {
    const vectors = ["AACAPw==", "AAAAQA=="];
    const { send, requested } = before({ vectors });
    await send(requestOf(textQuery(["a", "b"]), model));
    for (const texts of [["a"], ["a", "b"]]) {
      const known = vectors.slice(0, texts.length);
      const response = await send(requestOf(textQuery(texts), model));
      expect(response.vectors.map(String)).toEqual(known);
      const floats = await send(requestOf(textQuery(texts, { encoding: "float" }), model));
      expect(floats.vectors).toEqual(known.map((_, at) => Float32Array.of(at + 1)));
    }
    expect(requested()).toBe(1);
  });

  test("is shared only by models of one vector space at one upstream", async () => {
    const setup = startCache({ maxBytes });
    setup.start(textQuery(["a"]), model);
    setup.upstreamRequests[0]?.respond("base64", true);
    await settle();
    setup.start(
      textQuery(["a"], { user: "somebody", encoding: "float" }),
      modelNamed("x", "space"),
    );
    expect(setup.upstreamRequests).toHaveLength(1);
    const others = [
      [textQuery(["a"]), modelNamed("model", "another space")],
      [textQuery(["a"]), modelNamed("model")],
      [textQuery(["a"], { dimensions: 8 }), model],
      [textQuery(["a"], { extraFields: { truncate: true } }), model],
      [textQuery(["a"], { taskType: parseTaskType("input_type", "query") }), model],
      [textQuery(["a"], { input: { kind: "tokens", tokens: [[97]] } }), model],
    ] as const;
    for (const [query, model] of others) setup.start(query, model);
    expect(setup.upstreamRequests).toHaveLength(1 + others.length);
  });

  test("belongs to one upstream: the same model name elsewhere may have other weights or another prompt", () => {
    const setup = startCache({ maxBytes });
    const at = (...targets: readonly (readonly [string, string])[]): PermittedModel => ({
      ...model,
      targets: targets.map(([kind, baseUrl]) => ({
        upstream: { id: "up", kind, baseUrl, headers: {}, options: {} },
        model: "m",
      })),
    });
    const one = ["vllm", "https://one.example"] as const;
    const two = ["vllm", "https://two.example"] as const;
    for (const model of [at(one), at(two), at(["ollama", "https://one.example"])]) {
      setup.start(textQuery(["a"]), model);
    }
    expect(setup.upstreamRequests).toHaveLength(3);
    // A fallback target has the same vectors: the operator vouches for that.
    setup.start(textQuery(["a"]), at(one, two));
    setup.start(textQuery(["a"]), { ...at(one), id: "another name" });
    expect(setup.upstreamRequests).toHaveLength(3);
    setup.start(textQuery(["a"]), { ...at(one), dimensions: 7 });
    expect(setup.upstreamRequests).toHaveLength(4);
  });

  test("is shared by two task types of the same meaning only where upstreams have their own task types", async () => {
    const taskTypes = [
      parseTaskType("input_type", "query"),
      parseTaskType("task", "retrieval.query"),
    ];
    for (const byMeaning of [true, false]) {
      const { send, requested } = before(
        { vectors: ["AACAPw=="] },
        { taskTypesTranslated: () => byMeaning },
      );
      for (const taskType of taskTypes)
        await send(requestOf(textQuery(["a"], { taskType }), model));
      expect(requested()).toBe(byMeaning ? 1 : 2);
    }
  });
});

describe("usage", () => {
  test("of several inputs is divided by estimated tokens, and adds up", async () => {
    const texts = ["a", "größer", "日本", "four"];
    const vectors = texts.map(() => "AACAPw==");
    const { send, requested } = before({ vectors, usage: { inputTokens: 23 } });
    await send(requestOf(textQuery(texts), model));
    const shares: (number | undefined)[] = [];
    for (const text of texts) {
      shares.push((await send(requestOf(textQuery([text]), model))).usage?.inputTokens);
    }
    expect(shares).toEqual(apportion(23, [1, 10, 10, 4]));
    expect(requested()).toBe(1);
  });

  test("of a cached short text beside a long one is at least 1 token", async () => {
    const texts = ["a", "otter ".repeat(4_000), "b"];
    const { send } = before({
      vectors: texts.map(() => "AACAPw=="),
      usage: { inputTokens: 4_002 },
    });
    await send(requestOf(textQuery(texts), model));
    const shares: (number | undefined)[] = [];
    for (const text of texts) {
      shares.push((await send(requestOf(textQuery([text]), model))).usage?.inputTokens);
    }
    expect(shares).toEqual([1, 4_000, 1]);
  });

  test("that the model counts for each input is cached exactly", async () => {
    const texts = ["a", "otter ".repeat(100), "b"];
    const usage = { inputTokens: 108, perInput: [3, 102, 3] };
    const { send } = before({ vectors: texts.map(() => "AACAPw=="), usage });
    await send(requestOf(textQuery(texts), model));
    for (const [at, text] of texts.entries()) {
      const response = await send(requestOf(textQuery([text]), model));
      expect(response.usage?.inputTokens).toBe(usage.perInput[at]!);
    }
  });

  test("that an upstream did not report stays unknown, and makes no partial sums", async () => {
    const setup = startCache({ maxBytes });
    setup.start(textQuery(["silent"]), model);
    setup.upstreamRequests[0]?.respond("base64", false);
    await settle();
    const mixed = setup.start(textQuery(["silent", "loud"]), model);
    setup.upstreamRequests[1]?.respond("base64", true);
    expect((await upstreamResponseOf(mixed)).usage).toBeUndefined();
    // The usage of this request's own upstream request is reported.
    expect(mixed.request.record.upstreamTokens).toBe(4);
  });
});

test("a response that does not match the request reaches no client and is not cached", async () => {
  for (const vectors of [[], ["AACAPw==", "AACAPw=="], ["not base64"], ["AACA"]]) {
    const { cache, singleFlight, send } = before({ vectors });
    const sent = (async () => send(requestOf(textQuery(["a"]), model)))();
    expect(await sent.catch((error: unknown) => error)).toMatchObject({
      kind: "upstream_invalid",
    });
    expect([cache.size, singleFlight.size]).toEqual([0, 0]);
  }
});

test("an input index in an error is mapped to the client's inputs, also if all inputs are sent again", async () => {
  const { cache, singleFlight } = startCache({ maxBytes });
  const refusal = () =>
    new GatewayError("upstream_rejected", "Input id 2 has 9000 tokens, exceeding max 8192 tokens.");
  const requested: unknown[] = [];
  const send = cacheStage({ cache, singleFlight, enabled: () => true })(async ({ query }) => {
    const inputs = inputsOf(query.input);
    requested.push(inputs);
    if (inputs.length === 3) throw refusal();
    // The model changes after the first request: its vectors get longer.
    return { vectors: inputs.map(() => Array(requested.length).fill(1)) };
  });
  await send(requestOf(textQuery(["a"]), model));
  const failing = send(requestOf(textQuery(["a", "b", "a", "c"]), model));
  expect(await failing.catch(({ message }) => message)).toStartWith("Input id 3 has 9000 tokens");
  expect(requested).toEqual([["a"], ["b", "c"], ["a", "b", "c"]]);
});
