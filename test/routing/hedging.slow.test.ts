/**
 * Hedged requests: a request to a target that is slower than its p95 is also sent to another one, within the hedge
 * budget.
 */

import { describe, expect, spyOn, test } from "bun:test";
import fc from "fast-check";
import { chargeEmbeddings } from "../../server/embeddings/embedding-usage.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { realTimers } from "../../server/lib/timers.ts";
import type { PermittedModel } from "../../server/request/caller.ts";
import { timedOutInQueue } from "../../server/request/deadline.ts";
import { HedgeBudget } from "../../server/routing/retry-budget.ts";
import { routeRequest } from "../../server/routing/route-request.ts";
import { TargetRegistry } from "../../server/routing/target-registry.ts";
import type { EmbeddingsQuery, EmbeddingsResponse } from "../../server/upstream/contract.ts";
import { tries } from "../depth.ts";
import {
  type EmbeddingsSend,
  type HeldRequest,
  HeldUpstream,
  modelWithTargets,
  outcomeOf,
  overloaded,
  rejected,
  requestFor,
  responseTo,
  settled,
  targetNamed,
} from "../embeddings/stage-fixture.ts";
import { until } from "../until.ts";

/** Targets in order: each is its own tier. */
const targets = ["a", "b", "c"].map((id, tier) => ({ ...targetNamed(id), tier }));
const [a, b, c] = targets as [(typeof targets)[0], (typeof targets)[0], (typeof targets)[0]];

interface Arranged {
  readonly upstream: HeldUpstream;
  readonly send: EmbeddingsSend;
  readonly registry: TargetRegistry;
  /** Records this many requests of this duration. */
  train(times: number, ms: number): Promise<void>;
  /** Waits longer than the hedge delay. */
  pastHedgeDelay(): Promise<void>;
}

const registryOf = (model: PermittedModel, clock: () => number): TargetRegistry =>
  new TargetRegistry({
    snapshot: () => ({ models: new Map([[model.id, model]]) }),
    clock,
    random: Math.random,
    timers: realTimers,
    onTargetChange: () => undefined,
  });

function arrange({ model = modelWithTargets(a, b) } = {}): Arranged & { model: typeof model } {
  const upstream = new HeldUpstream();
  let now = 0;
  let training: number | undefined;
  const next: EmbeddingsSend = async (request) => {
    if (training === undefined) return upstream.next(request);
    now += training;
    return responseTo(request);
  };
  const registry = registryOf(model, () => now);
  const send = routeRequest<EmbeddingsQuery, EmbeddingsResponse>({
    registry,
    sizeClassOf: () => 0,
    charge: chargeEmbeddings,
  })(next);
  return {
    upstream,
    send,
    registry,
    model,
    train: async (times, ms) => {
      training = ms;
      for (let at = 0; at < times; at++) await send(requestFor(["x"], model));
      training = undefined;
    },
    pastHedgeDelay: () => Bun.sleep(30),
  };
}

/** A request whose first attempt is slow: it waits at the first target, and its hedge at the second. */
async function sendHedged(model = modelWithTargets(a, b)) {
  const { upstream, send, train, pastHedgeDelay } = arrange({ model });
  await train(20, 3);
  const request = requestFor(["x"], model);
  const addCharge = spyOn(request.record, "addCharge");
  const outcome = outcomeOf(send(request));
  await until(() => upstream.requests.length === 2);
  const [first, hedge] = upstream.requests as [HeldRequest, HeldRequest];
  const charges = () => addCharge.mock.calls.map(([{ billed }]) => billed).sort();
  return { upstream, request, outcome, first, hedge, pastHedgeDelay, charges };
}

const where = ({ requests: attempts }: HeldUpstream): string[] =>
  attempts.map(({ request }) => request.target?.upstream.id ?? "");

