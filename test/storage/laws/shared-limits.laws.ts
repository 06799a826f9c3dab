/** Laws (contract tests) of `SharedLimits`. */
import { describe, expect } from "bun:test";
import {
  type BudgetDemand,
  type LimitsDemand,
  leaseMs,
  type RateDemand,
} from "../../../server/storage/redis/limits-demand.ts";
import type { SharedLimits } from "../../../server/storage/redis/shared-limits.ts";
import { type Implementation, lawsOf } from "./backend.ts";

export interface LimitsReplica {
  readonly limits: SharedLimits;
  close(): Promise<void>;
}

const parts = 60_000;
let count = 0;

const rate = (taken: number, change: Partial<RateDemand> = {}): RateDemand => ({
  name: "key:a:requests",
  limit: 100,
  count: taken,
  missing: 0,
  ...change,
});

const budget = (dollars: number, change: Partial<BudgetDemand> = {}): BudgetDemand => ({
  name: "key day ci",
  limit: 10,
  maxDollars: dollars,
  dollars,
  spent: 0,
  ...change,
});

const slot = (limit: number, name = "key:a") => ({ name, limit });

/** Takes for one request. Returns the reply, and the name of its slots and reservations. */
async function takeFrom(limits: SharedLimits, demand: Partial<LimitsDemand>) {
  const hold = `request ${++count}`;
  const reply = await limits.take({
    hold,
    replica: "one",
    rates: [],
    slots: [],
    budgets: [],
    ...demand,
  });
  return { ...reply, hold };
}

const nothing = { rates: [], slots: [], budgets: [] };

