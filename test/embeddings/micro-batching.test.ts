/** Micro-batching: small requests to a busy target are sent as one, without a visible difference to clients. */

import { describe, expect, test } from "bun:test";
import type { MicroBatchOptions } from "../../server/embeddings/micro-batch.ts";
import type { EmbeddingsQuery, EmbeddingsResponse } from "../../server/upstream/contract.ts";
import {
  type CountedRequest,
  type EmbeddingsSend,
  entriesOf,
  microBatchStage,
  model,
  modelWithTargets,
  requestFor,
  requestOf,
  responseTo,
  settled,
  setUpBusyMicroBatching,
  setUpMicroBatching,
  targetNamed,
  vectorFor,
} from "./stage-fixture.ts";

describe("a request to an idle target", () => {
  test("is sent in the same tick, unchanged, and so is its response", async () => {
    const { upstream, send } = setUpMicroBatching();
    const request = requestOf("a");
    const upstreamResponse = send(request);
    expect(upstream.requests[0]?.request).toBe(request);
    const response: EmbeddingsResponse = { vectors: [[1]] };
    upstream.requests[0]?.respond(response);
    expect(await upstreamResponse).toBe(response);
    expect(request.record.routing.microBatchSize).toBeUndefined();
    expect(request.client.listeners.size).toBe(0);
  });

  test("that arrives with others is batched with them, in the same turn of the event loop", async () => {
    const { upstream, send } = setUpMicroBatching({}, { concurrency: 3 });
    for (const text of ["a", "b", "c", "d"]) void send(requestOf(text));
    expect(upstream.requestedTexts).toEqual([["a"]]);
    await new Promise(setImmediate);
    expect(upstream.requestedTexts).toEqual([["a"], ["b", "c", "d"]]);
  });

  test("does not wait while the target is below its concurrency", async () => {
    const { upstream, send } = setUpMicroBatching({}, { concurrency: 3 });
    for (const text of ["a", "b", "c", "d"]) {
      void send(requestOf(text));
      await new Promise(setImmediate);
    }
    expect(upstream.requestedTexts).toEqual([["a"], ["b"], ["c"]]);
  });
});

describe("requests to a busy target", () => {
  test("wait, and are sent as one micro-batch when a slot is free", async () => {
    const { upstream, send, release } = setUpBusyMicroBatching();
    const requests = ["a", "b", "c"].map((text) => requestOf(text));
    const responses = requests.map(send);
    await settled();
    expect(upstream.requests).toHaveLength(1);
    await release();
    expect(upstream.requestedTexts).toEqual([["first"], ["a", "b", "c"]]);
    expect(upstream.requests[1]?.request.query.single).toBe(false);
    upstream.requests[1]?.respond();
    for (const [at, response] of (await Promise.all(responses)).entries()) {
      expect(response.vectors).toEqual([vectorFor("abc"[at] ?? "")]);
    }
    expect(requests.map(({ record }) => record.routing.microBatchSize)).toEqual([3, 3, 3]);
  });

  test("with several inputs get all of their vectors, in order, without the upstream's verbatim body", async () => {
    const { upstream, send, release } = setUpBusyMicroBatching();
    const inputs = [["a", "b"], ["c"], ["d", "e", "f"]];
    const responses = inputs.map((texts) => send(requestFor(texts, model)));
    await release();
    const { request: joined, respond: response } = upstream.requests[1]!;
    response({
      ...responseTo(joined),
      verbatim: { body: Buffer.from("{}"), model: "m", encoding: "float" },
    });
    for (const [at, upstreamResponse] of (await Promise.all(responses)).entries()) {
      expect(upstreamResponse.vectors).toEqual((inputs[at] ?? []).map((text) => vectorFor(text)));
      expect(upstreamResponse).not.toHaveProperty("verbatim");
    }
  });

  test("that found no other request are sent unchanged", async () => {
    const { upstream, send, release } = setUpBusyMicroBatching();
    const single = requestOf("a");
    const upstreamResponse = send(single);
    await release();
    expect(upstream.requests[1]?.request).toBe(single);
    const response: EmbeddingsResponse = { vectors: [[1]] };
    upstream.requests[1]?.respond(response);
    expect(await upstreamResponse).toBe(response);
  });

  test("are sent after the longest wait, although no slot is free", async () => {
    const { upstream, send } = setUpBusyMicroBatching({}, { maxWaitMs: 5 });
    void send(requestOf("a"));
    void send(requestOf("b"));
    await Bun.sleep(30);
    expect(upstream.requestedTexts).toEqual([["first"], ["a", "b"]]);
    expect(upstream.inFlight).toBe(2);
  });

  test("are sent in the order of arrival, one micro-batch for each free slot", async () => {
    const { upstream, send, release } = setUpBusyMicroBatching();
    for (const user of ["u", "v", "u"]) void send(requestOf(`of ${user}`, { user }));
    await release();
    expect(upstream.requestedTexts.slice(1)).toEqual([["of u", "of u"]]);
    upstream.requests[1]?.respond();
    await settled();
    expect(upstream.requestedTexts.slice(2)).toEqual([["of v"]]);
  });

  test("need at most an eighth of the upstream requests", async () => {
    let [requestCount, free] = [0, 4];
    const queue: (() => void)[] = [];
    // The upstream serves four requests at a time, each for 2 ms; further requests wait in its queue.
    const upstream: EmbeddingsSend = async (request) => {
      requestCount++;
      if (free > 0) free--;
      else await new Promise<void>((resolve) => queue.push(resolve));
      await Bun.sleep(2);
      const waiting = queue.shift();
      if (waiting) waiting();
      else free++;
      return responseTo(request);
    };
    const send = microBatchStage({}, { concurrency: 4, maxWaitMs: 25 })(upstream);
    const client = async (name: number): Promise<void> => {
      for (let round = 0; round < 4; round++) {
        const text = `${name} ${round}`;
        expect((await send(requestOf(text))).vectors).toEqual([vectorFor(text)]);
      }
    };
    await Promise.all(Array.from({ length: 256 }, (_, name) => client(name)));
    // Each takes the same time and four run at once, so it is an eighth of the time as well.
    expect(requestCount).toBeLessThan((256 * 4) / 8);
  });
});