describe("a target that exceeds its attempt timeout", () => {
  /** No retry and no hedge is allowed for a while. */
  const spendAll = ({ registry, model }: ReturnType<typeof arrange>): void => {
    const { retries, hedges } = registry.targetsFor(model).budgets;
    while (retries.spend(0));
    while (hedges.spend());
  };

  test("is waited for when the retry budget is empty: the request ends with its response, not early with 504", async () => {
    const arranged = arrange();
    const { upstream, send, model, train } = arranged;
    await train(200, 10);
    spendAll(arranged);
    const request = send(requestFor(["x"], model));
    const outcome = Promise.race([outcomeOf(request), Bun.sleep(1500).then(() => "waits")]);
    // The attempt timeout is at least one second; after it, the other target would be tried if a retry were left.
    expect(await outcome).toBe("waits");
    expect(where(upstream)).toEqual(["a"]);
    await upstream.respondToAll();
    expect((await request).vectors).toHaveLength(1);
  });

  test("is replaced when the retry budget allows it, and that costs one retry", async () => {
    const arranged = arrange();
    const { upstream, send, model, registry, train } = arranged;
    await train(200, 10);
    const { retries, hedges } = registry.targetsFor(model).budgets;
    while (hedges.spend());
    const spent = spyOn(retries, "spend");
    const request = send(requestFor(["x"], model));
    await until(() => upstream.requests.length === 2);
    expect(where(upstream)).toEqual(["a", "b"]);
    upstream.requests[1]?.respond();
    expect((await request).vectors).toHaveLength(1);
    expect(spent.mock.results.filter(({ value }) => value === true)).toHaveLength(1);
  });

  test("and whose hedge exceeds it too are replaced by a third target, and that costs one retry", async () => {
    const { upstream, send, model, registry, train } = arrange({
      model: modelWithTargets(a, b, c),
    });
    await train(200, 10);
    const spent = spyOn(registry.targetsFor(model).budgets.retries, "spend");
    const request = send(requestFor(["x"], model));
    await until(() => upstream.requests.length === 3);
    expect(where(upstream)).toEqual(["a", "b", "c"]);
    upstream.requests[2]?.respond();
    expect((await request).vectors).toHaveLength(1);
    // For the third target: the hedge has a budget of its own.
    expect(spent.mock.results.filter(({ value }) => value === true)).toHaveLength(1);
  });

  test("is not the error that the client gets when another target failed with an error of its own", async () => {
    const arranged = arrange();
    const { upstream, send, model, train } = arranged;
    await train(200, 10);
    const outcome = outcomeOf(send(requestFor(["x"], model)));
    await until(() => upstream.requests.length === 2);
    spendAll(arranged);
    await until(() => upstream.requests[0]?.request.signal().aborted === true);
    upstream.requests[1]?.fail(overloaded());
    expect(await outcome).toMatchObject({ error: { kind: "upstream_overloaded" } });
  });
});

