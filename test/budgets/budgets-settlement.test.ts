/**
 * Settlement: however a request ends, the budget is charged what was billed or may have been, and otherwise nothing.
 */
import { describe, expect, test } from "bun:test";
import type { ErrorKind } from "../../contract/errors.ts";
import { createRequestCharging } from "../../server/budgets/charge-request.ts";
import { tryPlanQuery } from "../../server/images/plan/plan.ts";
import { type ErrorDetails, GatewayError } from "../../server/lib/gateway-error.ts";
import type { Caller, PermittedModel } from "../../server/request/caller.ts";
import type { JobLineContext } from "../../server/request/job-line.ts";
import { RequestRecord } from "../../server/request/request-record.ts";
import type { GenerationQuery, Target } from "../../server/upstream/contract.ts";
import { unrestrictedImages } from "../../server/upstream/image-capabilities.ts";
import { budgeted, createTestBudgets, noon, refusal } from "./budgets-fixture.ts";

const target: Target = {
  upstream: { id: "up", kind: "openai-compatible", headers: {}, options: {} },
  model: "image-model",
};
const priced = { ...target, price: { images: { "": 0.5 } } };
const query: GenerationQuery = {
  model: "image-model",
  prompt: "an otter",
  stream: false,
  options: {},
  extraFields: {},
};
const key = budgeted({ day: 10 });
const tag = budgeted({ day: 1 }, "tag", "shop\tteam:art");

function setUp(targets: readonly Target[] = [priced]) {
  const { budgets } = createTestBudgets();
  const reservations = { reserve: () => undefined };
  const charging = createRequestCharging({
    budgets,
    planImageQuery: ({ query, policy }) => tryPlanQuery(query, unrestrictedImages, policy),
    reservations,
  });
  const begin = (
    options: GenerationQuery["options"] = {},
    line?: Pick<JobLineContext, "isReserved" | "wasSent">,
  ): RequestRecord => {
    const record = new RequestRecord("req_1", "generations", noon);
    const owners = line ? [key, tag] : [key];
    record.caller = { id: "ci", name: "ci", budgets: owners } as unknown as Caller;
    record.line = line as JobLineContext | undefined;
    const model = { id: "image-model", targets, maxImages: 10 } as unknown as PermittedModel;
    void charging.reserve({
      operation: "generations",
      query: { ...query, options },
      model,
      record,
    });
    return record;
  };
  const state = (owner = key) => budgets.status(owner, noon)[0];
  return { charging, begin, state };
}

interface RequestEnd {
  readonly kind: ErrorKind;
  readonly details?: ErrorDetails;
  readonly attempts?: number;
  readonly earlierMayBeBilled?: true;
}

const notBilled: readonly RequestEnd[] = [
  { kind: "invalid_value", attempts: 0 },
  { kind: "client_closed", attempts: 0 },
  { kind: "internal", attempts: 0 },
  { kind: "upstream_rate_limit" },
  { kind: "upstream_rejected" },
  { kind: "moderation_blocked" },
  { kind: "insufficient_quota" },
  { kind: "upstream_unreachable", details: { notSent: true } },
  // The upstream has no such endpoint.
  { kind: "upstream_error", details: { notExecuted: true } },
];
const maybeBilled: readonly RequestEnd[] = [
  { kind: "upstream_unreachable" },
  { kind: "upstream_timeout" },
  { kind: "upstream_error" },
  { kind: "upstream_invalid" },
  { kind: "upstream_rate_limit", details: { mayBeBilled: true } },
  { kind: "client_closed" },
  { kind: "internal" },
  { kind: "storage_unavailable" },
  // The last error was not billed, but an earlier attempt may have been.
  { kind: "upstream_rate_limit", attempts: 2, earlierMayBeBilled: true },
  {
    kind: "upstream_unreachable",
    attempts: 2,
    details: { notSent: true },
    earlierMayBeBilled: true,
  },
];

function run({ kind, details, attempts = 1, earlierMayBeBilled }: RequestEnd) {
  const { charging, begin, state } = setUp();
  const record = begin();
  expect(state()).toMatchObject({ spent: 0, reserved: 0.5 });
  record.routing.attempts = attempts;
  if (earlierMayBeBilled) record.cost.earlierAttemptMayBeBilled = true;
  charging.end(record, new GatewayError(kind, "no", details));
  return { ...state(), estimate: record.cost.estimated };
}

