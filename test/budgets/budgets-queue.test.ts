/** Budget queue: embeddings requests wait, in order and for a limited time, for reservations to be released. */
import { describe, expect, test } from "bun:test";
import { BudgetQueue } from "../../server/budgets/budget-queue.ts";
import { createRequestCharging } from "../../server/budgets/charge-request.ts";
import { AbortSource } from "../../server/lib/abort-signal.ts";
import type { Caller, Route } from "../../server/request/caller.ts";
import { RequestRecord } from "../../server/request/request-record.ts";
import { unrestrictedImages } from "../../server/upstream/image-capabilities.ts";
import { targetNamed } from "../embeddings/stage-fixture.ts";
import { VirtualTime } from "../fuzz/scheduling-world.ts";
import { arrange, budgeted, noon } from "./budgets-fixture.ts";

const key = budgeted({ total: 10 });
/** A dollar for each token: a text of four bytes likely costs one, and six at most. */
const target = { ...targetNamed("a"), price: { tokens: { textIn: 1_000_000 } } };
const route = { id: "vectors", targets: [target] } as unknown as Route;
const query = { input: { kind: "text", texts: ["four"] } };

function house({ waitMs = 5000, max = 100 } = {}) {
  const { budgets } = arrange();
  const time = new VirtualTime();
  const queue = new BudgetQueue({ waitMs, max, timers: time, clock: time.clock });
  const reservationLog = { begin: () => undefined, end: () => undefined };
  const spending = createRequestCharging({
    budgets,
    capabilities: () => unrestrictedImages,
    reservationLog,
    queue,
  });
  /** `outcome`: undefined while it waits. */
  const begin = (charged = key) => {
    const record = new RequestRecord("req_1", "embeddings", noon);
    record.caller = { id: "ci", name: "ci", budgets: [charged] } as unknown as Caller;
    const signal = new AbortSource();
    const call = { record, signal, outcome: undefined as unknown };
    const waiting = spending.begin("embeddings", query, route, record, { signal });
    if (!waiting) call.outcome = "at once";
    waiting?.then(
      () => {
        call.outcome = "held";
      },
      (error: unknown) => {
        call.outcome = error;
      },
    );
    return call;
  };
  const end = ({ record }: ReturnType<typeof begin>, cost: number): void => {
    record.routing.attempts = 1;
    record.cost.actual = cost;
    spending.end(record);
  };
  return { begin, end, queue, time, standing: () => budgets.status(key, noon)[0] };
}

const settled = async (): Promise<void> => {
  for (let step = 0; step < 10; step++) await undefined;
};

describe("a call that waits", () => {
  test("goes on when a call before it has cost less than was held, first come first served", async () => {
    const { begin, end, standing } = house();
    // Six are held for the first, and what it likely costs for the second.
    const [first, second, third, fourth] = [begin(), begin(), begin(), begin()];
    expect([first.outcome, second.outcome]).toEqual(["at once", "at once"]);
    end(second, 1);
    await settled();
    expect([third.outcome, fourth.outcome]).toEqual(["held", undefined]);
    end(first, 1);
    await settled();
    expect(fourth.outcome).toBe("held");
    for (const call of [third, fourth]) end(call, 1);
    expect(standing()).toMatchObject({ spent: 4, reserved: 0 });
  });

  test("is told at once when the money is spent, and not to come back", async () => {
    const { begin, end } = house();
    const [first, second, third] = [begin(), begin(), begin()];
    end(first, 6);
    end(second, 4);
    await settled();
    expect(third.outcome).toHaveProperty("kind", "over_budget");
    expect(third.outcome).toHaveProperty("definition.retry", "never");
  });

  test("waits no longer than it may, and is told to come back", async () => {
    const { begin, end, time, queue, standing } = house({ waitMs: 5000 });
    const [first, second, third] = [begin(), begin(), begin()];
    await time.run();
    expect(time.now()).toBe(5000);
    expect(third.outcome).toHaveProperty("details.retryAfterMs", 5000);
    expect(third.outcome).toHaveProperty("definition.retry", "later");
    expect(queue.size).toBe(0);
    for (const call of [first, second]) end(call, 1);
    expect(standing()).toMatchObject({ spent: 2, reserved: 0 });
  });

  test("and is left by its caller holds nothing", async () => {
    const { begin, end, queue, standing } = house();
    const [first, second, third] = [begin(), begin(), begin()];
    third.signal.abort(new Error("gone"));
    await settled();
    expect(third.outcome).toHaveProperty("kind", "client_closed");
    expect(queue.size).toBe(0);
    for (const call of [first, second]) end(call, 1);
    expect(third.record.cost.reservation).toBeUndefined();
    expect(standing()).toMatchObject({ spent: 2, reserved: 0 });
  });

  test("is not held up by one that is charged to other budgets", async () => {
    const { begin, end } = house();
    const other = budgeted({ total: 10 }, "key", "other");
    const [mine, theirs] = [begin(), begin(other)];
    const [stretched, stretchedToo] = [begin(), begin(other)];
    const [waits, waitsToo] = [begin(), begin(other)];
    end(stretchedToo, 1);
    await settled();
    expect([waits.outcome, waitsToo.outcome]).toEqual([undefined, "held"]);
    for (const call of [mine, theirs, stretched]) end(call, 1);
    await settled();
    expect(waits.outcome).toBe("held");
  });
});

test("no more wait than may, and nobody where nobody may", async () => {
  for (const options of [{ max: 1 }, { waitMs: 0 }]) {
    const { begin, queue } = house(options);
    const calls = Array.from({ length: 4 }, () => begin());
    await settled();
    expect(queue.size).toBe(options.max ?? 0);
    expect(calls.at(-1)!.outcome).toHaveProperty("definition.retry", "later");
  }
});

test("however dear they turn out, calls that waited pass a budget by the error of one at most", async () => {
  for (let dear = 0; dear < 64; dear++) {
    const { begin, end, standing } = house();
    const calls = Array.from({ length: 30 }, () => begin());
    for (let step = 0; step < 60; step++) {
      const under = calls.filter(({ outcome, record }) => {
        return (outcome === "at once" || outcome === "held") && record.cost.actual === undefined;
      });
      const next = under[step % Math.max(1, under.length)];
      if (next) end(next, (dear >> (step % 6)) & 1 ? 6 : 1);
      await settled();
    }
    expect(standing()!.reserved).toBe(0);
    expect(standing()!.spent).toBeLessThanOrEqual(10 + 5);
    expect(standing()!.spent).toBeGreaterThanOrEqual(10);
  }
});
