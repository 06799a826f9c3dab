/**
 * Single-flight: a request that waits for another's input gets its vector, and none of the errors that apply only to
 * the other.
 */
import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import {
  disconnectError,
  errorOf,
  expectVectors,
  modelNamed,
  type PendingRequest,
  settle,
  startCache,
  textQuery,
  upstreamResponseOf,
} from "../fuzz/cache-fixture.ts";
import { countsOf } from "./stage-fixture.ts";

const model = modelNamed("model", "space");
const maxBytes = 1e6;
const upstreamSignal = (
  { upstreamRequests }: ReturnType<typeof startCache>,
  at: number,
): AbortSignal => upstreamRequests[at]!.request.signal();
const trouble = () => new GatewayError("upstream_error", "The upstream failed.");
const refusal = () => new GatewayError("context_length_exceeded", "Too long.");

describe("requests that wait for an input in flight", () => {
  /** One request is in flight and three wait for it, one of them with an input of its own. */
  function startWaiters(texts: readonly string[] = ["a"]) {
    const setup = startCache({ maxBytes });
    const first = setup.start(textQuery(texts), model);
    const waiting = [0, 1, 2].map(() => setup.start(textQuery(["a"]), model));
    expect(setup.upstreamRequests).toHaveLength(1);
    return { setup, first, waiting };
  }

  test("share the received vector, even if the cache has no space for it", async () => {
    for (const size of [maxBytes, 0]) {
      for (const form of ["base64", "numbers", "floats"] as const) {
        const setup = startCache({ maxBytes: size });
        const pendingRequests = [0, 1].map(() => setup.start(textQuery(["a"]), model));
        setup.upstreamRequests[0]?.respond(form, true);
        const [first, second] = await Promise.all(pendingRequests.map(upstreamResponseOf));
        expect(second?.vectors[0]).toBe(first?.vectors[0] as never);
        expect([setup.upstreamRequests.length, setup.cache.size]).toEqual([1, size === 0 ? 0 : 1]);
      }
    }
  });

  test("get none of the vectors that were received before the cache was cleared", async () => {
    const setup = startCache({ maxBytes });
    const cached = setup.start(textQuery(["a"]), model);
    setup.upstreamRequests[0]?.respond("base64", true);
    await upstreamResponseOf(cached);
    const other = setup.start(textQuery(["b"]), model);
    const waiting = setup.start(textQuery(["a", "b", "c"]), model);
    setup.upstreamRequests[2]?.respond("base64", true);
    await settle();
    await setup.cache.clear();
    setup.upstreamRequests[1]?.respond("base64", true);
    await upstreamResponseOf(other);
    await settle();
    const sent = setup.upstreamRequests.map(({ request }) => request.query.input);
    expect(sent.at(-1)).toEqual({ kind: "text", texts: ["a", "b", "c"] });
    setup.upstreamRequests[3]?.respond("base64", true);
    await expectVectors(waiting);
  });

  test("fail with the error of the upstream, which gets no second request", async () => {
    const { setup, first, waiting } = startWaiters(["a", "b"]);
    const error = trouble();
    setup.upstreamRequests[0]?.fail(error);
    for (const { outcome } of [first, ...waiting]) expect(errorOf(await outcome)).toBe(error);
    expect(setup.upstreamRequests).toHaveLength(1);
    expect([setup.singleFlight.size, setup.cache.size]).toEqual([0, 0]);
    for (const { request } of waiting) expect(request.record.upstreamTokens).toBe(0);
    expect(first.request.record.upstreamTokens).toBeUndefined();
  });

  test("get the vectors although its client disconnects: nothing is billed twice", async () => {
    const { setup, first, waiting } = startWaiters();
    first.cancel.abort(disconnectError());
    await settle();
    expect(upstreamSignal(setup, 0).aborted).toBe(false);
    const later = setup.start(textQuery(["a"]), model);
    setup.upstreamRequests[0]?.respond("base64", true);
    for (const pending of [...waiting, later]) await expectVectors(pending);
    expect(setup.upstreamRequests).toHaveLength(1);
    // It sent the upstream request, so it is charged for it.
    expect((await upstreamResponseOf(first)).usage).toEqual({ inputTokens: 1 });
    expect(countsOf(first.request.record)).toMatchObject({ cachedInputs: 0, upstreamTokens: 1 });
  });

  test("cancel the upstream request at once when all of them are aborted", async () => {
    const { setup, first, waiting } = startWaiters();
    first.cancel.abort(disconnectError());
    for (const { cancel } of waiting) {
      expect(upstreamSignal(setup, 0).aborted).toBe(false);
      cancel.abort(disconnectError());
    }
    expect(upstreamSignal(setup, 0)).toMatchObject({
      aborted: true,
      reason: { kind: "client_closed" },
    });
    setup.upstreamRequests[0]?.fail(first.cancel.signal.reason);
    expect(errorOf(await first.outcome)).toBe(first.cancel.signal.reason);
    expect(setup.singleFlight.size).toBe(0);
  });

  test("in a chain cancel an upstream request when no connected client needs it", async () => {
    const setup = startCache({ maxBytes });
    const one = setup.start(textQuery(["a"]), model);
    // Each requests an input that the next one waits for.
    const two = setup.start(textQuery(["a", "b"]), model);
    const three = setup.start(textQuery(["b", "d"]), model);
    const four = setup.start(textQuery(["d", "e"]), model);
    const canceled = () => setup.upstreamRequests.map(({ request: call }) => call.signal().aborted);
    one.cancel.abort(disconnectError());
    expect(canceled()).toEqual([false, false, false, false]);
    // The request for "b" continues for the third client; no client waits for "a" any more.
    two.cancel.abort(disconnectError());
    expect(canceled()).toEqual([true, false, false, false]);
    three.cancel.abort(disconnectError());
    expect(canceled()).toEqual([true, true, false, false]);
    four.cancel.abort(disconnectError());
    expect(canceled()).toEqual([true, true, true, true]);
    for (const upstreamRequest of setup.pending())
      upstreamRequest.fail(upstreamRequest.request.signal().reason);
    for (const { outcome } of [one, two, three, four]) expect((await outcome).ok).toBe(false);
  });

  test("send their own request when its client disconnected and its timeout passes", async () => {
    const setup = startCache({ maxBytes }, { timeoutMs: 1 });
    const first = setup.start(textQuery(["a"]), model);
    const waiter = setup.start(textQuery(["a"]), model);
    first.cancel.abort(disconnectError());
    expect(upstreamSignal(setup, 0).aborted).toBe(false);
    await new Promise((resolve) => upstreamSignal(setup, 0).addEventListener("abort", resolve));
    setup.upstreamRequests[0]?.fail(upstreamSignal(setup, 0).reason);
    expect(errorOf(await first.outcome)).toMatchObject({ kind: "upstream_timeout" });
    await settle();
    setup.upstreamRequests[1]?.respond("base64", true);
    await expectVectors(waiter);
  });

  test("for one of many inputs send their own request when its client disconnects", async () => {
    const many = Array.from({ length: 65 }, (_, at) => (at === 0 ? "a" : `text ${at}`));
    const { setup, first, waiting } = startWaiters(many);
    first.cancel.abort(disconnectError());
    expect(upstreamSignal(setup, 0).aborted).toBe(true);
    setup.upstreamRequests[0]?.fail(first.cancel.signal.reason);
    await settle();
    expect(setup.upstreamRequests.slice(1).map(({ inputs }) => inputs)).toEqual([["a"]]);
    setup.upstreamRequests[1]?.respond("base64", true);
    for (const pending of waiting) await expectVectors(pending);
  });

  test("do not fail when the timeout of that request passes", async () => {
    const { setup, first, waiting } = startWaiters();
    first.cancel.abort(new GatewayError("upstream_timeout", "Its time is over."));
    setup.upstreamRequests[0]?.fail(first.cancel.signal.reason);
    await settle();
    setup.upstreamRequests[1]?.respond("base64", true);
    for (const pending of waiting) await expectVectors(pending);
  });

  test("send their own requests, concurrently, when another input may have been refused", async () => {
    const { setup, first, waiting } = startWaiters(["a", "much too long"]);
    setup.upstreamRequests[0]?.fail(refusal());
    expect(errorOf(await first.outcome)).toBeInstanceOf(GatewayError);
    await settle();
    expect(setup.upstreamRequests.slice(1).map(({ inputs }) => inputs)).toEqual([
      ["a"],
      ["a"],
      ["a"],
    ]);
    for (const upstreamRequest of setup.upstreamRequests) upstreamRequest.respond("base64", true);
    for (const pending of waiting) await expectVectors(pending);
  });

  test("get the refusal of an identical request of the same key, and no other", async () => {
    const setup = startCache({ maxBytes });
    const embed = (key: string, user?: string) =>
      setup.start(textQuery(["a"], user === undefined ? {} : { user }), model, key);
    const [first, same, otherKey, otherUser] = [
      embed("k"),
      embed("k"),
      embed("l"),
      embed("k", "u"),
    ];
    const error = refusal();
    setup.upstreamRequests[0]?.fail(error);
    expect(errorOf(await first.outcome)).toBe(error);
    expect(errorOf(await same.outcome)).toBe(error);
    await settle();
    expect(setup.upstreamRequests.slice(1).map(({ request }) => request.record)).toEqual([
      otherKey.request.record,
      otherUser.request.record,
    ]);
  });

  test("do not fail with the error of another model's upstream, although the vectors would be shared", async () => {
    const setup = startCache({ maxBytes });
    setup.start(textQuery(["a"]), model);
    const other = setup.start(textQuery(["a"]), modelNamed("elsewhere", "space"));
    setup.upstreamRequests[0]?.fail(trouble());
    await settle();
    setup.upstreamRequests[1]?.respond("base64", true);
    await expectVectors(other);
  });

  test("end at once when their own client disconnects, without an effect on other clients", async () => {
    const { setup, first, waiting } = startWaiters();
    const [disconnected, ...staying] = waiting as [PendingRequest, ...PendingRequest[]];
    disconnected.cancel.abort(disconnectError());
    expect(errorOf(await disconnected.outcome)).toMatchObject({ kind: "client_closed" });
    await settle();
    expect(setup.upstreamRequests).toHaveLength(1);
    setup.upstreamRequests[0]?.respond("base64", true);
    for (const pending of [first, ...staying]) await expectVectors(pending);
  });

  test("say at their own timeout that they waited, and not that an upstream did not respond", async () => {
    const { setup, first, waiting } = startWaiters();
    const [timedOut, ...staying] = waiting as [PendingRequest, ...PendingRequest[]];
    const alsoSent = setup.start(textQuery(["a", "own"]), model);
    alsoSent.request.record.routing.attempts = 1;
    setup.upstreamRequests[1]?.respond("base64", true);
    await settle();
    for (const { cancel } of [timedOut, alsoSent])
      cancel.abort(new GatewayError("upstream_timeout", "The upstream did not respond."));
    const message = expect.stringMatching(/^Timed out while waiting for another request with/);
    const details = { notSent: true };
    expect(errorOf(await timedOut.outcome)).toMatchObject({
      kind: "upstream_timeout",
      message,
      details,
    });
    const error = errorOf(await alsoSent.outcome);
    expect(error).toMatchObject({ kind: "upstream_timeout", message });
    expect(error).not.toMatchObject({ details });
    setup.upstreamRequests[0]?.respond("base64", true);
    for (const pending of [first, ...staying]) await expectVectors(pending);
  });

  test("fail at once with an error that applies to them", async () => {
    const setup = startCache({ maxBytes });
    setup.start(textQuery(["slow"]), model);
    setup.start(textQuery(["broken"]), model);
    const both = setup.start(textQuery(["slow", "broken"]), model);
    const error = trouble();
    setup.upstreamRequests[1]?.fail(error);
    expect(errorOf(await both.outcome)).toBe(error);
  });

  test("are charged for their own upstream request, even if other requests fail first", async () => {
    const setup = startCache({ maxBytes });
    setup.start(textQuery(["broken"]), model);
    const both = setup.start(textQuery(["broken", "own"]), model);
    const error = trouble();
    setup.upstreamRequests[0]?.fail(error);
    await settle();
    expect(both.ended).toBe(false);
    setup.upstreamRequests[1]?.respond("base64", true);
    expect(errorOf(await both.outcome)).toBe(error);
    expect(countsOf(both.request.record)).toMatchObject({ cachedInputs: 1, upstreamTokens: 3 });
  });
});