describe("nothing is charged for a request that ended with", () => {
  test.each(notBilled)("%p", (end) => {
    expect(run(end)).toMatchObject({ spent: 0, reserved: 0, estimate: undefined });
  });
});

describe("the estimate is charged for a request that ended with", () => {
  test.each(maybeBilled)("%p", (end) => {
    expect(run(end)).toMatchObject({ spent: 0.5, reserved: 0, estimate: 0.5 });
  });
});

test("a known cost is charged, whatever error follows", () => {
  const { charging, begin, state } = setUp();
  const record = begin({ n: 2 });
  record.routing.attempts = 1;
  record.cost.actual = 0.75;
  charging.end(record, new GatewayError("client_closed", "gone"));
  expect(state()).toMatchObject({ spent: 0.75, reserved: 0 });
  expect(record.cost.estimated).toBeUndefined();
});

interface Retried {
  readonly attempts: number;
  readonly routedRequests?: number;
  readonly cost?: number;
}

describe("a request that was retried after it may have been billed", () => {
  const ended = (
    { attempts, routedRequests = 1, cost }: Retried,
    error?: GatewayError,
  ): { spent: number | undefined; estimate: number | undefined } => {
    const { charging, begin, state } = setUp();
    const record = begin();
    Object.assign(record.routing, { attempts, routedRequests });
    Object.assign(record.cost, { actual: cost, earlierAttemptMayBeBilled: true });
    charging.end(record, error);
    return { spent: state()?.spent, estimate: record.cost.estimated };
  };
  const broken = new GatewayError("upstream_unreachable", "no");

  test("is charged its cost, and its estimate for each earlier attempt", () => {
    expect(ended({ attempts: 2, cost: 0.75 })).toEqual({ spent: 1.25, estimate: 0.5 });
    expect(ended({ attempts: 3, cost: 0.75 })).toEqual({ spent: 1.75, estimate: 1 });
  });

  test("is charged its estimate once more if the cost of the last attempt is unknown too", () => {
    expect(ended({ attempts: 2 })).toEqual({ spent: 1, estimate: 1 });
    expect(ended({ attempts: 2 }, broken)).toEqual({ spent: 1, estimate: 1 });
  });

  test("is charged for the first attempt only if the last one was refused", () => {
    const refused = new GatewayError("upstream_rate_limit", "no");
    expect(ended({ attempts: 2 }, refused)).toEqual({ spent: 0.5, estimate: 0.5 });
  });

  test("that was split into chunks is charged for the retried chunks only", () => {
    const { estimate } = ended({ attempts: 5, routedRequests: 4, cost: 0.75 });
    expect(estimate).toBeCloseTo(0.125, 12);
  });
});

test("a request of a key without budgets is neither estimated nor charged", () => {
  const { charging } = setUp();
  const record = new RequestRecord("req_1", "generations", noon);
  record.caller = { id: "ci", name: "ci" } as unknown as Caller;
  const model = { id: "image-model", targets: [] } as unknown as PermittedModel;
  void charging.reserve({ operation: "generations", query, model, record });
  expect(record.cost.reservation).toBeUndefined();
  charging.end(record);
  expect(record.cost.estimated).toBeUndefined();
});

describe("the line of a job, whose cost the budgets of key and project have reserved,", () => {
  test("is not refused by these budgets, and reserves the budget of its tag", () => {
    const { begin, state } = setUp();
    for (let request = 0; request < 20; request++) begin();
    expect(state()).toMatchObject({ reserved: 10 });
    const line = { isReserved: true, wasSent: false };
    begin({ n: 2 }, line);
    expect([state()?.reserved, state(tag)?.reserved]).toEqual([10, 1]);
    expect(refusal(() => begin({}, line)).message).toContain("the tag");
  });

  test("is charged, and not refused, if an earlier process sent it", () => {
    const { charging, begin, state } = setUp();
    begin({ n: 2 }, { isReserved: true, wasSent: false });
    const resumed = begin({}, { isReserved: true, wasSent: true });
    resumed.routing.attempts = 1;
    resumed.cost.actual = 0.75;
    charging.end(resumed);
    for (const owner of [key, tag]) expect(state(owner)).toMatchObject({ spent: 0.75 });
  });
});
