/** A request that exceeds the targets' limits is split, and its response is the same as that of one request. */

import { describe, expect, test } from "bun:test";
import { reportServed } from "../../server/embeddings/embedding-usage.ts";
import { split } from "../../server/embeddings/split.ts";
import type { EmbeddingCapabilities, EmbeddingsResponse } from "../../server/upstream/contract.ts";
import {
  capabilitiesOf,
  type EmbeddingsSend,
  entriesOf,
  HeldUpstream,
  model,
  modelWithTargets,
  outcomeOf,
  overloaded,
  rejected,
  requestFor,
  responseTo,
  settled,
  targetNamed,
  textsOf,
  tooLarge,
  tooManyTokens,
  vectorFor,
} from "./stage-fixture.ts";

const numbered = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => `text ${at}`);

/** Sends through `split` to an upstream that responds immediately, and returns the requests it received. */
function through(
  limits: Partial<EmbeddingCapabilities>,
  upstream: EmbeddingsSend = async (request) => responseTo(request),
  maxParallel?: number,
) {
  const received: Parameters<EmbeddingsSend>[0][] = [];
  const send = split({
    capabilities: capabilitiesOf(limits),
    ...(maxParallel !== undefined && { maxParallel }),
  })((request) => {
    received.push(request);
    return upstream(request);
  });
  return {
    send,
    seen: received,
    sizes: () => received.map(({ query }) => entriesOf(query.input).length),
  };
}

describe("a request within the limits", () => {
  const response: EmbeddingsResponse = {
    vectors: [[1], [2]],
    verbatim: {
      body: Buffer.from("{}"),
      model: "public-model",
      encoding: "float",
    },
  };

  test("is passed on unchanged, and so is its response", async () => {
    const { send, seen: received } = through({ maxItems: 2, maxBytes: 10 }, async () => response);
    const request = requestFor(["four", "words"], model);
    expect(await send(request)).toBe(response);
    expect(received).toEqual([request]);
    expect(received[0]).toBe(request);
  });
});

