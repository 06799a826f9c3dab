/** Budget queue: embeddings requests wait, in order and for a limited time, for reservations to be released. */
import { describe, expect, test } from "bun:test";
import { BudgetQueue } from "../../server/budgets/budget-queue.ts";
import { createRequestCharging } from "../../server/budgets/charge-request.ts";
import { tryPlanQuery } from "../../server/images/plan/plan.ts";
import type { Caller, PermittedModel } from "../../server/request/caller.ts";
import { RequestRecord } from "../../server/request/request-record.ts";
import { unrestrictedImages } from "../../server/upstream/image-capabilities.ts";
import { targetNamed } from "../embeddings/stage-fixture.ts";
import { VirtualTime } from "../fuzz/routing-simulation.ts";
import { budgeted, createTestBudgets, noon } from "./budgets-fixture.ts";

const key = budgeted({ total: 10 });
/** A dollar per token: a text of four bytes is estimated at $1, and costs $6 at most. */
const target = { ...targetNamed("a"), tokenPrice: 1_000_000 };
const model = { id: "vectors", targets: [target] } as unknown as PermittedModel;
const query = { input: { kind: "text", texts: ["four"] } };

function setUp({ waitMs = 5000, max = 100 } = {}) {
  const { budgets } = createTestBudgets();
  const time = new VirtualTime();
  const queue = new BudgetQueue({ waitMs, max, timers: time, clock: time.clock });
  const reservations = { reserve: () => undefined };
  const charging = createRequestCharging({
    budgets,
    planImageQuery: ({ query, policy }) => tryPlanQuery(query, unrestrictedImages, policy),
    reservations,
    queue,
  });
  /** `outcome` is undefined while the request is queued. */
  const begin = (charged = key) => {
    const record = new RequestRecord("req_1", "embeddings", noon);
    record.caller = { id: "ci", name: "ci", budgets: [charged] } as unknown as Caller;
    const cancel = new AbortController();
    const request = { record, cancel, outcome: undefined as unknown };
    const chargedRequest = { operation: "embeddings", query, model, record } as const;
    if (charging.reserve(chargedRequest) === undefined) {
      request.outcome = "admitted at once";
      return request;
    }
    charging.waitAndReserve(chargedRequest, cancel.signal).then(
      () => {
        request.outcome = "admitted";
      },
      (error: unknown) => {
        request.outcome = error;
      },
    );
    return request;
  };
  const end = ({ record }: ReturnType<typeof begin>, cost: number): void => {
    record.routing.attempts = 1;
    record.cost.actual = cost;
    charging.end(record);
  };
  return { begin, end, queue, time, status: () => budgets.status(key, noon)[0] };
}

const flushMicrotasks = async (): Promise<void> => {
  for (let step = 0; step < 10; step++) await undefined;
};

describe("a request in the budget queue", () => {
  test("is admitted in FIFO order when an earlier request costs less than was reserved", async () => {
    const { begin, end, status } = setUp();
    // The first reserves its maximum, $6, and the second its estimate.
    const [first, second, third, fourth] = [begin(), begin(), begin(), begin()];
    expect([first.outcome, second.outcome]).toEqual(["admitted at once", "admitted at once"]);
    end(second, 1);
    await flushMicrotasks();
    expect([third.outcome, fourth.outcome]).toEqual(["admitted", undefined]);
    end(first, 1);
    await flushMicrotasks();
    expect(fourth.outcome).toBe("admitted");
    for (const request of [third, fourth]) end(request, 1);
    expect(status()).toMatchObject({ spent: 4, reserved: 0 });
  });

  test("is refused at once, without a retry, when the budget is spent", async () => {
    const { begin, end } = setUp();
    const [first, second, third] = [begin(), begin(), begin()];
    end(first, 6);
    end(second, 4);
    await flushMicrotasks();
    expect(third.outcome).toHaveProperty("kind", "over_budget");
    expect(third.outcome).toHaveProperty("definition.retry", "never");
  });

  test("is refused with Retry-After when its wait times out", async () => {
    const { begin, end, time, queue, status } = setUp({ waitMs: 5000 });
    const [first, second, third] = [begin(), begin(), begin()];
    await time.run();
    expect(time.now()).toBe(5000);
    expect(third.outcome).toHaveProperty("details.retryAfterMs", 5000);
    expect(third.outcome).toHaveProperty("definition.retry", "later");
    expect(queue.size).toBe(0);
    for (const request of [first, second]) end(request, 1);
    expect(status()).toMatchObject({ spent: 2, reserved: 0 });
  });

  test("reserves nothing after its client disconnects", async () => {
    const { begin, end, queue, status } = setUp();
    const [first, second, third] = [begin(), begin(), begin()];
    third.cancel.abort(new Error("gone"));
    await flushMicrotasks();
    expect(third.outcome).toHaveProperty("kind", "client_closed");
    expect(queue.size).toBe(0);
    for (const request of [first, second]) end(request, 1);
    expect(third.record.cost.reservation).toBeUndefined();
    expect(status()).toMatchObject({ spent: 2, reserved: 0 });
  });

  test("is not blocked by requests of other budgets", async () => {
    const { begin, end } = setUp();
    const other = budgeted({ total: 10 }, "key", "other");
    const [byMaximum, otherByMaximum] = [begin(), begin(other)];
    const [byEstimate, otherByEstimate] = [begin(), begin(other)];
    const [queued, otherQueued] = [begin(), begin(other)];
    end(otherByEstimate, 1);
    await flushMicrotasks();
    expect([queued.outcome, otherQueued.outcome]).toEqual([undefined, "admitted"]);
    for (const request of [byMaximum, otherByMaximum, byEstimate]) end(request, 1);
    await flushMicrotasks();
    expect(queued.outcome).toBe("admitted");
  });
});

test("the budget queue admits no more than its maximum, and nothing if its timeout is zero", async () => {
  for (const options of [{ max: 1 }, { waitMs: 0 }]) {
    const { begin, queue } = setUp(options);
    const requests = Array.from({ length: 4 }, () => begin());
    await flushMicrotasks();
    expect(queue.size).toBe(options.max ?? 0);
    expect(requests.at(-1)!.outcome).toHaveProperty("definition.retry", "later");
  }
});

test("queued requests exceed a budget by the error of one request at most, whatever they cost", async () => {
  for (let costPattern = 0; costPattern < 64; costPattern++) {
    const { begin, end, status } = setUp();
    const requests = Array.from({ length: 30 }, () => begin());
    for (let step = 0; step < 60; step++) {
      const inFlight = requests.filter(({ outcome, record }) => {
        return (
          (outcome === "admitted at once" || outcome === "admitted") &&
          record.cost.actual === undefined
        );
      });
      const next = inFlight[step % Math.max(1, inFlight.length)];
      if (next) end(next, (costPattern >> (step % 6)) & 1 ? 6 : 1);
      await flushMicrotasks();
    }
    expect(status()!.reserved).toBe(0);
    expect(status()!.spent).toBeLessThanOrEqual(10 + 5);
    expect(status()!.spent).toBeGreaterThanOrEqual(10);
  }
});
