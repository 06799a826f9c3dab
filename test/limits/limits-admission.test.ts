/**
 * A raised limit admits queued requests without a new request, a request that was not executed uses up no limit, and the
 * error of a request that timed out in the queue says whether it was sent.
 */
import { expect, test } from "bun:test";
import type { Limits } from "../../contract/limits-and-budgets.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { Admission } from "../../server/limits/admission.ts";
import { ConcurrencySlots } from "../../server/limits/concurrency-slots.ts";
import { localRateLimitCounters } from "../../server/limits/rate-limit-counters.ts";
import { actualDemand, demandOf } from "../../server/limits/request-demand.ts";
import type { Caller, PermittedModel } from "../../server/request/caller.ts";
import type { EmbeddingsQuery } from "../../server/upstream/contract.ts";

const query: EmbeddingsQuery = {
  model: "m",
  input: { kind: "text", texts: ["a red boat"] },
  single: true,
  encoding: "float",
  extraFields: {},
};

test("a queued request is admitted by the next periodic check after its limit is raised", async () => {
  let limits: ReadonlyMap<string, Limits> = new Map([["key:one", { concurrent: 1 }]]);
  let check: (() => void) | undefined;
  const admission = new Admission({
    counters: localRateLimitCounters,
    snapshot: () => ({ limits }),
    maxImageRequests: 1,
    maxWaiting: 10,
    queueTimeoutMs: { embedding: 10_000, image: 10_000 },
    clock: () => 0,
    repeat: (again) => {
      check = again;
      return () => undefined;
    },
  });
  const admit = () =>
    admission.admit({
      caller: { id: "one", name: "one", scopes: ["key:one"] } as unknown as Caller,
      model: { id: "m", kind: "embedding" } as unknown as PermittedModel,
      query,
      priority: "interactive",
      signal: () => new AbortController().signal,
    });
  await admit();
  let isAdmitted = false;
  const queued = admit().then(() => {
    isAdmitted = true;
  });
  check?.();
  await Bun.sleep(0);
  expect(isAdmitted).toBe(false);
  limits = new Map([["key:one", { concurrent: 2 }]]);
  check?.();
  await Bun.sleep(0);
  expect(isAdmitted).toBe(true);
  await queued;
});

test("a request that failed at one target before it queued for another gets no error that says that nothing was sent", async () => {
  let now = 0;
  let check: (() => void) | undefined;
  const admission = new Admission({
    counters: localRateLimitCounters,
    snapshot: () => ({}),
    maxImageRequests: 1,
    maxWaiting: 10,
    queueTimeoutMs: { embedding: 1000, image: 1000 },
    clock: () => now,
    repeat: (again) => {
      check = again;
      return () => undefined;
    },
  });
  const messageOf = async (wasSent: boolean): Promise<string> => {
    const waiting = admission.waitForSlots({
      key: "one",
      priority: "interactive",
      model: { id: "m", kind: "embedding" },
      neededSlots: [new ConcurrencySlots(0)],
      demand: demandOf(query),
      hasStarted: () => false,
      wasSent,
      signal: () => new AbortController().signal,
    });
    now += 1000;
    check?.();
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
