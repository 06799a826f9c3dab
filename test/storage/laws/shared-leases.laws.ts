/** Laws (contract tests) of the port `SharedLeases`, for every implementation. */
import { describe, expect } from "bun:test";
import type { LeaseRequest, SharedLeases } from "../../../server/storage/ports/shared-leases.ts";
import { type Implementation, lawsOf } from "./backend.ts";

export interface LeasesReplica {
  readonly leases: SharedLeases;
  close(): Promise<void>;
}

const leaseMs = 5000;

/** A holder of slices of a pool of 100 items, which keeps its running totals as a replica does. */
function holderOf(leases: SharedLeases, holder: string, fixed: Partial<LeaseRequest> = {}) {
  let [sequence, granted, spent, acknowledged, epoch] = [0, 0, 0, 0, ""];
  return async (change: Partial<LeaseRequest> = {}) => {
    spent = change.spent ?? spent;
    const reply = await leases.lease({
      pool: "budget:a",
      holder,
      limit: 100,
      unit: 1,
      refills: false,
      isSemaphore: false,
      sequence: ++sequence,
      granted,
      spent,
      acknowledged,
      needed: 0,
      least: change.needed ?? 1,
      wanted: 0,
      leaseMs,
      retentionMs: 60_000,
      epoch,
      unspent: 100,
      ...fixed,
      ...change,
    });
    ({ granted, epoch } = reply);
    acknowledged = fixed.isSemaphore ? 0 : spent;
    return reply;
  };
}

export function sharedLeasesLaws(implementation: Implementation<LeasesReplica>): void {
  const law = lawsOf(implementation);

  describe(`${implementation.name} shared leases`, () => {
    law("replicas together are granted the whole pool, and not more", async (open) => {
      const [one, other] = [await open(), await open()].map(({ leases }, at) =>
        holderOf(leases, `replica ${at}`),
      ) as [ReturnType<typeof holderOf>, ReturnType<typeof holderOf>];
      expect(await one({ needed: 70 })).toMatchObject({ granted: 70, available: 30 });
      expect(await other({ needed: 40 })).toMatchObject({ granted: 0, available: 30 });
      // A part of the needed items is granted if it is not too small.
      expect(await other({ needed: 40, least: 20 })).toMatchObject({ granted: 30, available: 0 });
      expect(await one()).toMatchObject({ granted: 70, unspent: 100 });
    });

    law("a replica that is refused is reported to the others as waiting", async (open) => {
      const { leases } = await open();
      const [one, other] = [holderOf(leases, "one"), holderOf(leases, "other")];
      expect(await one({ needed: 100 })).toMatchObject({ othersWait: false });
      await other({ needed: 1 });
      expect(await one()).toMatchObject({ othersWait: true });
    });

    law("items that a replica gives back can be granted to another one", async (open) => {
      const { leases } = await open();
      const [one, other] = [holderOf(leases, "one"), holderOf(leases, "other")];
      await one({ needed: 100 });
      expect(await one({ granted: 60 })).toMatchObject({ granted: 60, available: 40 });
      expect(await other({ needed: 40 })).toMatchObject({ granted: 40, available: 0 });
    });

    law("spent items do not return, also when more was spent than granted", async (open) => {
      const { leases } = await open();
      const [one, other] = [holderOf(leases, "one"), holderOf(leases, "other")];
      await one({ needed: 10 });
      expect(await one({ spent: 30 })).toMatchObject({ granted: 30, unspent: 70 });
      expect(await other({ needed: 71 })).toMatchObject({ granted: 0, available: 70 });
    });

    law(
      "a request that arrives after a later one is rejected and changes nothing",
      async (open) => {
        const { leases } = await open();
        const one = holderOf(leases, "one");
        await one({ needed: 10, sequence: 5 });
        await expect(one({ needed: 50, sequence: 5 })).rejects.toThrow();
        await expect(one({ needed: 50, sequence: 4 })).rejects.toThrow();
        expect(await one({ sequence: 6 })).toMatchObject({ granted: 10, available: 90 });
      },
    );

    law(
      "the slice of a dead replica returns when its lease expires, without what it spent",
      async (open) => {
        let now = 1000;
        const { leases } = await open(() => now);
        const [dead, other] = [holderOf(leases, "dead"), holderOf(leases, "other")];
        await dead({ needed: 80 });
        await dead({ spent: 30 });
        now += leaseMs - 1;
        expect(await other({ needed: 70 })).toMatchObject({ granted: 0 });
        now += 501;
        expect(await other({ needed: 70 })).toMatchObject({ granted: 70, available: 0 });
      },
    );

    law(
      "all slots of a semaphore return when the lease of a dead replica expires",
      async (open) => {
        let now = 1000;
        const { leases } = await open(() => now);
        const slots = { pool: "slots:a", isSemaphore: true };
        const [dead, other] = [holderOf(leases, "dead", slots), holderOf(leases, "other", slots)];
        await dead({ needed: 80 });
        await dead({ spent: 80 });
        now += leaseMs + 501;
        expect(await other({ needed: 100 })).toMatchObject({ granted: 100, available: 0 });
      },
    );

    law("a token bucket refills by its limit per minute, without rounding", async (open) => {
      let now = 1000;
      const { leases } = await open(() => now);
      const rate = { pool: "rate:a", refills: true, unit: 60_000, unspent: 100 * 60_000 };
      const one = holderOf(leases, "one", rate);
      expect(await one({ needed: 100 })).toMatchObject({ granted: 100, available: 0 });
      now += 1;
      expect(await one({ spent: 100 })).toMatchObject({ granted: 100, available: 100 });
      now += 599;
      expect(await one({ needed: 1 })).toMatchObject({ granted: 101, available: 0 });
    });

    law(
      "a pool whose data were lost does not start with more than a replica knows",
      async (open) => {
        const { leases } = await open();
        const one = holderOf(leases, "one");
        const reply = await one({ epoch: "before the loss", unspent: 25, needed: 26 });
        expect(reply).toMatchObject({ granted: 0, available: 25 });
        expect(reply.epoch).not.toBe("before the loss");
      },
    );

    law("pools do not share items", async (open) => {
      const { leases } = await open();
      await holderOf(leases, "one")({ needed: 100 });
      const other = holderOf(leases, "one", { pool: "budget:b" });
      expect(await other({ needed: 100 })).toMatchObject({ granted: 100 });
    });
  });
}
