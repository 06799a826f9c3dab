/** Laws (contract tests) of `SharedLimits`. */
import { describe, expect } from "bun:test";
import { forgetEndedMs, leaseMs } from "../../../server/storage/redis/limits-scripts.ts";
import type {
  BudgetChange,
  BudgetDemand,
  LimitsDemand,
  LimitsUpdate,
  RateDemand,
  SharedLimits,
} from "../../../server/storage/redis/shared-limits.ts";
import { type Implementation, lawsOf } from "./backend.ts";

export interface LimitsReplica {
  readonly limits: SharedLimits;
  /** Another process, on this data folder. */
  reopen(name: string, epoch: number): SharedLimits;
  /** Redis loses its data. */
  flush(): Promise<void>;
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

const name = "key day ci";

/** In whole numbers, which are nano-dollars. */
const budget = (most: number, change: Partial<BudgetDemand> = {}): BudgetDemand => ({
  name,
  limit: 100,
  most,
  likely: most,
  spent: 0,
  ended: 0,
  ...change,
});

const report = (change: Partial<BudgetChange>): LimitsUpdate => ({
  ...nothing,
  budgets: [{ name, spent: 0, ended: 0, closed: [], open: [], ...change }],
});

/** Of a job. */
const entry = (nanos: number, version: number, id = "batch_1-0") => ({
  id,
  nanos,
  isLikely: false,
  version,
});

const slot = (limit: number, name = "key:a", waitedMs = 0) => ({ name, limit, waitedMs });

/** Takes for one request. Returns the reply, and the id of its slots and reservations. */
async function takeFrom(limits: SharedLimits, demand: Partial<LimitsDemand>) {
  const id = `request ${++count}`;
  const reply = await limits.take({
    id,
    replica: "one",
    rates: [],
    slots: [],
    budgets: [],
    ...demand,
  });
  return { ...reply, id };
}

const nothing = { rates: [], released: [], renewed: [], budgets: [] };

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
      await limits.update({ ...nothing, rates: [rate(150)] });
      expect((await takeFrom(limits, { rates: [rate(0)] })).missing).toEqual([160 * parts]);
      await limits.update({ ...nothing, rates: [rate(-100)] });
      expect((await takeFrom(limits, { rates: [rate(0)] })).missing).toEqual([60 * parts]);
      await limits.update({ ...nothing, rates: [rate(-1000)] });
      expect((await takeFrom(limits, { rates: [rate(0)] })).missing).toEqual([0]);
    });

    law("a lost rate limit starts with what the replica knows", async (open) => {
      const { limits } = await open(() => 1000);
      const known = rate(50, { missing: 60 * parts });
      expect((await takeFrom(limits, { rates: [known] })).outcome).toBe("rate_exceeded");
    });

    law("a slot is in use until it is released", async (open) => {
      const [one, other] = [await open(), await open()];
      const first = await takeFrom(one.limits, { slots: [slot(1)] });
      expect(first).toMatchObject({ outcome: "taken", slots: [{ inFlight: 1, available: 0 }] });
      expect((await takeFrom(other.limits, { slots: [slot(1)] })).outcome).toBe("no_slot");
      await one.limits.update({ ...nothing, released: [{ name: "key:a", id: first.id }] });
      expect((await takeFrom(other.limits, { slots: [slot(1)] })).outcome).toBe("taken");
    });

    law("a slot expires unless it is renewed, and a lost slot returns", async (open) => {
      let now = 1000;
      const { limits } = await open(() => now);
      const held = await takeFrom(limits, { slots: [slot(2)] });
      await takeFrom(limits, { slots: [slot(2)] });
      now += leaseMs - 1;
      await limits.update({ ...nothing, renewed: [{ name: "key:a", id: held.id }] });
      expect((await takeFrom(limits, { slots: [slot(2)] })).outcome).toBe("no_slot");
      now += 1;
      const { slots } = await takeFrom(limits, { slots: [slot(2)] });
      expect(slots).toEqual([{ inFlight: 2, available: 0 }]);
      await limits.update({ ...nothing, renewed: [{ name: "key:b", id: held.id }] });
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

    law(
      "a free slot is for the replica that has waited longest, until its next look",
      async (open) => {
        let now = 1000;
        const { limits } = await open(() => now);
        const ask = async (replica: string, waitedMs: number, limit = 1) =>
          takeFrom(limits, { replica, slots: [slot(limit, "key:a", waitedMs)] });
        const { id } = await ask("one", 0);
        expect((await ask("two", 5)).outcome).toBe("no_slot");
        // It has waited longer than the one before.
        expect((await ask("three", 80)).outcome).toBe("no_slot");
        expect((await ask("two", 15)).outcome).toBe("no_slot");
        await limits.update({ ...nothing, released: [{ name: "key:a", id }] });
        expect(await ask("one", 0)).toMatchObject({
          outcome: "no_slot",
          slots: [{ available: 0 }],
        });
        expect((await ask("two", 25)).outcome).toBe("no_slot");
        // Only one of two free slots is for it.
        expect((await ask("two", 25, 2)).outcome).toBe("taken");
        now += 100;
        const second = await ask("three", 180, 2);
        expect(second.outcome).toBe("taken");
        expect((await ask("three", 0, 2)).outcome).toBe("no_slot");
        await limits.update({ ...nothing, released: [{ name: "key:a", id: second.id }] });
        expect((await ask("one", 0, 2)).outcome).toBe("no_slot");
        // A replica that does not look any more keeps no slot from others.
        now += 150;
        expect((await ask("one", 0, 2)).outcome).toBe("taken");
      },
    );

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
      const slow = await takeFrom(limits, { rates: [rate(101)], slots, budgets: [budget(10)] });
      expect(slow.outcome).toBe("rate_exceeded");
      const dear = await takeFrom(limits, { rates: all, slots, budgets: [budget(101)] });
      expect(dear.outcome).toBe("over_budget");
      const { outcome, budgets } = await takeFrom(limits, {
        rates: all,
        slots,
        budgets: [budget(100)],
      });
      expect([outcome, budgets]).toEqual([
        "taken",
        [{ spent: 0, ended: 0, open: 100, reserved: "maximum" }],
      ]);
    });

    law("an entry counts until it is closed, with the cost in the same call", async (open) => {
      const [one, other] = [await open(), await open()];
      const { id } = await takeFrom(one.limits, { budgets: [budget(75)] });
      expect((await takeFrom(other.limits, { budgets: [budget(30)] })).outcome).toBe("over_budget");
      await one.limits.update(report({ ended: 3, closed: [id] }));
      const { outcome, budgets } = await takeFrom(other.limits, { budgets: [budget(97)] });
      expect(outcome).toBe("taken");
      expect(budgets).toEqual([{ spent: 0, ended: 3, open: 97, reserved: "maximum" }]);
    });

    law("a call that is repeated reserves once", async (open) => {
      const { limits } = await open(() => 1000);
      const { id } = await takeFrom(limits, { budgets: [budget(30)] });
      const again = await takeFrom(limits, { id, budgets: [budget(30)] });
      expect(again.budgets[0]?.open).toBe(30);
      await limits.update(report({ closed: [id] }));
      expect((await takeFrom(limits, { budgets: [budget(100)] })).outcome).toBe("taken");
    });

    law("one request at a time reserves its likely cost", async (open) => {
      const { limits } = await open(() => 1000);
      const demand = budget(120, { likely: 20 });
      const first = await takeFrom(limits, { budgets: [demand] });
      expect(first.budgets).toEqual([{ spent: 0, ended: 0, open: 20, reserved: "likely" }]);
      expect((await takeFrom(limits, { budgets: [demand] })).outcome).toBe("over_budget");
      expect((await takeFrom(limits, { budgets: [budget(80)] })).outcome).toBe("taken");
      await limits.update(report({ closed: [first.id] }));
      const next = await takeFrom(limits, { budgets: [demand] });
      expect(next.budgets[0]?.reserved).toBe("likely");
    });

    law("an entry expires unless it is renewed, and a lost one returns", async (open) => {
      let now = 1000;
      const { limits } = await open(() => now);
      const { id } = await takeFrom(limits, { budgets: [budget(60)] });
      const renewed = report({ open: [{ id, nanos: 60, isLikely: false, version: 0 }] });
      now += leaseMs - 1;
      await limits.update(renewed);
      now += leaseMs - 1;
      expect((await takeFrom(limits, { budgets: [budget(60)] })).outcome).toBe("over_budget");
      now += 1;
      expect((await takeFrom(limits, { budgets: [budget(60)] })).budgets[0]?.open).toBe(60);
      const other = report({ name: "key day other", open: [entry(60, 0, id)] });
      await limits.update(other);
      await limits.update(other);
      const demand = budget(60, { name: "key day other" });
      expect((await takeFrom(limits, { budgets: [demand] })).outcome).toBe("over_budget");
    });

    law("a late call brings an entry back for one lease, and no longer", async (open) => {
      let now = 1000;
      const { limits } = await open(() => now);
      const { id } = await takeFrom(limits, { budgets: [budget(60)] });
      await limits.update(report({ closed: [id] }));
      await limits.update(report({ open: [entry(60, 0, id)] }));
      expect((await takeFrom(limits, { budgets: [budget(60)] })).outcome).toBe("over_budget");
      now += leaseMs;
      expect((await takeFrom(limits, { budgets: [budget(100)] })).outcome).toBe("taken");
    });

    law("the entry of a job counts once for all replicas, in its newest version", async (open) => {
      const [one, other] = [await open(), await open()];
      await one.limits.update(report({ open: [entry(50, 1)] }));
      await other.limits.update(report({ open: [entry(30, 2)] }));
      // A replica that has read the row before.
      await one.limits.update(report({ open: [entry(50, 1)] }));
      const { budgets } = await takeFrom(one.limits, { budgets: [budget(70)] });
      expect(budgets).toEqual([{ spent: 0, ended: 0, open: 100, reserved: "maximum" }]);
    });

    law("the higher spent amount is newer, and nothing is added to it", async (open) => {
      const { limits } = await open(() => 1000);
      for (const spent of [85, 40, 85]) await limits.update(report({ spent }));
      const { outcome, budgets } = await takeFrom(limits, { budgets: [budget(16, { spent: 20 })] });
      expect([outcome, budgets[0]?.spent]).toEqual(["over_budget", 85]);
    });

    law("the ended amount of a replica is the one of its latest call", async (open) => {
      const [one, other] = [await open(), await open()];
      for (const ended of [10, 30, 20]) await one.limits.update(report({ ended }));
      await other.limits.update(report({ ended: 5 }));
      const { budgets } = await takeFrom(other.limits, { budgets: [budget(1, { ended: 5 })] });
      expect(budgets[0]?.ended).toBe(25);
      // A commit sets both amounts in one call.
      await one.limits.update(report({ spent: 20 }));
      const after = await takeFrom(other.limits, { budgets: [budget(1, { ended: 5 })] });
      expect(after.budgets[0]).toMatchObject({ spent: 20, ended: 5 });
    });

    law("a call that is executed late changes no newer amount", async (open) => {
      const { reopen } = await open(() => 1000);
      const before = reopen("folder", 1);
      await before.update(report({ ended: 10 }));
      const next = reopen("folder", 2);
      await next.update(report({ ended: 4 }));
      await before.update(report({ ended: 30 }));
      const { budgets } = await takeFrom(next, { budgets: [budget(1, { ended: 4 })] });
      expect(budgets[0]?.ended).toBe(4);
    });

    law(
      "what a killed process has left counts until the next one on its folder has sent all of its budgets",
      async (open) => {
        const { limits, reopen } = await open(() => 1000);
        const [killed, successor] = [reopen("folder", 1), reopen("folder", 2)];
        await killed.update(report({ ended: 10 }));
        await killed.update({ ...report({ name: "key day other", ended: 7 }), isComplete: true });
        const endedOf = async (of: string) =>
          (await takeFrom(limits, { id: "", budgets: [budget(1, { name: of })] })).budgets[0]
            ?.ended;
        expect([await endedOf(name), await endedOf("key day other")]).toEqual([10, 7]);
        await successor.update(report({ ended: 9 }));
        expect([await endedOf(name), await endedOf("key day other")]).toEqual([9, 7]);
        await successor.update({ ...nothing, isComplete: true });
        expect([await endedOf(name), await endedOf("key day other")]).toEqual([9, 0]);
      },
    );

    law(
      "the ended amount of a replica without news for a day is forgotten, and reported",
      async (open) => {
        let now = 1000;
        const { limits, reopen } = await open(() => now);
        await reopen("gone", 1).update(report({ ended: 10 }));
        now += forgetEndedMs;
        expect((await takeFrom(limits, { budgets: [budget(1)] })).budgets[0]?.ended).toBe(10);
        now += 1;
        const { budgets, forgotten } = await takeFrom(limits, { budgets: [budget(1)] });
        expect([budgets[0]?.ended, forgotten]).toEqual([0, [{ replica: "gone", nanos: 10 }]]);
        expect((await takeFrom(limits, { budgets: [budget(1)] })).forgotten).toEqual([]);
      },
    );

    law("a replica learns that Redis has lost its data", async (open) => {
      const { limits, reopen, flush } = await open(() => 1000);
      const complete = { ...nothing, isComplete: true };
      for (let time = 0; time < 3; time++)
        expect(await limits.update(complete)).toEqual({ isLost: false });
      const other = reopen("other", 1);
      expect(await other.update(complete)).toEqual({ isLost: false });
      await flush();
      expect(await limits.update(complete)).toEqual({ isLost: true });
      expect(await limits.update(complete)).toEqual({ isLost: false });
    });

    law("a reader changes nothing", async (open) => {
      const { limits } = await open(() => 1000);
      const demand = { id: "", rates: [rate(0)], slots: [slot(1)], budgets: [] };
      await takeFrom(limits, { ...demand, rates: [rate(100)] });
      const { missing, slots } = await takeFrom(limits, demand);
      expect([missing, slots]).toEqual([[0], [{ inFlight: 0, available: 1 }]]);
    });
  });
}
