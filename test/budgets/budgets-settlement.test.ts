/**
 * Settlement: however a request ends, the budget is charged what was billed or may have been, and otherwise nothing.
 */
import { describe, expect, test } from "bun:test";
import type { ErrorKind } from "../../contract/errors.ts";
import { createRequestCharging } from "../../server/budgets/charge-request.ts";
import { tryPlanQuery } from "../../server/images/plan/plan.ts";
import { type ErrorDetails, GatewayError } from "../../server/lib/gateway-error.ts";
import type { Caller, PermittedModel } from "../../server/request/caller.ts";
import type { AttemptCharge } from "../../server/request/charge.ts";
import { type ChargeAttempt, chargeOnlyAttempt } from "../../server/request/charge-attempt.ts";
import type { JobLineContext } from "../../server/request/job-line.ts";
import { RequestRecord } from "../../server/request/request-record.ts";
import type { StageRequest } from "../../server/request/stage.ts";
import type { GenerationQuery, ImageResponse, Target } from "../../server/upstream/contract.ts";
import { unrestrictedImages } from "../../server/upstream/image-capabilities.ts";
import { budgeted, createTestBudgets, noon, rowOf } from "./budgets-fixture.ts";

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
  const { budgets, accounts } = createTestBudgets();
  const inFlight = { begin: () => undefined };
  const { reserve } = createRequestCharging({
    budgets,
    planImageQuery: ({ query, policy }) => tryPlanQuery(query, unrestrictedImages, policy),
    inFlight,
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
    void reserve({
      operation: "generations",
      query: { ...query, options },
      model,
      record,
    });
    return record;
  };
  const state = (owner = key) => budgets.status(owner, noon)[0];
  const charging = {
    reserve,
    /** With the row, which charges the request. */
    end: (record: RequestRecord): void => {
      record.reservation?.release();
      const { cost, estimatedCost } = record.ledgerRow(record.caller as Caller);
      accounts.end(rowOf(record.caller?.budgets ?? [], noon, { cost, estimatedCost }));
    },
  };
  return { charging, begin, state };
}

interface RequestEnd {
  readonly kind: ErrorKind;
  readonly details?: ErrorDetails;
  /** How the attempt before ended. If absent, there was none. */
  readonly earlier?: ErrorKind;
}

const notBilled: readonly RequestEnd[] = [
  { kind: "invalid_value" },
  { kind: "client_closed", details: { notSent: true } },
  { kind: "upstream_rate_limit" },
  { kind: "upstream_rejected" },
  { kind: "moderation_blocked" },
  { kind: "insufficient_quota" },
  { kind: "upstream_unreachable", details: { notSent: true } },
  // The upstream has no such endpoint.
  { kind: "upstream_error", details: { notExecuted: true } },
  // The upstream bills only what it delivers.
  { kind: "upstream_error", details: { notBilled: true } },
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
  { kind: "upstream_rate_limit", earlier: "upstream_timeout" },
  { kind: "upstream_unreachable", details: { notSent: true }, earlier: "upstream_error" },
];

const charge: ChargeAttempt<GenerationQuery, ImageResponse> = ({ report }, at) =>
  report.addCharge({ target: at, billed: "maybe", cost: undefined, estimate: 0.5 });

async function run({ kind, details, earlier }: RequestEnd) {
  const { charging, begin, state } = setUp();
  const record = begin();
  expect(state()).toMatchObject({ spent: 0, reserved: 0.5 });
  const errors = [
    ...(earlier ? [new GatewayError(earlier, "no")] : []),
    new GatewayError(kind, "no", details),
  ];
  for (const error of errors) {
    const send = chargeOnlyAttempt(priced, charge, () => Promise.reject(error));
    const request = { query, report: record } as unknown as StageRequest<GenerationQuery>;
    expect(await send(request).catch((thrown) => thrown)).toBe(error);
  }
  charging.end(record);
  return { ...state(), estimate: record.charge.estimatedCost };
}

