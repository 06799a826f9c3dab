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

  test("send one request of their own when its client disconnects", async () => {
    const { setup, first, waiting } = startWaiters();
    first.cancel.abort(disconnectError());
    expect(upstreamSignal(setup, 0)).toMatchObject({
      aborted: true,
      reason: { kind: "client_closed" },
    });
    setup.upstreamRequests[0]?.fail(first.cancel.signal.reason);
    expect(errorOf(await first.outcome)).toBe(first.cancel.signal.reason);
    await settle();
    expect(setup.upstreamRequests.slice(1).map(({ inputs }) => inputs)).toEqual([["a"]]);
    setup.upstreamRequests[1]?.respond("base64", true);
    for (const pending of waiting) await expectVectors(pending);
    expect(setup.singleFlight.size).toBe(0);
  });

  test("do not fail when the timeout of that request passes", async () => {
    const { setup, first, waiting } = startWaiters();
    first.cancel.abort(new GatewayError("upstream_timeout", "Its time is over."));
    setup.upstreamRequests[0]?.fail(first.cancel.signal.reason);
    await settle();
    setup.upstreamRequests[1]?.respond("base64", true);
    for (const pending of waiting) await expectVectors(pending);
  });

  test.each([
    ["the input", ["a"]],
    ["another input", ["a", "much too long"]],
  ])("send their own requests, concurrently, when %s was refused", async (_, texts) => {
    const { setup, first, waiting } = startWaiters(texts);
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
