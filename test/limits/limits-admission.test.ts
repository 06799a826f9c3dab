/**
 * A raised limit admits queued requests without a new request, a queued request runs no timer but its own, a request
 * that was not executed uses up no limit, and the error of a request that timed out in the queue says whether it was
 * sent.
 */
import { expect, test } from "bun:test";
import type { Limits } from "../../contract/limits-and-budgets.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import type { Timers } from "../../server/lib/timers.ts";
import { Admission } from "../../server/limits/admission.ts";
import {
  type ConcurrencySlots,
  LocalSlots,
  type SlotLease,
} from "../../server/limits/concurrency-slots.ts";
import { localRateLimitCounters } from "../../server/limits/rate-limit-counters.ts";
import { actualDemand, demandOf } from "../../server/limits/request-demand.ts";
import type { Caller, PermittedModel } from "../../server/request/caller.ts";
import { AdaptiveConcurrency } from "../../server/routing/health/adaptive-concurrency.ts";
import type { EmbeddingsQuery } from "../../server/upstream/contract.ts";

const query: EmbeddingsQuery = {
  model: "m",
  input: { kind: "text", texts: ["a red boat"] },
  single: true,
  encoding: "float",
  extraFields: {},
};

/** Timers that fire only when a test says so. */
class ManualTimers implements Timers {
  readonly running = new Map<unknown, { readonly ms: number; fire(): void }>();

  start(ms: number, fire: () => void): unknown {
    const timer = Symbol("timer");
    this.running.set(timer, { ms, fire });
    return timer;
  }

  stop(timer: unknown): void {
    this.running.delete(timer);
  }

  /** The durations of the running timers. */
  get durations(): number[] {
    return [...this.running.values()].map(({ ms }) => ms);
  }

  fire(ms: number): void {
    for (const [timer, entry] of this.running) {
      if (entry.ms !== ms) continue;
      this.running.delete(timer);
      entry.fire();
    }
  }
}

function setUp() {
  const timers = new ManualTimers();
  const state = { now: 0, limits: new Map<string, Limits>([["key:one", { concurrent: 1 }]]) };
  const admission = new Admission({
    counters: localRateLimitCounters,
    snapshot: () => ({ limits: state.limits }),
    maxImageRequests: 1,
    maxWaiting: 10,
    queueTimeoutMs: { embedding: 1000, image: 2000 },
    clock: () => state.now,
    timers,
  });
  const admit = () =>
    admission.admit({
      caller: { id: "one", name: "one", scopes: ["key:one"] } as unknown as Caller,
      model: { id: "m", kind: "embedding" } as unknown as PermittedModel,
      query,
      priority: "interactive",
      signal: () => new AbortController().signal,
    });
  const waitFor = (neededSlots: readonly ConcurrencySlots[], wasSent = false): Promise<SlotLease> =>
    admission.waitForSlots({
      key: "one",
      priority: "interactive",
      model: { id: "m", kind: "embedding" },
      neededSlots,
      hasStarted: () => false,
      wasSent,
      signal: () => new AbortController().signal,
    });
  return { timers, state, admission, admit, waitFor };
}

test("a queued request is admitted as soon as a reload raises its limit, without a new request", async () => {
  const { admission, admit, state, timers } = setUp();
  await admit();
  const queued = admit();
  admission.applyLimits();
  expect(admission.queued).toBe(1);
  state.limits = new Map([["key:one", { concurrent: 2 }]]);
  admission.applyLimits();
  expect(admission.queued).toBe(0);
  await queued;
  expect(timers.durations).toEqual([]);
});

test("a queued request has one timer, its queue timeout, and no timer runs after it ends", async () => {
  const { admission, admit, timers } = setUp();
  const first = await admit();
  expect(timers.durations).toEqual([]);
  const [admitted, late] = [admit(), admit()];
  await Bun.sleep(0);
  expect(timers.durations).toEqual([1000, 1000]);
  first?.release({ usage: undefined, wasSent: true, error: undefined });
  await admitted;
  expect(timers.durations).toEqual([1000]);
  timers.fire(1000);
  expect(await late.then(String, ({ message }) => message)).toContain("timed out while queued");
  expect(timers.durations).toEqual([]);
  expect(admission.queued).toBe(0);
});

test("a request that waits for a limit with an end is admitted when the limit ends", async () => {
  const { admission, state, timers, waitFor } = setUp();
  const concurrency = new AdaptiveConcurrency();
  concurrency.slots.inFlight = 10;
  concurrency.onOverload(state.now);
  state.now = 1200;
  const queued = waitFor([concurrency.slots]);
  await Bun.sleep(0);
  expect(timers.durations).toEqual([1800, 1000]);
  // Another overload error makes the limit last longer.
  state.now = 2000;
  concurrency.onOverload(state.now);
  state.now = 3000;
  timers.fire(1800);
  expect(admission.queued).toBe(1);
  expect(timers.durations).toEqual([1000, 2000]);
  state.now = 5000;
  timers.fire(2000);
  await queued;
  expect(timers.durations).toEqual([]);
});

test("a request that failed at one target before it queued for another gets no error that says that nothing was sent", async () => {
  const { timers, waitFor } = setUp();
  const messageOf = async (wasSent: boolean): Promise<string> => {
    const waiting = waitFor([new LocalSlots(0)], wasSent);
    timers.fire(1000);
    return waiting.then(String, ({ message }) => message);
  };
  expect(await messageOf(false)).toContain(
    "timed out while queued, and no upstream request was sent",
  );
  expect(await messageOf(true)).toContain("timed out while queued. Please try again");
});

test("a request to a missing upstream endpoint counts as a request, and for nothing else", () => {
  const estimated = demandOf(query);
  const error = new GatewayError("upstream_error", "no", { notExecuted: true });
  expect(estimated.tokens).toBeGreaterThan(0);
  expect(actualDemand(estimated, { usage: undefined, wasSent: true, error })).toEqual({
    requests: 1,
    tokens: 0,
    images: 0,
    pixels: 0,
  });
});
