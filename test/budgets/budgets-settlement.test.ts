/** Settlement: however a request ends, the budget is charged what was billed or may have been, and otherwise nothing. */
import { describe, expect, test } from "bun:test";
import type { ErrorKind } from "../../contract/errors.ts";
import { BudgetQueue } from "../../server/budgets/budget-queue.ts";
import { createRequestCharging } from "../../server/budgets/charge-request.ts";
import { AbortSource } from "../../server/lib/abort-signal.ts";
import { type ErrorDetails, GatewayError } from "../../server/lib/gateway-error.ts";
import { realTimers } from "../../server/lib/timers.ts";
import type { Caller, Route } from "../../server/request/caller.ts";
import { RequestRecord } from "../../server/request/request-record.ts";
import type { GenerationQuery, Target } from "../../server/upstream/contract.ts";
import { unrestrictedImages } from "../../server/upstream/image-capabilities.ts";
import { arrange, budgeted, noon, refusal } from "./budgets-fixture.ts";

const target: Target = {
  upstream: { id: "up", kind: "openai-compatible", headers: {}, options: {} },
  model: "painter",
};
const priced = { ...target, price: { images: { "": 0.5 } } };
const query: GenerationQuery = {
  ...{ model: "painter", prompt: "an otter", stream: false, options: {}, rest: {} },
};
const key = budgeted({ day: 10 });
const nobody = { signal: new AbortSource() };

function house(targets: readonly Target[] = [priced]) {
  const { budgets } = arrange();
  const reservationLog = { begin: () => undefined, end: () => undefined };
  const queue = new BudgetQueue({ waitMs: 0, max: 0, timers: realTimers, clock: () => 0 });
  const spending = createRequestCharging({
    budgets,
    capabilities: () => unrestrictedImages,
    reservationLog,
    queue,
  });
  const begin = (options: GenerationQuery["options"] = {}): RequestRecord => {
    const record = new RequestRecord("req_1", "generations", noon);
    record.caller = { id: "ci", name: "ci", budgets: [key] } as unknown as Caller;
    const route = { id: "painter", targets, maxImages: 10 } as unknown as Route;
    spending.begin("generations", { ...query, options }, route, record, nobody);
    return record;
  };
  const state = () => budgets.status(key, noon)[0];
  return { spending, begin, state };
}

interface End {
  readonly fault: ErrorKind;
  readonly details?: ErrorDetails;
  readonly attempts?: number;
  readonly mayHavePaid?: true;
}

const unpaid: readonly End[] = [
  { fault: "invalid_value", attempts: 0 },
  { fault: "client_closed", attempts: 0 },
  { fault: "internal", attempts: 0 },
  { fault: "upstream_rate_limit" },
  { fault: "upstream_rejected" },
  { fault: "moderation_blocked" },
  { fault: "insufficient_quota" },
  { fault: "upstream_unreachable", details: { notSent: true } },
  // The upstream has no such place.
  { fault: "upstream_error", details: { notExecuted: true } },
];
const perhapsPaid: readonly End[] = [
  { fault: "upstream_unreachable" },
  { fault: "upstream_timeout" },
  { fault: "upstream_error" },
  { fault: "upstream_invalid" },
  { fault: "upstream_rate_limit", details: { mayBeBilled: true } },
  { fault: "client_closed" },
  { fault: "internal" },
  { fault: "storage_unavailable" },
  // The last fault is harmless, but one before it was not.
  { fault: "upstream_rate_limit", attempts: 2, mayHavePaid: true },
  { fault: "upstream_unreachable", attempts: 2, details: { notSent: true }, mayHavePaid: true },
];

function run({ fault, details, attempts = 1, mayHavePaid }: End) {
  const { spending, begin, state } = house();
  const record = begin();
  expect(state()).toMatchObject({ spent: 0, reserved: 0.5 });
  record.routing.attempts = attempts;
  if (mayHavePaid) record.cost.earlierAttemptMayBeBilled = true;
  spending.end(record, new GatewayError(fault, "no", details));
  return { ...state(), estimate: record.cost.estimated };
}

