/** A limit that is raised lets in those who wait for it, whether anyone new comes or not; and what nobody made uses up none. */
import { expect, test } from "bun:test";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import type { Limits } from "../../server/lib/limits.ts";
import { Admission } from "../../server/limits/admission.ts";
import { actualDemand, demandOf } from "../../server/limits/request-cost.ts";
import type { Caller, Route } from "../../server/request/caller.ts";
import type { EmbeddingsQuery } from "../../server/upstream/contract.ts";

const query: EmbeddingsQuery = {
  model: "m",
  input: { kind: "text", texts: ["a red boat"] },
  single: true,
  encoding: "float",
  rest: {},
};

test("a call that waits goes in within one look at those who wait", async () => {
  let limits: ReadonlyMap<string, Limits> = new Map([["key:one", { concurrent: 1 }]]);
  let look: (() => void) | undefined;
  const admission = new Admission({
    snapshot: () => ({ limits }),
    maxImageRequests: 1,
    maxWaiting: 10,
    queueTimeoutMs: { embedding: 10_000, image: 10_000 },
    clock: () => 0,
    repeat: (again) => {
      look = again;
      return () => undefined;
    },
  });
  const enter = () =>
    admission.admit({
      caller: { id: "one", name: "one", scopes: ["key:one"] } as unknown as Caller,
      route: { id: "m", kind: "embedding" } as unknown as Route,
      query,
      signal: () => new AbortController().signal,
    });
  enter();
  let inside = false;
  const waiting = Promise.resolve(enter()).then(() => {
    inside = true;
  });
  look?.();
  await Bun.sleep(0);
  expect(inside).toBe(false);
  limits = new Map([["key:one", { concurrent: 2 }]]);
  look?.();
  await Bun.sleep(0);
  expect(inside).toBe(true);
  await waiting;
});

test("a call that came to a place which is none counts as a request, and for nothing else", () => {
  const guess = demandOf(query);
  const error = new GatewayError("upstream_error", "no", { notExecuted: true });
  expect(guess.tokens).toBeGreaterThan(0);
  expect(actualDemand(guess, { usage: undefined, wasSent: true, error })).toEqual({
    ...{ requests: 1, tokens: 0, images: 0, pixels: 0 },
  });
});