describe("a hedge", () => {
  test("is not sent before the latency is known", async () => {
    const { upstream, send, model, train, pastHedgeDelay } = arrange();
    await train(19, 3);
    const response = send(requestFor(["x"], model));
    await pastHedgeDelay();
    expect(where(upstream)).toEqual(["a"]);
    upstream.requests[0]!.respond();
    await response;
    const next = send(requestFor(["x"], model));
    await until(() => upstream.requests.length === 3);
    expect(where(upstream).slice(1)).toEqual(["a", "b"]);
    await upstream.respondToAll();
    await next;
  });

  test("is not sent while the first attempt is within its usual latency", async () => {
    const { upstream, send, model, train, pastHedgeDelay } = arrange();
    await train(20, 60_000);
    const response = send(requestFor(["x"], model));
    await pastHedgeDelay();
    expect(where(upstream)).toEqual(["a"]);
    upstream.requests[0]!.respond();
    await response;
  });

  test("is not sent when there is no other target", async () => {
    const { upstream, send, model, train, pastHedgeDelay } = arrange({
      model: modelWithTargets(a),
    });
    await train(40, 3);
    const response = send(requestFor(["x"], model));
    await pastHedgeDelay();
    expect(where(upstream)).toEqual(["a"]);
    upstream.requests[0]!.respond();
    await response;
  });

  test("wins when it is faster, and the first attempt is canceled", async () => {
    const { request, outcome, first, hedge, charges } = await sendHedged();
    hedge.respond({ vectors: [[2]] });
    expect(await outcome).toMatchObject({ value: { vectors: [[2]] } });
    expect(first.request.signal().aborted).toBe(true);
    expect(hedge.request.signal().aborted).toBe(false);
    expect(request.record.routing.target).toBe(b);
    expect(request.record.routing.attempts).toBe(2);
    // A canceled request may be billed, and counts once, although it fails later.
    await settled();
    expect(charges()).toEqual(["maybe", "yes"]);
    expect(request.client.listeners.size).toBe(0);
  });

  test("is canceled when the first attempt succeeds", async () => {
    const { upstream, request, outcome, first, hedge } = await sendHedged();
    first.respond({ vectors: [[1]] });
    // The second response arrives at the same time, and is dropped.
    hedge.respond({ vectors: [[2]] });
    expect(await outcome).toMatchObject({ value: { vectors: [[1]] } });
    await until(() => upstream.inFlight === 0);
    expect(request.record.routing.target).toBe(a);
    expect(request.client.listeners.size).toBe(0);
  });
});

describe("when one of two attempts fails", () => {
  test.each([0, 1])("the response of the other attempt is used: %i", async (failing) => {
    const { upstream, request, outcome, pastHedgeDelay } = await sendHedged();
    upstream.requests[failing]!.fail(overloaded());
    await pastHedgeDelay();
    expect(upstream.requests).toHaveLength(2);
    upstream.requests[1 - failing]!.respond({ vectors: [[7]] });
    expect(await outcome).toMatchObject({ value: { vectors: [[7]] } });
    expect(request.record.routing.target).toBe(failing === 0 ? b : a);
  });

  test("before the hedge delay, the other target gets one request, by failover, and no hedge", async () => {
    const { upstream, send, model, train, pastHedgeDelay } = arrange();
    await train(20, 20);
    const response = send(requestFor(["x"], model));
    upstream.requests[0]!.fail(overloaded());
    await until(() => upstream.requests.length === 2);
    await pastHedgeDelay();
    expect(where(upstream)).toEqual(["a", "b"]);
    upstream.requests[1]!.respond();
    await response;
  });
});

describe("when both attempts fail", () => {
  test.each([
    ["in order", [0, 1]],
    ["the second before the first", [1, 0]],
  ])(
    "and the first was never sent, the client gets the error of the second, which may be billed: %s",
    async (_, order) => {
      const { upstream, request, outcome } = await sendHedged();
      const errors = [timedOutInQueue(), new GatewayError("upstream_invalid", "no vectors")];
      for (const at of order) upstream.requests[at]!.fail(errors[at]);
      expect(await outcome).toEqual({ error: errors[1] });
      expect(request.record.routing.target).toBe(b);
    },
  );

  test("the second last, its cost is not lost", async () => {
    const { outcome, first, hedge, charges } = await sendHedged();
    const refused = new GatewayError("upstream_rejected", "no such parameter");
    first.fail(refused);
    await settled();
    expect(charges()).toEqual([]);
    hedge.fail(new GatewayError("upstream_invalid", "no vectors"));
    expect(await outcome).toEqual({ error: refused });
    expect(charges()).toEqual(["maybe"]);
  });

  test.each([
    ["in order", [0, 1]],
    ["the second before the first", [1, 0]],
  ])(
    "with an error that is not transient, the client gets the error of the first, and no retry follows: %s",
    async (_, order) => {
      const { upstream, request, outcome, pastHedgeDelay } = await sendHedged();
      const errors = ["upstream_invalid", "upstream_rate_limit"] as const;
      const errorKinds = errors.map((name) => new GatewayError(name, "no more"));
      for (const at of order) upstream.requests[at]!.fail(errorKinds[at]);
      expect(await outcome).toEqual({ error: errorKinds[0] });
      await pastHedgeDelay();
      expect(upstream.requests).toHaveLength(2);
      expect(request.record.routing.target).toBe(a);
      expect(request.record.routing.attempts).toBe(2);
      expect(request.client.listeners.size).toBe(0);
    },
  );

  test("a third target is tried if there is one", async () => {
    const { upstream, outcome } = await sendHedged(modelWithTargets(a, b, c));
    for (const visit of upstream.requests) visit.fail(overloaded());
    await until(() => upstream.requests.length === 3);
    expect(where(upstream)).toEqual(["a", "b", "c"]);
    upstream.requests[2]!.respond({ vectors: [[3]] });
    expect(await outcome).toMatchObject({ value: { vectors: [[3]] } });
  });

  test("because the request is invalid, no third target is tried", async () => {
    const { upstream, outcome, pastHedgeDelay } = await sendHedged(modelWithTargets(a, b, c));
    for (const visit of upstream.requests) visit.fail(rejected("no"));
    expect(await outcome).toHaveProperty("error.kind", "upstream_rejected");
    await pastHedgeDelay();
    expect(upstream.requests).toHaveLength(2);
  });
});

