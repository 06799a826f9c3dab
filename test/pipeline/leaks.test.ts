/** Requests leave nothing behind: no listener on a signal that lives on, and no timer. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { scaled } from "../depth.ts";
import { configFor, startGateway, testKey } from "../harness.ts";
import { until } from "../until.ts";

/**
 * Counts the abort listeners on signals that have not fired, and the timers that have neither fired nor been cleared.
 */
function countListenersAndTimers() {
  const listeners = new Map<AbortSignal, Set<unknown>>();
  const timers = new Set<unknown>();
  const { addEventListener, removeEventListener } = EventTarget.prototype;
  const { setTimeout: startTimer, clearTimeout: stopTimer } = globalThis;
  EventTarget.prototype.addEventListener = function (type, listener, options) {
    if (this instanceof AbortSignal) {
      const own = listeners.get(this) ?? new Set();
      listeners.set(this, own.add(listener));
    }
    return addEventListener.call(this, type, listener, options);
  };
  EventTarget.prototype.removeEventListener = function (type, listener, options) {
    if (this instanceof AbortSignal) {
      const own = listeners.get(this);
      own?.delete(listener);
      if (own?.size === 0) listeners.delete(this);
    }
    return removeEventListener.call(this, type, listener, options);
  };
  const countedTimer = (run: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => {
    const timer = startTimer(() => {
      timers.delete(timer);
      run(...args);
    }, ms);
    timers.add(timer);
    return timer;
  };
  globalThis.setTimeout = Object.assign(countedTimer, startTimer) as unknown as typeof setTimeout;
  globalThis.clearTimeout = ((timer: Timer) => {
    timers.delete(timer);
    stopTimer(timer);
  }) as typeof clearTimeout;
  return {
    listeners: () => [...listeners.keys()].filter(({ aborted }) => !aborted).length,
    timers: () => timers.size,
    restore: () => {
      EventTarget.prototype.addEventListener = addEventListener;
      EventTarget.prototype.removeEventListener = removeEventListener;
      globalThis.setTimeout = startTimer;
      globalThis.clearTimeout = stopTimer;
    },
  };
}

let counted: ReturnType<typeof countListenersAndTimers>;
beforeAll(() => {
  counted = countListenersAndTimers();
});
afterAll(() => counted.restore());

const vector = Buffer.from(new Float32Array([1, 2, 3]).buffer).toString("base64");

/** Adds no listener of its own, unlike the fake upstream of other tests. */
const startUpstream = () =>
  Bun.serve({
    port: 0,
    fetch: async (request) => {
      const { input } = (await request.json()) as { input: string | string[] };
      const data = [input].flat().map((_, index) => ({ index, embedding: vector }));
      return Response.json({ data, usage: { prompt_tokens: data.length } });
    },
  });

test("thousands of requests, some of which are canceled, leave no listener and no timer", async () => {
  const upstream = startUpstream();
  const gateway = startGateway({
    yaml: configFor(`${upstream.url}v1`),
    settings: { VEXEL_CACHE_BYTES: "10000000" },
    logLevel: "error",
  });
  try {
    let next = 0;
    const send = async (at: number): Promise<void> => {
      // Every tenth client leaves before its response; some inputs are requested twice at the same time.
      const cancel = at % 10 === 9 ? new AbortController() : undefined;
      const response = fetch(`${gateway.baseURL}/embeddings`, {
        method: "POST",
        headers: { authorization: `Bearer ${testKey}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "text-embedding-3-small", input: `text ${at >> 1}` }),
        ...(cancel && { signal: cancel.signal }),
      });
      cancel?.abort();
      await response.then((received) => received.bytes()).catch(() => undefined);
    };
    const client = async (upTo: number): Promise<void> => {
      while (next < upTo) await send(next++);
    };
    const run = async (upTo: number): Promise<{ listeners: number; timers: number }> => {
      await Promise.all(Array.from({ length: 16 }, () => client(upTo)));
      await until(() => gateway.inFlight() === 0);
      return { listeners: counted.listeners(), timers: counted.timers() };
    };
    const before = await run(200);
    const after = await run(200 + scaled(9800));
    expect(after.listeners).toBe(0);
    // A connection of a client or to the upstream may have an idle timer: at most 16 of each. A leak has hundreds.
    expect(after.timers).toBeLessThanOrEqual(before.timers + 32);
  } finally {
    await gateway.close();
    await upstream.stop(true);
  }
});
