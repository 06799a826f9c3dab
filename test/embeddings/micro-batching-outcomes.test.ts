/** Whatever happens to one request of a micro-batch, the others get their own results. */
import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { clientClosedError, Deadline, SignalClient } from "../../server/request/deadline.ts";
import { mayHaveBeenBilled } from "../../server/upstream/may-have-been-billed.ts";
import {
  attemptWith,
  type CountedRequest,
  type EmbeddingsSend,
  HeldUpstream,
  microBatchStage,
  modelWithTargets,
  outcomeOf,
  overloaded,
  rejected,
  requestFor,
  requestOf,
  responseTo,
  sendTexts,
  settled,
  setUpBusyMicroBatching,
  targetNamed,
  textsOf,
  tooManyTokens,
  vectorFor,
} from "./stage-fixture.ts";

describe("a client that disconnects", () => {
  const reason = new Error("gone");

  test("while its request is queued ends at once, and the request is not sent", async () => {
    const { upstream, send, release } = setUpBusyMicroBatching();
    const { requests, outcomes } = sendTexts(send, ["a", "b", "c"]);
    requests[1]?.client.abort(reason);
    expect(await outcomes[1]).toEqual({ error: reason });
    await release();
    expect(upstream.requestedTexts[1]).toEqual(["a", "c"]);
    upstream.requests[1]?.respond();
    expect(await outcomes[2]).toHaveProperty("value.vectors", [vectorFor("c")]);
  });

  test("while the micro-batch is in flight ends at once, without an effect on other clients", async () => {
    const { upstream, send, release } = setUpBusyMicroBatching();
    const { requests, outcomes } = sendTexts(send, ["a", "b", "c"]);
    await release();
    requests[0]?.client.abort(reason);
    expect(await outcomes[0]).toEqual({ error: reason });
    expect(upstream.requests[1]?.request.signal().aborted).toBe(false);
    upstream.requests[1]?.respond();
    expect(await outcomes[1]).toHaveProperty("value.vectors", [vectorFor("b")]);
    expect(await outcomes[2]).toHaveProperty("value.vectors", [vectorFor("c")]);
  });

  test("as the last client of a micro-batch cancels the upstream request", async () => {
    const { upstream, send, release } = setUpBusyMicroBatching();
    const { requests, outcomes } = sendTexts(send, ["a", "b"]);
    await release();
    for (const request of requests) request.client.abort(reason);
    expect(await Promise.all(outcomes)).toEqual([{ error: reason }, { error: reason }]);
    await settled();
    expect(upstream.requests[1]?.request.signal().aborted).toBe(true);
    expect(upstream.inFlight).toBe(0);
    expect(upstream.requests).toHaveLength(2);
  });
});

describe("a request whose timeout passes", () => {
  /** Aborts the request as its deadline does. */
  const timeOut = async (request: CountedRequest): Promise<void> => {
    const client = new SignalClient(new AbortController().signal);
    const deadline = new Deadline({ client, timeoutMs: 0, clock: () => 0 });
    await new Promise((resolve) => deadline.signal.addEventListener("abort", resolve));
    request.client.abort(deadline.signal.reason);
  };
  const attempted = (text: string) => ({ ...requestOf(text), attempt: attemptWith() });
  const inQueue = { kind: "upstream_timeout", details: { notSent: true } };
  const atUpstream = { kind: "upstream_timeout", details: {} };

  test("while its micro-batch is being filled gets an error that says that no upstream was called", async () => {
    const { upstream, send } = setUpBusyMicroBatching();
    const request = attempted("a");
    const outcome = outcomeOf(send(request));
    await timeOut(request);
    const { error } = (await outcome) as { error: GatewayError };
    expect(error).toMatchObject(inQueue);
    expect(error.message).toStartWith("Timed out while queued: no upstream was called.");
    // The wait says nothing about the target.
    expect(request.attempt.queueWait.isWaiting).toBe(true);
    expect(upstream.requests).toHaveLength(1);
  });

  test.each([1, 2])(
    "while its micro-batch of %i waits for the limits of the target gets that error",
    async (count) => {
      const { upstream, send, release } = setUpBusyMicroBatching();
      const requests = ["a", "b"].slice(0, count).map(attempted);
      const outcomes = requests.map((request) => outcomeOf(send(request)));
      await release();
      upstream.requests[1]!.request.attempt!.queueWait.isWaiting = true;
      await timeOut(requests.at(-1)!);
      expect(await outcomes.at(-1)).toMatchObject({ error: inQueue });
      expect(requests.at(-1)?.attempt.queueWait.isWaiting).toBe(true);
    },
  );

  test("while its micro-batch is in flight gets the error of an upstream that does not respond", async () => {
    const { send, release } = setUpBusyMicroBatching();
    const requests = ["a", "b"].map(attempted);
    const outcomes = requests.map((request) => outcomeOf(send(request)));
    await release();
    await timeOut(requests[1]!);
    expect(await outcomes[1]).toMatchObject({ error: atUpstream });
    expect(requests[1]?.attempt.queueWait.isWaiting).toBe(false);
  });

  test("while it is queued on its own, after its micro-batch failed: an upstream was called before", async () => {
    const { upstream, send, release } = setUpBusyMicroBatching();
    const requests = ["a", "b"].map(attempted);
    const outcomes = requests.map((request) => outcomeOf(send(request)));
    await release();
    upstream.requests[1]?.fail(tooManyTokens());
    await settled();
    upstream.requests[2]!.request.attempt!.queueWait.isWaiting = true;
    await timeOut(requests[0]!);
    expect(await outcomes[0]).toMatchObject({ error: atUpstream });
  });
});