describe("a larger request", () => {
  test("is split by the number of inputs, into equal sub-requests", async () => {
    const { send, sizes } = through({ maxItems: 4 });
    const texts = numbered(9);
    const { vectors } = await send(requestFor(texts, model));
    expect(sizes()).toEqual([3, 3, 3]);
    expect(vectors).toEqual(texts.map((text) => vectorFor(text)));
  });

  test("is split by bytes, which are not characters", async () => {
    const { send, seen: received } = through({ maxBytes: 12 });
    await send(requestFor(["four", "five", "six!", "日本", "語語"], model));
    expect(received.map(textsOf)).toEqual([
      ["four", "five", "six!"],
      ["日本", "語語"],
    ]);
  });

  test("is split by tokens, which are exact for token arrays", async () => {
    const { send, sizes } = through({ maxTokens: 5 });
    const tokens = [[1, 2, 3], [4, 5], [6], [7, 8, 9, 10], [11]];
    const { vectors } = await send(requestFor({ kind: "tokens", tokens }, model));
    expect(sizes()).toEqual([2, 2, 1]);
    expect(vectors).toEqual(tokens.map((entry) => vectorFor(entry)));
  });

  test("is split by estimated tokens for texts, with a higher estimate for other scripts", async () => {
    const ascii = through({ maxTokens: 10 });
    await ascii.send(requestFor(["a".repeat(20), "b".repeat(20), "c".repeat(20)], model));
    expect(ascii.sizes()).toEqual([2, 1]);
    const chinese = through({ maxTokens: 10 });
    await chinese.send(requestFor(["本".repeat(8), "語".repeat(8), "日".repeat(8)], model));
    expect(chinese.sizes()).toEqual([1, 1, 1]);
  });

  test("stays within the smallest limit of all targets, whichever serves it", async () => {
    const [wide, narrow] = [targetNamed("wide"), targetNamed("narrow")];
    const sizes: number[] = [];
    const send = split({
      capabilities: (target) =>
        capabilitiesOf(target === narrow ? { maxItems: 2 } : { maxBytes: 3 })(target),
    })(async (request) => {
      sizes.push(textsOf(request).length);
      return responseTo(request);
    });
    await send(requestFor(["a", "b", "c"], modelWithTargets(wide, narrow)));
    await send(requestFor(["aa", "bb", "c"], modelWithTargets(wide, narrow)));
    expect(sizes).toEqual([2, 1, 1, 2]);
  });

  test("keeps all other fields in every sub-request", async () => {
    const { send, seen: received } = through({ maxItems: 1 });
    const request = requestFor(["a", "b"], model, {
      dimensions: 8,
      user: "u",
      encoding: "base64",
      taskType: { field: "task", given: "query" },
      extraFields: { truncate: true },
    });
    await send(request);
    const { input: _, ...same } = request.query;
    for (const part of received) {
      expect(part.query).toMatchObject(same);
      expect(part.query.single).toBe(false);
      expect(part.report).toBe(request.record);
      expect(part.model).toBe(request.model);
    }
  });

  test("has its vectors in order, whatever the order of the sub-responses", async () => {
    const upstream = new HeldUpstream();
    const send = split({ capabilities: capabilitiesOf({ maxItems: 2 }) })(upstream.next);
    const texts = numbered(7);
    const response = send(requestFor(texts, model));
    await settled();
    for (const at of [2, 0, 3, 1]) upstream.requests[at]?.respond();
    expect((await response).vectors).toEqual(texts.map((text) => vectorFor(text)));
  });

  test("sends sub-requests again whose vectors were received before a target was found to have drifted", async () => {
    const upstream = new HeldUpstream();
    let generation = 0;
    const send = split({
      capabilities: capabilitiesOf({ maxItems: 2 }),
      maxParallel: 1,
      generation: () => generation,
    })(upstream.next);
    const texts = numbered(6);
    const response = send(requestFor(texts, model));
    const wrong = {
      vectors: [
        [6, 6],
        [6, 6],
      ],
      usage: { inputTokens: 4 },
    };
    await settled();
    upstream.requests[0]?.respond(wrong);
    await settled();
    upstream.requests[1]?.respond(wrong);
    await settled();
    generation++;
    for (const at of [2, 3, 4]) {
      upstream.requests[at]?.respond();
      await settled();
    }
    const { vectors, usage } = await response;
    expect(vectors).toEqual(texts.map((text) => vectorFor(text)));
    expect(upstream.requests).toHaveLength(5);
    // The vectors that were dropped do not count in the usage of the response.
    expect(usage?.inputTokens).toBe(texts.join("").length);
  });

  test("fails if its vectors may be wrong after every resend", async () => {
    let generation = 0;
    let sent = 0;
    const send = split({
      capabilities: capabilitiesOf({ maxItems: 2 }),
      generation: () => generation,
    })(async (request) => {
      sent++;
      setImmediate(() => generation++);
      await settled();
      return responseTo(request);
    });
    const outcome = await outcomeOf(send(requestFor(numbered(6), model)));
    expect(outcome).toMatchObject({ error: { kind: "upstream_invalid" } });
    expect(sent).toBeLessThanOrEqual(9);
  });

  test("counts what was served when one of its sub-requests fails", async () => {
    const upstream = new HeldUpstream();
    const send = split({ capabilities: capabilitiesOf({ maxItems: 2 }), maxParallel: 3 })(
      reportServed(upstream.next),
    );
    const request = requestFor(numbered(8), model);
    const outcome = outcomeOf(send(request));
    await settled();
    upstream.requests[0]?.respond();
    await settled();
    upstream.requests[1]?.fail(rejected("a bad input"));
    expect(await outcome).toMatchObject({ error: { kind: "upstream_rejected" } });
    const served = responseTo(upstream.requests[0]!.request).usage!.inputTokens;
    expect(upstream.requests).toHaveLength(4);
    expect(request.record.embeddings).toMatchObject({ servedTokens: served, servedInputs: 2 });
  });

  test("has exactly the allowed number of sub-requests in flight", async () => {
    const upstream = new HeldUpstream();
    const send = split({ capabilities: capabilitiesOf({ maxItems: 1 }), maxParallel: 3 })(
      upstream.next,
    );
    const response = send(requestFor(numbered(8), model));
    for (let done = 0; done < 8; done++) {
      await settled();
      expect(upstream.inFlight).toBe(Math.min(3, 8 - done));
      upstream.requests[done]?.respond();
    }
    expect((await response).vectors).toHaveLength(8);
  });

  test("of ten thousand inputs is served, even with one input per sub-request", async () => {
    const texts = numbered(10_000);
    const { send, seen: received } = through({ maxItems: 1 });
    const { vectors } = await send(requestFor(texts, model));
    expect(received).toHaveLength(10_000);
    expect(vectors).toEqual(texts.map((text) => vectorFor(text)));
  });
});

describe("the usage of a split request", () => {
  test("is the sum, and the response has no verbatim body", async () => {
    const verbatim = {
      body: Buffer.from("{}"),
      model: "public-model",
      encoding: "float",
    } as const;
    const { send } = through({ maxItems: 2 }, async (request) => ({
      ...responseTo(request),
      verbatim,
    }));
    const response = await send(requestFor(["a", "bb", "ccc"], model));
    expect(response.usage).toEqual({ inputTokens: 6, perInput: [1, 2, 3] });
    expect(response).not.toHaveProperty("verbatim");
  });

  test("is unknown if the usage of one sub-request is unknown", async () => {
    const { send } = through({ maxItems: 1 }, async (request) =>
      textsOf(request)[0] === "b" ? { vectors: responseTo(request).vectors } : responseTo(request),
    );
    expect(await send(requestFor(["a", "b", "c"], model))).not.toHaveProperty("usage");
  });
});