describe("nothing is charged for a request that ended with", () => {
  test.each(notBilled)("%p", async (end) => {
    expect(await run(end)).toMatchObject({ spent: 0, reserved: 0, estimate: undefined });
  });
});

describe("the estimate is charged for a request that ended with", () => {
  test.each(maybeBilled)("%p", async (end) => {
    expect(await run(end)).toMatchObject({ spent: 0.5, reserved: 0, estimate: 0.5 });
  });
});

describe("the charge of a request is the sum of its attempts:", () => {
  const sum = (...charges: readonly Omit<AttemptCharge, "target">[]) => {
    const { charging, begin, state } = setUp();
    const record = begin();
    for (const one of charges) record.addCharge({ ...one, target: priced });
    charging.end(record);
    const { cost, estimatedCost } = record.charge;
    return { spent: state()?.spent, cost, estimate: estimatedCost };
  };
  const known = { billed: "yes", cost: 0.75 } as const;
  const unknown = { billed: "yes", cost: undefined, estimate: 0.5 } as const;
  const canceled = { billed: "maybe", cost: undefined, estimate: 0.5 } as const;
  const unpriced = { billed: "yes", cost: undefined } as const;

  test("a known cost, whatever error follows", () => {
    expect(sum(known)).toEqual({ spent: 0.75, cost: 0.75, estimate: undefined });
  });

  test("a known cost, and the estimate of each attempt that may have been billed before", () => {
    expect(sum(canceled, known)).toEqual({ spent: 1.25, cost: 0.75, estimate: 0.5 });
    expect(sum(canceled, canceled, known)).toEqual({ spent: 1.75, cost: 0.75, estimate: 1 });
  });

  test("the estimate, if the cost is unknown", () => {
    expect(sum(unknown)).toEqual({ spent: 0.5, cost: undefined, estimate: 0.5 });
    expect(sum(canceled, unknown)).toEqual({ spent: 1, cost: undefined, estimate: 1 });
    expect(sum(canceled, canceled)).toEqual({ spent: 1, cost: undefined, estimate: 1 });
  });

  test("the parts of a request that was split", () => {
    expect(sum(known, known, unknown)).toEqual({ spent: 2, cost: 1.5, estimate: 0.5 });
  });

  test("nothing for a part without a price, and the cost stays unknown", () => {
    expect(sum(unpriced)).toEqual({ spent: 0, cost: undefined, estimate: undefined });
    expect(sum(known, unpriced)).toEqual({ spent: 0.75, cost: undefined, estimate: 0.75 });
  });
});

test("a request of a key without budgets is neither estimated nor charged", () => {
  const { charging } = setUp();
  const record = new RequestRecord("req_1", "generations", noon);
  record.caller = { id: "ci", name: "ci" } as unknown as Caller;
  const model = { id: "image-model", targets: [] } as unknown as PermittedModel;
  void charging.reserve({ operation: "generations", query, model, record });
  expect(record.reservation).toBeUndefined();
  charging.end(record);
  expect(record.charge.isEmpty).toBe(true);
});

describe("the line of a job, whose cost is reserved in all of its budgets,", () => {
  test("is not refused, and reserves nothing more", () => {
    const { begin, state } = setUp();
    for (let request = 0; request < 20; request++) begin();
    expect(state()).toMatchObject({ reserved: 10 });
    const line = { isReserved: true, wasSent: false };
    begin({ n: 2 }, line);
    expect([state()?.reserved, state(tag)?.reserved]).toEqual([10, 0]);
  });

  test("is charged, and not refused, if an earlier process sent it", () => {
    const { charging, begin, state } = setUp();
    begin({ n: 2 }, { isReserved: true, wasSent: false });
    const resumed = begin({}, { isReserved: true, wasSent: true });
    resumed.addCharge({ target: priced, billed: "yes", cost: 0.75 });
    charging.end(resumed);
    for (const owner of [key, tag]) expect(state(owner)).toMatchObject({ spent: 0.75 });
  });
});