export function sharedLimitsLaws(implementation: Implementation<LimitsReplica>): void {
  const law = lawsOf(implementation);

  describe(`${implementation.name} shared limits`, () => {
    law("replicas together take the whole rate limit, and not more", async (open) => {
      const now = (): number => 1000;
      const [one, other] = [await open(now), await open(now)];
      expect(await takeFrom(one.limits, { rates: [rate(70)] })).toMatchObject({
        outcome: "taken",
        missing: [70 * parts],
      });
      expect(await takeFrom(other.limits, { rates: [rate(31)] })).toMatchObject({
        outcome: "rate_exceeded",
        missing: [70 * parts],
      });
      const last = await takeFrom(other.limits, { rates: [rate(30)] });
      expect(last).toMatchObject({ outcome: "taken", missing: [100 * parts] });
    });

    law("a rate limit refills by its limit per minute, without rounding", async (open) => {
      let now = 1000;
      const { limits } = await open(() => now);
      await takeFrom(limits, { rates: [rate(100)] });
      now += 599;
      const early = await takeFrom(limits, { rates: [rate(1)] });
      expect(early).toMatchObject({ outcome: "rate_exceeded", missing: [100 * parts - 59_900] });
      now += 1;
      expect((await takeFrom(limits, { rates: [rate(1)] })).outcome).toBe("taken");
    });

    law("a changed rate limit keeps the used share", async (open) => {
      const { limits } = await open(() => 1000);
      await takeFrom(limits, { rates: [rate(50)] });
      const { missing } = await takeFrom(limits, { rates: [rate(0, { limit: 10 })] });
      expect(missing).toEqual([5 * parts]);
    });

    law("actual usage counts, also above the limit, and refunds return", async (open) => {
      const { limits } = await open(() => 1000);
      await takeFrom(limits, { rates: [rate(10)] });
      await limits.settle({ ...nothing, rates: [rate(150)] });
      expect((await takeFrom(limits, { rates: [rate(0)] })).missing).toEqual([160 * parts]);
      await limits.settle({ ...nothing, rates: [rate(-100)] });
      expect((await takeFrom(limits, { rates: [rate(0)] })).missing).toEqual([60 * parts]);
      await limits.settle({ ...nothing, rates: [rate(-1000)] });
      expect((await takeFrom(limits, { rates: [rate(0)] })).missing).toEqual([0]);
    });

    law("a lost rate limit starts with what the replica knows", async (open) => {
      const { limits } = await open(() => 1000);
      const known = rate(50, { missing: 60 * parts });
      expect((await takeFrom(limits, { rates: [known] })).outcome).toBe("rate_exceeded");
    });

    law("a slot is held until it is released", async (open) => {
      const [one, other] = [await open(), await open()];
      const first = await takeFrom(one.limits, { slots: [slot(1)] });
      expect(first).toMatchObject({ outcome: "taken", slots: [{ inFlight: 1, available: 0 }] });
      expect((await takeFrom(other.limits, { slots: [slot(1)] })).outcome).toBe("no_slot");
      await one.limits.settle({ ...nothing, slots: [{ name: "key:a", hold: first.hold }] });
      expect((await takeFrom(other.limits, { slots: [slot(1)] })).outcome).toBe("taken");
    });

    law("a slot expires unless it is renewed, and a lost slot returns", async (open) => {
      let now = 1000;
      const { limits } = await open(() => now);
      const held = await takeFrom(limits, { slots: [slot(2)] });
      await takeFrom(limits, { slots: [slot(2)] });
      now += leaseMs - 1;
      await limits.renew([{ name: "key:a", hold: held.hold }], []);
      expect((await takeFrom(limits, { slots: [slot(2)] })).outcome).toBe("no_slot");
      now += 1;
      const { slots } = await takeFrom(limits, { slots: [slot(2)] });
      expect(slots).toEqual([{ inFlight: 2, available: 0 }]);
      await limits.renew([{ name: "key:b", hold: held.hold }], []);
      const restored = await takeFrom(limits, { slots: [slot(1, "key:b")] });
      expect(restored.outcome).toBe("no_slot");
    });

    law("a request that lacks a slot of one limit takes no slot of another one", async (open) => {
      const { limits } = await open(() => 1000);
      await takeFrom(limits, { slots: [slot(1, "project:p")] });
      const both = [slot(1, "key:a"), slot(1, "project:p")];
      const { outcome, slots } = await takeFrom(limits, { slots: both, replica: "two" });
      expect([outcome, slots.map(({ inFlight }) => inFlight)]).toEqual(["no_slot", [0, 1]]);
      const other = await takeFrom(limits, { slots: [slot(1, "key:a")], replica: "three" });
      expect(other.outcome).toBe("taken");
    });

    law("the replica that has waited longest gets the next slot", async (open) => {
      let now = 1000;
      const { limits } = await open(() => now);
      const slots = [slot(1)];
      const { hold } = await takeFrom(limits, { slots });
      await takeFrom(limits, { slots, replica: "two" });
      now += 10;
      await takeFrom(limits, { slots, replica: "three" });
      await limits.settle({ ...nothing, slots: [{ name: "key:a", hold }] });
      expect((await takeFrom(limits, { slots, replica: "one" })).outcome).toBe("no_slot");
      expect((await takeFrom(limits, { slots, replica: "three" })).outcome).toBe("no_slot");
      const second = await takeFrom(limits, { slots, replica: "two" });
      expect(second.outcome).toBe("taken");
      await limits.settle({ ...nothing, slots: [{ name: "key:a", hold: second.hold }] });
      expect((await takeFrom(limits, { slots, replica: "two" })).outcome).toBe("no_slot");
      // A replica that does not ask any more keeps no slot from others.
      now += 250;
      expect((await takeFrom(limits, { slots, replica: "two" })).outcome).toBe("taken");
    });

    law(
      "a request without a slot takes from its rate limits, and not again later",
      async (open) => {
        const { limits } = await open(() => 1000);
        await takeFrom(limits, { slots: [slot(1)] });
        const queued = await takeFrom(limits, { rates: [rate(1)], slots: [slot(1)] });
        expect([queued.outcome, queued.missing]).toEqual(["no_slot", [parts]]);
      },
    );

    law("a request over a rate limit or a budget takes nothing", async (open) => {
      const { limits } = await open(() => 1000);
      const [slots, all] = [[slot(1)], [rate(100)]];
      const slow = await takeFrom(limits, { rates: [rate(101)], slots, budgets: [budget(1)] });
      expect(slow.outcome).toBe("rate_exceeded");
      const dear = await takeFrom(limits, { rates: all, slots, budgets: [budget(11)] });
      expect(dear.outcome).toBe("over_budget");
      const { outcome, budgets } = await takeFrom(limits, {
        rates: all,
        slots,
        budgets: [budget(10)],
      });
      expect([outcome, budgets]).toEqual([
        "taken",
        [{ spent: 0, reserved: 10, reservation: "maximum" }],
      ]);
    });

    law("a reservation counts until it is settled, and the cost stays", async (open) => {
      const [one, other] = [await open(), await open()];
      const { hold } = await takeFrom(one.limits, { budgets: [budget(7.5)] });
      expect((await takeFrom(other.limits, { budgets: [budget(3)] })).outcome).toBe("over_budget");
      const held = { name: "key day ci", hold, dollars: 7.5, reservation: "maximum" } as const;
      await one.limits.settle({ ...nothing, budgets: [{ name: held.name, held, dollars: 0.25 }] });
      const { outcome, budgets } = await takeFrom(other.limits, { budgets: [budget(9.75)] });
      expect(outcome).toBe("taken");
      expect(budgets).toEqual([{ spent: 0.25, reserved: 9.75, reservation: "maximum" }]);
    });

    law("one request at a time reserves its likely cost", async (open) => {
      const { limits } = await open(() => 1000);
      const demand = budget(2, { maxDollars: 12 });
      const first = await takeFrom(limits, { budgets: [demand] });
      expect(first.budgets).toEqual([{ spent: 0, reserved: 2, reservation: "likely" }]);
      expect((await takeFrom(limits, { budgets: [demand] })).outcome).toBe("over_budget");
      expect((await takeFrom(limits, { budgets: [budget(8)] })).outcome).toBe("taken");
    });

    law("a reservation expires unless it is renewed, and a lost one returns", async (open) => {
      let now = 1000;
      const { limits } = await open(() => now);
      const { hold } = await takeFrom(limits, { budgets: [budget(6)] });
      const held = { name: "key day ci", hold, dollars: 6, reservation: "maximum" } as const;
      now += leaseMs - 1;
      await limits.renew([], [held]);
      now += leaseMs - 1;
      expect((await takeFrom(limits, { budgets: [budget(6)] })).outcome).toBe("over_budget");
      now += 1;
      expect((await takeFrom(limits, { budgets: [budget(6)] })).budgets[0]?.reserved).toBe(6);
      await limits.renew([], [{ ...held, name: "key day other" }]);
      const other = budget(6, { name: "key day other" });
      expect((await takeFrom(limits, { budgets: [other] })).outcome).toBe("over_budget");
    });

    law("a budget has at least the spending of the ledger", async (open) => {
      const { limits } = await open(() => 1000);
      await takeFrom(limits, { budgets: [budget(1)] });
      const after = await takeFrom(limits, { budgets: [budget(1, { spent: 8.5 })] });
      expect([after.outcome, after.budgets[0]?.spent]).toEqual(["over_budget", 8.5]);
      // The cost of a request whose budget was lost is in the ledger.
      const lost = { name: "key day lost", held: undefined, dollars: 4 };
      await limits.settle({ ...nothing, budgets: [lost] });
      const loaded = await takeFrom(limits, {
        budgets: [budget(1, { name: lost.name, spent: 4 })],
      });
      expect(loaded.budgets[0]?.spent).toBe(4);
    });

    law("a reader changes nothing", async (open) => {
      const { limits } = await open(() => 1000);
      const demand = { hold: "", rates: [rate(0)], slots: [slot(1)], budgets: [] };
      await takeFrom(limits, { ...demand, rates: [rate(100)] });
      const { missing, slots } = await takeFrom(limits, demand);
      expect([missing, slots]).toEqual([[0], [{ inFlight: 0, available: 1 }]]);
    });
  });
}