describe("a micro-batch", () => {
  test("is sent at once when it is full", () => {
    const { upstream, send } = setUpBusyMicroBatching({ maxItems: 3 });
    for (const text of ["a", "b", "c"]) void send(requestOf(text));
    expect(upstream.requestedTexts).toEqual([["first"], ["a", "b", "c"]]);
  });

  test("never exceeds the gateway's maximum, even if the target accepts more", () => {
    const { upstream, send } = setUpBusyMicroBatching();
    for (let at = 0; at < 2 * 64 + 1; at++) void send(requestOf(`text ${at}`));
    expect(upstream.requestedTexts.map(({ length }) => length)).toEqual([1, 64, 64]);
  });

  test("stays within the target's inputs, bytes and tokens", async () => {
    const inputs = [["aaaa", "bbbb"], ["cccc"], ["dddd", "eeee"]];
    const limits = [{ maxItems: 4 }, { maxBytes: 19 }, { maxTokens: 4 }];
    for (const limit of limits) {
      const { upstream, send, release } = setUpBusyMicroBatching(limit);
      for (const texts of inputs) void send(requestFor(texts, model));
      expect(upstream.requestedTexts.slice(1)).toEqual([["aaaa", "bbbb", "cccc"]]);
      await release();
      upstream.requests[1]?.respond();
      await settled();
      expect(upstream.requestedTexts.slice(2)).toEqual([["dddd", "eeee"]]);
    }
  });

  test("combines requests that differ only in inputs and encoding", async () => {
    const pairs: [Partial<EmbeddingsQuery>, Partial<EmbeddingsQuery>][] = [
      [{}, { dimensions: 3 }],
      [{ dimensions: 2 }, { dimensions: 3 }],
      [{}, { user: "u" }],
      [{ user: "u" }, { user: "v" }],
      [{}, { outputType: { type: "int8", field: "output_dtype" } }],
      [
        { outputType: { type: "int8", field: "output_dtype" } },
        { outputType: { type: "ubinary", field: "output_dtype" } },
      ],
      [{}, { taskType: { field: "task", given: "query" } }],
      [
        { taskType: { field: "task", given: "query" } },
        { taskType: { field: "task", given: "document" } },
      ],
      [
        { taskType: { field: "task", given: "query" } },
        { taskType: { field: "input_type", given: "query" } },
      ],
      [{}, { input: { kind: "tokens", tokens: [[1]] } }],
      [{ user: "u" }, { user: "u", input: { kind: "tokens", tokens: [[1]] } }],
    ];
    for (const [one, other] of pairs) {
      const { upstream, send, release } = setUpBusyMicroBatching();
      const requests = [
        requestOf("a", one),
        requestOf("b", other),
        requestOf("c", { ...one, encoding: "base64" }),
        requestOf("d", other),
      ];
      const responses = requests.map(send);
      await release();
      await upstream.respondToAll();
      expect(
        upstream.requests.map(({ request: { query } }) => entriesOf(query.input).length),
      ).toEqual([1, 2, 2]);
      for (const [at, response] of (await Promise.all(responses)).entries()) {
        expect(response.vectors).toEqual(responseTo(requests[at]!).vectors);
      }
    }
  });

  test("combines requests of one priority only, with or without parameters", async () => {
    for (const query of [
      {},
      { user: "u" },
      { input: { kind: "tokens", tokens: [[1]] } },
    ] as const) {
      const { upstream, send, release } = setUpBusyMicroBatching();
      for (const priority of ["batch", "interactive", "batch", "interactive"] as const) {
        const request = requestOf("a", query);
        request.record.priority = priority;
        void send(request);
      }
      await release();
      await upstream.respondToAll();
      expect(
        upstream.requests.slice(1).map(({ request: { query, record } }) => ({
          priority: record.priority,
          inputs: entriesOf(query.input).length,
        })),
      ).toEqual([
        { priority: "batch", inputs: 2 },
        { priority: "interactive", inputs: 2 },
      ]);
    }
  });
});