test("no request waits for an aborted one, and the next request replaces it", async () => {
  const setup = startCache({ maxBytes });
  const first = setup.start(textQuery(["a"]), model);
  first.cancel.abort(disconnectError());
  const second = setup.start(textQuery(["a"]), model);
  expect(setup.upstreamRequests).toHaveLength(2);
  setup.upstreamRequests[0]?.fail(first.cancel.signal.reason);
  await settle();
  const third = setup.start(textQuery(["a"]), model);
  expect(setup.upstreamRequests).toHaveLength(2);
  setup.upstreamRequests[1]?.respond("base64", true);
  for (const pending of [second, third]) await expectVectors(pending);
});

test("a request that waits for several requests that time out sends its own request", async () => {
  const setup = startCache({ maxBytes });
  const leavers = [0, 1, 2, 3].map(() => setup.start(textQuery(["a"]), model));
  const patient = setup.start(textQuery(["a"]), model);
  const over = () => new GatewayError("upstream_timeout", "Its time is over.");
  for (const at of [0, 1]) {
    leavers[at]?.cancel.abort(over());
    setup.upstreamRequests[at]?.fail(leavers[at]?.cancel.signal.reason);
    await settle();
  }
  expect(setup.upstreamRequests.map(({ request }) => request.record)).toContain(
    patient.request.record,
  );
  for (const upstreamRequest of setup.upstreamRequests) upstreamRequest.respond("base64", true);
  await expectVectors(patient);
});