describe("a client that disconnects", () => {
  test("cancels both attempts", async () => {
    const { upstream, request, outcome } = await sendHedged();
    const reason = new GatewayError("client_closed", "gone");
    request.client.abort(reason);
    expect(await outcome).toEqual({ error: reason });
    for (const visit of upstream.requests) expect(visit.request.signal().reason).toBe(reason);
    expect(upstream.inFlight).toBe(0);
    expect(request.client.listeners.size).toBe(0);
  });

  test("before the hedge prevents the hedge", async () => {
    const { upstream, send, model, train, pastHedgeDelay } = arrange();
    await train(20, 10);
    const request = requestFor(["x"], model);
    const outcome = outcomeOf(send(request));
    request.client.abort(new Error("gone"));
    expect(await outcome).toHaveProperty("error.message", "gone");
    await pastHedgeDelay();
    expect(where(upstream)).toEqual(["a"]);
  });
});

describe("the hedge budget", () => {
  test("allows one hedge in twenty requests, and a few accumulated ones, even if every request is slow", async () => {
    const model = modelWithTargets(a, b);
    let now = 0;
    const attempts = { a: 0, b: 0 };
    let slow = false;
    const next: EmbeddingsSend = async (request) => {
      attempts[request.target === a ? "a" : "b"]++;
      if (slow && request.target === a) await Bun.sleep(15);
      else now += 3;
      return responseTo(request);
    };
    const registry = registryOf(model, () => now);
    const send = routeRequest<EmbeddingsQuery, EmbeddingsResponse>({
      registry,
      sizeClassOf: () => 0,
    })(next);
    for (let at = 0; at < 400; at++) await send(requestFor(["x"], model));
    expect(attempts).toEqual({ a: 400, b: 0 });
    slow = true;
    await Promise.all(Array.from({ length: 400 }, () => send(requestFor(["x"], model))));
    expect(attempts.a).toBe(800);
    expect(attempts.b).toBeGreaterThanOrEqual(10);
    expect(attempts.b).toBeLessThanOrEqual(0.05 * 400 + 10);
  });

  test("holds for any order of earning and spending", () => {
    const steps = fc.array(fc.boolean(), { maxLength: 2000 });
    const property = fc.property(steps, (all) => {
      const budget = new HedgeBudget();
      let [requests, extra, inARow] = [0, 0, 0];
      for (const earns of all) {
        if (earns) [requests, inARow] = [requests + 1, 0];
        if (earns) budget.earn();
        else if (budget.spend()) [extra, inARow] = [extra + 1, inARow + 1];
        expect(extra).toBeLessThanOrEqual(requests * 0.05 + 1e-6);
        expect(inARow).toBeLessThanOrEqual(10);
      }
    });
    fc.assert(property, tries(50));
  });
});
