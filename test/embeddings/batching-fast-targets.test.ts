/** Requests are batched only where that is faster. */
import { describe, expect, test } from "bun:test";
import { batch } from "../../server/embeddings/batch.ts";
import { capabilitiesOf, requestOf, responseTo, settled } from "./stage-fixture.ts";

describe("a fast target", () => {
  /** Responds after this time, by a simulated clock. */
  async function inFlightAtOnce(tookMs: number): Promise<number> {
    let now = 0;
    const held: (() => void)[] = [];
    const send = batch({
      capabilities: capabilitiesOf({}),
      enabled: () => true,
      concurrency: 1,
      fastMs: 5,
      clock: () => now,
    })((request) => new Promise((resolve) => held.push(() => resolve(responseTo(request)))));
    // One response sets the average response time.
    const first = send(requestOf("first"));
    now += tookMs;
    held.shift()?.();
    await first;
    const requests = [];
    for (const text of ["a", "b", "c"]) {
      requests.push(send(requestOf(text)));
      // Each in its own turn of the event loop: requests of the same turn are always batched.
      await new Promise(setImmediate);
    }
    await settled();
    const atOnce = held.length;
    while (held.length > 0) {
      held.shift()?.();
      await settled();
    }
    await Promise.all(requests);
    return atOnce;
  }

  test("is never busy: no request waits for it", async () => {
    expect(await inFlightAtOnce(4)).toBe(3);
  });

  test("is busy once it is slow", async () => {
    expect(await inFlightAtOnce(6)).toBe(1);
  });

  test("gets requests that arrive in the same event-loop turn in one upstream request, without a timer", async () => {
    let now = 0;
    const requests: (readonly string[])[] = [];
    const send = batch({
      capabilities: capabilitiesOf({}),
      enabled: () => true,
      // A request that waited for this timer would not be sent within the test.
      maxWaitMs: 1_000_000,
      fastMs: 5,
      clock: () => now++,
    })(async (request) => {
      const { input } = request.query;
      requests.push(input.kind === "text" ? input.texts : []);
      await new Promise(setImmediate);
      return responseTo(request);
    });
    await send(requestOf("first"));
    await Promise.all(["a", "b", "c", "d"].map((text) => send(requestOf(text))));
    expect(requests).toEqual([["first"], ["a"], ["b", "c", "d"]]);
  });
});