test("an input index in a sub-request's error is mapped to the client's inputs", async () => {
  const { send } = through({ maxItems: 4 }, async (request) => {
    const index = textsOf(request).indexOf("text 6");
    if (index >= 0) throw rejected(`Input id ${index} has 9000 tokens, exceeding max 8192 tokens.`);
    return responseTo(request);
  });
  const outcome = await outcomeOf(send(requestFor(numbered(8), model)));
  expect(outcome).toHaveProperty(
    "error.message",
    "Input id 6 has 9000 tokens, exceeding max 8192 tokens.",
  );
});

describe("a sub-request that is refused as too large", () => {
  for (const refuse of [tooManyTokens, tooLarge]) {
    test(`is halved until it passes (${refuse().kind})`, async () => {
      const { send, sizes } = through({ maxItems: 8 }, async (request) => {
        if (textsOf(request).length > 3) throw refuse();
        return responseTo(request);
      });
      const texts = numbered(16);
      const response = await send(requestFor(texts, model));
      expect(response.vectors).toEqual(texts.map((text) => vectorFor(text)));
      expect(response.usage?.inputTokens).toBe(texts.join("").length);
      expect(Math.max(...sizes())).toBe(8);
      expect(sizes().filter((size) => size <= 3)).toHaveLength(8);
    });

    test(`is halved although the whole request seemed to fit (${refuse().kind})`, async () => {
      const { send, sizes } = through({}, async (request) => {
        if (textsOf(request).length > 2) throw refuse();
        return responseTo(request);
      });
      const texts = numbered(5);
      expect((await send(requestFor(texts, model))).vectors).toEqual(
        texts.map((text) => vectorFor(text)),
      );
      expect(sizes()).toEqual([5, 3, 2, 2, 1]);
    });

    test(`fails when it is down to one input (${refuse().kind})`, async () => {
      const error = refuse();
      const { send } = through({}, async (request) => {
        if (textsOf(request).includes("text 2")) throw error;
        return responseTo(request);
      });
      const { message, kind: name, details } = error;
      // The error has the index of the input among all inputs of the request.
      const which = /tokens/.test(message) && { param: "input[2]" };
      expect(await outcomeOf(send(requestFor(numbered(4), model)))).toMatchObject({
        error: { message, kind: name, details: { ...details, ...which } },
      });
      expect(await outcomeOf(send(requestFor(["text 2"], model)))).toEqual({ error });
    });
  }

  test("is not halved for any other error", async () => {
    const error = rejected("no");
    const { send, sizes } = through({}, () => Promise.reject(error));
    expect(await outcomeOf(send(requestFor(numbered(4), model)))).toEqual({ error });
    expect(sizes()).toEqual([4]);
  });
});

describe("a sub-request that fails", () => {
  test("fails the request with its error, cancels the others and leaves none running", async () => {
    const upstream = new HeldUpstream();
    const send = split({ capabilities: capabilitiesOf({ maxItems: 1 }), maxParallel: 3 })(
      upstream.next,
    );
    const request = requestFor(numbered(9), model);
    const outcome = outcomeOf(send(request));
    await settled();
    const error = overloaded();
    upstream.requests[1]?.fail(error);
    expect(await outcome).toEqual({ error });
    expect(upstream.requests).toHaveLength(3);
    expect(upstream.inFlight).toBe(0);
    expect(upstream.requests[0]?.request.signal().aborted).toBe(true);
    expect(request.signal().aborted).toBe(false);
    expect(request.client.listeners.size).toBe(0);
  });
});

test("a sub-request with too few vectors fails the request", async () => {
  const { send } = through({ maxItems: 2 }, async () => ({ vectors: [[1]] }));
  const outcome = await outcomeOf(send(requestFor(numbered(4), model)));
  expect(outcome).toHaveProperty("error.kind", "internal");
});

describe("a client that disconnects", () => {
  test("cancels every sub-request, and no other is sent", async () => {
    const upstream = new HeldUpstream();
    const send = split({ capabilities: capabilitiesOf({ maxItems: 1 }), maxParallel: 2 })(
      upstream.next,
    );
    const request = requestFor(numbered(5), model);
    const outcome = outcomeOf(send(request));
    await settled();
    const reason = new Error("gone");
    request.client.abort(reason);
    expect(await outcome).toEqual({ error: reason });
    expect(upstream.requests).toHaveLength(2);
    expect(upstream.inFlight).toBe(0);
    expect(request.client.listeners.size).toBe(0);
  });
});