test("an interactive request does not wait because of batch requests in flight", async () => {
  const { upstream, send } = setUpMicroBatching({}, { concurrency: 2, maxWaitMs: 60_000 });
  const sendAs = async (priority: "batch" | "interactive", text: string): Promise<void> => {
    const request = requestOf(text);
    request.record.priority = priority;
    void send(request);
    await new Promise(setImmediate);
  };
  for (const text of ["a", "b", "waits"]) await sendAs("batch", text);
  expect(upstream.requestedTexts).toEqual([["a"], ["b"]]);
  await sendAs("interactive", "now");
  expect(upstream.requestedTexts).toEqual([["a"], ["b"], ["now"]]);
});

describe("is not batched:", () => {
  const expectAlone = (options: Partial<MicroBatchOptions>, request: CountedRequest): void => {
    const { upstream, send } = setUpBusyMicroBatching({}, options);
    void send(request);
    expect(upstream.requests[1]?.request).toBe(request);
  };

  test("a request with many inputs", () => {
    const texts = Array.from({ length: 17 }, (_, at) => `text ${at}`);
    expectAlone({}, requestFor(texts, model));
  });

  test("a request with extra fields", () => {
    expectAlone({}, requestOf("a", { extraFields: { truncate: true } }));
  });

  test("a request for a model with batching switched off", () => {
    expectAlone({ enabled: () => false }, requestOf("a"));
  });

  test("a request that fills a micro-batch alone", () => {
    const { upstream, send } = setUpBusyMicroBatching({ maxItems: 1 });
    const request = requestOf("a");
    void send(request);
    expect(upstream.requests[1]?.request).toBe(request);
    expect(request.record.routing.microBatchSize).toBeUndefined();
  });

  test("a request to another target, which is not busy", () => {
    const { upstream, send } = setUpBusyMicroBatching();
    void send(requestFor(["a"], modelWithTargets(targetNamed("b"))));
    expect(upstream.requestedTexts).toEqual([["first"], ["a"]]);
  });
});

describe("the usage of a micro-batch", () => {
  test("is divided by estimated tokens, to the last token", async () => {
    const { upstream, send, release } = setUpBusyMicroBatching();
    const responses = ["a", "bb", "日", "dddddd"].map((text) => send(requestOf(text)));
    await release();
    const { request: joined, respond: response } = upstream.requests[1]!;
    response({ ...responseTo(joined), usage: { inputTokens: 14 } });
    const tokens = (await Promise.all(responses)).map(({ usage }) => usage?.inputTokens);
    expect(tokens).toEqual([1, 2, 5, 6]);
  });

  test("is divided together with the cost that the upstream reports", async () => {
    const { upstream, send, release } = setUpBusyMicroBatching();
    const responses = ["a", "bb", "日", "dddddd"].map((text) => send(requestOf(text)));
    await release();
    const { request: joined, respond } = upstream.requests[1]!;
    respond({ ...responseTo(joined), usage: { inputTokens: 14 }, cost: 0.28 });
    for (const [at, { cost }] of (await Promise.all(responses)).entries())
      expect(cost).toBeCloseTo([0.02, 0.04, 0.1, 0.12][at]!, 12);
  });

  test("is unknown if the upstream reports none", async () => {
    const { upstream, send, release } = setUpBusyMicroBatching();
    const responses = ["a", "b"].map((text) => send(requestOf(text)));
    await release();
    upstream.requests[1]?.respond({ vectors: [[1], [2]] });
    for (const response of await Promise.all(responses))
      expect(response).not.toHaveProperty("usage");
  });
});