describe("nothing is charged for a call that ended with", () => {
  test.each(unpaid)("%p", (end) => {
    expect(run(end)).toMatchObject({ spent: 0, reserved: 0, estimate: undefined });
  });
});

describe("the estimate is charged for a call that ended with", () => {
  test.each(perhapsPaid)("%p", (end) => {
    expect(run(end)).toMatchObject({ spent: 0.5, reserved: 0, estimate: 0.5 });
  });
});

test("a cost that is known is charged, whatever came after", () => {
  const { spending, begin, state } = house();
  const record = begin({ n: 2 });
  record.routing.attempts = 1;
  record.cost.actual = 0.75;
  spending.end(record, new GatewayError("client_closed", "gone"));
  expect(state()).toMatchObject({ spent: 0.75, reserved: 0 });
  expect(record.cost.estimated).toBeUndefined();
});

interface Retried {
  readonly attempts: number;
  readonly upstreamRequests?: number;
  readonly cost?: number;
}

describe("a call that was asked again after it may have been paid for", () => {
  const ended = (
    { attempts, upstreamRequests = 1, cost }: Retried,
    error?: GatewayError,
  ): { spent: number | undefined; estimate: number | undefined } => {
    const { spending, begin, state } = house();
    const record = begin();
    Object.assign(record.routing, { attempts, upstreamRequests });
    Object.assign(record.cost, { actual: cost, earlierAttemptMayBeBilled: true });
    spending.end(record, error);
    return { spent: state()?.spent, estimate: record.cost.estimated };
  };
  const broken = new GatewayError("upstream_unreachable", "no");

  test("counts its cost, and its estimate for each of the tries before", () => {
    expect(ended({ attempts: 2, cost: 0.75 })).toEqual({ spent: 1.25, estimate: 0.5 });
    expect(ended({ attempts: 3, cost: 0.75 })).toEqual({ spent: 1.75, estimate: 1 });
  });

  test("counts its estimate once more where the last try has no known cost either", () => {
    expect(ended({ attempts: 2 })).toEqual({ spent: 1, estimate: 1 });
    expect(ended({ attempts: 2 }, broken)).toEqual({ spent: 1, estimate: 1 });
  });

  test("counts the first alone where the last was refused", () => {
    const refused = new GatewayError("upstream_rate_limit", "no");
    expect(ended({ attempts: 2 }, refused)).toEqual({ spent: 0.5, estimate: 0.5 });
  });

  test("counts only the share of a call in parts that was asked again", () => {
    const { estimate } = ended({ attempts: 5, upstreamRequests: 4, cost: 0.75 });
    expect(estimate).toBeCloseTo(0.125, 12);
  });
});

test("a call of a key without budgets is neither estimated nor charged", () => {
  const { spending } = house();
  const record = new RequestRecord("req_1", "generations", noon);
  record.caller = { id: "ci", name: "ci" } as unknown as Caller;
  const route = { id: "painter", targets: [] } as unknown as Route;
  spending.begin("generations", query, route, record, nobody);
  expect(record.cost.reservation).toBeUndefined();
  spending.end(record);
  expect(record.cost.estimated).toBeUndefined();
});

test("where a price is told only afterwards, the next call is estimated at the last one's", () => {
  const { spending, begin, state } = house([target]);
  const first = begin({ n: 2, size: "1024x1024" });
  expect(first.cost.reservation?.estimate).toBeUndefined();
  first.routing.attempts = 1;
  first.cost.actual = 4;
  spending.end(first);
  const [second, other] = [begin({ n: 1, size: "1024x1024" }), begin({ size: "2048x2048" })];
  expect(second.cost.reservation?.estimate).toBe(2);
  expect(other.cost.reservation?.estimate).toBeUndefined();
  expect(state()).toMatchObject({ spent: 4, reserved: 2 });
  expect(refusal(() => begin({ n: 3, size: "1024x1024" })).kind).toBe("over_budget");
});