test("the client that disconnects while its request is queued is not charged for it", async () => {
  const { send } = setUpBusyMicroBatching();
  const request = requestOf("a");
  const outcome = outcomeOf(send(request));
  request.client.abort(clientClosedError());
  const { error } = (await outcome) as { error: GatewayError };
  expect(error).toMatchObject({ kind: "client_closed", details: { notSent: true } });
  expect(mayHaveBeenBilled(1, error)).toBe(false);
});

test("all requests of a micro-batch have its wait for the limits of the target", async () => {
  const { upstream, send, release } = setUpBusyMicroBatching();
  const attempts = ["a", "b"].map(() => attemptWith());
  const responses = attempts.map((attempt, at) => send({ ...requestOf(`${at}`), attempt }));
  await release();
  Object.assign(upstream.requests[1]!.request.attempt!.queueWait, { ms: 40, admittedAt: 90 });
  upstream.requests[1]?.respond();
  await Promise.all(responses);
  expect(attempts.map(({ queueWait }) => queueWait)).toEqual(
    Array(2).fill({ ms: 40, isWaiting: false, admittedAt: 90 }),
  );
});

describe("a micro-batch that fails", () => {
  /** Sends all texts while the target is busy; then `serve` responds to the micro-batches. */
  async function together(texts: readonly string[], serve: EmbeddingsSend) {
    const requested: (readonly string[])[] = [];
    const first = Promise.withResolvers<void>();
    const send = microBatchStage()(async (request) => {
      if (textsOf(request)[0] === "first") {
        await first.promise;
        return responseTo(request);
      }
      requested.push(textsOf(request));
      return serve(request);
    });
    void send(requestOf("first"));
    const outcomes = texts.map((text) => outcomeOf(send(requestOf(text))));
    first.resolve();
    return { outcomes: await Promise.all(outcomes), requested };
  }

  const texts = Array.from({ length: 16 }, (_, at) => `text ${at}`);

  for (const error of [rejected("text 11 is not allowed"), tooManyTokens()]) {
    test(`for one input fails only its own client (${error.kind})`, async () => {
      const { outcomes, requested } = await together(texts, async (request) => {
        if (textsOf(request).includes("text 11")) throw error;
        return responseTo(request);
      });
      for (const [at, outcome] of outcomes.entries()) {
        if (at === 11) expect(outcome).toEqual({ error });
        else expect(outcome).toHaveProperty("value.vectors", [vectorFor(`text ${at}`)]);
      }
      // One for the whole micro-batch, then one for each client.
      expect(requested).toHaveLength(17);
    });
  }

  test("for every input gives each client its own error, in one more upstream request", async () => {
    const { outcomes, requested } = await together(texts, async (request) => {
      throw rejected(`${textsOf(request).join()} is not allowed`);
    });
    for (const [at, outcome] of outcomes.entries()) {
      expect(outcome).toHaveProperty("error.message", `text ${at} is not allowed`);
    }
    expect(requested).toHaveLength(texts.length + 1);
  });

  test("because of an upstream failure fails for all, and is not separated", async () => {
    const error = overloaded();
    const { outcomes, requested } = await together(texts, () => Promise.reject(error));
    expect(requested).toHaveLength(1);
    for (const outcome of outcomes) expect(outcome).toEqual({ error });
  });

  test.each(["upstream_error", "upstream_invalid"] as const)(
    "because of one input that the server cannot process (%s) fails only for its own client",
    async (kind) => {
      const { outcomes } = await together(["a", "poison", "c", "d"], async (request) => {
        if (textsOf(request).includes("poison")) throw new GatewayError(kind, "It choked.");
        return responseTo(request);
      });
      for (const [at, text] of ["a", "poison", "c", "d"].entries()) {
        if (text === "poison") expect(outcomes[at]).toHaveProperty("error.kind", kind);
        else expect(outcomes[at]).toHaveProperty("value.vectors", [vectorFor(text)]);
      }
    },
  );

  test.each(["upstream_error", "upstream_invalid"] as const)(
    "because the server fails every request (%s) fails for all clients after a few of them were sent on their own",
    async (kind) => {
      const many = Array.from({ length: 32 }, (_, at) => `text ${at}`);
      const { outcomes, requested } = await together(many, async () => {
        throw new GatewayError(kind, "It is down.");
      });
      for (const outcome of outcomes) expect(outcome).toHaveProperty("error.kind", kind);
      expect(requested.length).toBeLessThanOrEqual(6);
    },
  );

  test("because the server fails, and then refuses requests, is not sent again", async () => {
    const many = Array.from({ length: 32 }, (_, at) => `text ${at}`);
    const { outcomes, requested } = await together(many, async (request) => {
      if (textsOf(request).includes("text 31"))
        throw new GatewayError("upstream_error", "It fell.");
      throw new GatewayError("upstream_unreachable", "The upstream is unreachable.");
    });
    for (const outcome of outcomes) expect(outcome).toHaveProperty("error");
    expect(requested.length).toBeLessThanOrEqual(6);
  });

  test("with a wrong number of vectors fails for all", async () => {
    for (const wrong of [1, -1]) {
      const { outcomes } = await together(["a", "b", "c"], async (request) => ({
        vectors: Array.from({ length: textsOf(request).length + wrong }, () => [1]),
      }));
      for (const outcome of outcomes) {
        expect(outcome).toHaveProperty("error.kind", "upstream_invalid");
      }
    }
  });

  test("because of an internal error fails for all", async () => {
    const defect = new TypeError("x is not a function");
    const { outcomes } = await together(["a", "b"], () => {
      throw defect;
    });
    expect(outcomes).toEqual([{ error: defect }, { error: defect }]);
  });

  test("lets each request fail over to another target, batched again", async () => {
    const [bad, good] = [targetNamed("bad"), targetNamed("good")];
    const upstreams = new Map([bad, good].map((target) => [target, new HeldUpstream()]));
    const both = modelWithTargets(bad, good);
    const joined = microBatchStage()((request) => upstreams.get(request.target!)!.next(request));
    const send: EmbeddingsSend = (request) =>
      joined({ ...request, target: bad }).catch(() => joined({ ...request, target: good }));
    const outcomes = ["a", "b", "c", "d"].map((text) => outcomeOf(send(requestFor([text], both))));
    await settled();
    for (const visit of upstreams.get(bad)!.requests) visit.fail(overloaded());
    await settled();
    for (const visit of upstreams.get(bad)!.requests) visit.fail(overloaded());
    await settled();
    await upstreams.get(good)!.respondToAll();
    for (const [at, outcome] of (await Promise.all(outcomes)).entries()) {
      expect(outcome).toHaveProperty("value.vectors", [vectorFor("abcd"[at] ?? "")]);
    }
    expect(upstreams.get(good)!.requestedTexts).toEqual([["a"], ["b", "c", "d"]]);
  });
});
