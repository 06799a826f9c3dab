/** The log of requests that were sent: if the gateway is killed, their rows are written from it. */
import { expect, test } from "bun:test";
import { createRequestCharging } from "../../server/budgets/charge-request.ts";
import type { Caller, PermittedModel } from "../../server/request/caller.ts";
import type { JobLineContext } from "../../server/request/job-line.ts";
import { RequestRecord } from "../../server/request/request-record.ts";
import type { Target } from "../../server/upstream/contract.ts";
import { createTestBudgets, noon } from "./budgets-fixture.ts";

const target: Target = {
  upstream: { id: "up", kind: "openai-compatible", headers: {}, options: {} },
  model: "embed",
  tokenPrice: 1_000_000,
};
const input = { kind: "text", texts: ["an otter"] } as const;

/** A request of a key without a budget. The text costs two dollars. */
function open(line?: Partial<JobLineContext>, at: Target = target) {
  const logged: (number | undefined)[] = [];
  const charging = createRequestCharging({
    budgets: createTestBudgets().budgets,
    planImageQuery: () => undefined,
    inFlight: { begin: ({ estimate }) => void logged.push(estimate) },
  });
  const record = new RequestRecord("req_1", "embeddings", noon);
  record.caller = { id: "free", name: "free" } as unknown as Caller;
  record.line = line as JobLineContext | undefined;
  const model = { id: "embed", targets: [at] } as unknown as PermittedModel;
  const request = { operation: "embeddings", query: { input }, model, record } as const;
  record.logAttempt = (attempts) => charging.logAttempt(request, attempts);
  const attempt = (isHedge = false): void =>
    void record.startAttempt({ target: at, startedAt: undefined, isHedge });
  return { record, attempt, logged };
}

test("a request is logged before its first attempt, also without a budget or a price", () => {
  const priced = open();
  priced.attempt();
  expect(priced.logged).toEqual([2]);
  const { tokenPrice: _, ...free } = target;
  const unpriced = open(undefined, free);
  unpriced.attempt();
  expect(unpriced.logged).toEqual([undefined]);
});

test("an attempt after one that may have been billed, and a hedged request, are in the estimate", () => {
  const { record, attempt, logged } = open();
  attempt();
  record.addCharge({ target, billed: "maybe", cost: undefined, estimate: 2 });
  attempt();
  expect(logged).toEqual([2, 4]);
  const hedged = open();
  hedged.attempt();
  hedged.attempt(true);
  expect(hedged.logged).toEqual([2, 4]);
});

test("the parts of a request that is split are logged once", () => {
  const { attempt, logged } = open();
  for (let part = 0; part < 3; part++) attempt();
  expect(logged).toEqual([2]);
});

test("what an earlier process or a vendor's batch has sent is not logged: its cost is charged when its result is delivered", () => {
  for (const line of [{ wasSent: true }, { wasSent: false, vendor: {} as never }]) {
    const { attempt, logged } = open(line);
    attempt();
    expect(logged).toEqual([]);
  }
});

test("a request that has ended is not logged again while others wait for its upstream request", () => {
  const { record, attempt, logged } = open();
  record.end(499, undefined, 0, 0);
  attempt();
  expect(logged).toEqual([]);
});
