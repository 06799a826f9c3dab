/** Laws (contract tests) of the ports `EventStore`, `DeliveryStore` and `AlertStore`, for every implementation. */

import { describe, expect } from "bun:test";
import type { AlertStore, StoredAlert } from "../../../server/storage/sql/alert-store.ts";
import type { DeliveryOutcome, DeliveryStore } from "../../../server/storage/sql/delivery-store.ts";
import type { EventStore, NewEvent } from "../../../server/storage/sql/event-store.ts";
import { maxRecordedAtOnce } from "../../../server/storage/sql/event-store.ts";
import { awkwardTexts, type Implementation, lawsOf } from "./backend.ts";

/** Both ports over one storage: an event and its deliveries are written together. */
export interface EventStorage {
  readonly limits: {
    /** Pending deliveries of one webhook. */
    readonly maxWaiting: number;
    /** Events that are kept. */
    readonly operatorShare: number;
    readonly ownerShare: number;
  };
  readonly events: EventStore;
  readonly deliveries: DeliveryStore;
  readonly alerts: AlertStore;
  close(): Promise<void>;
}

const now = Date.UTC(2026, 10, 15);
const [minute, day] = [60_000, 86_400_000];

const event = (id: string, more: Partial<NewEvent> = {}): NewEvent => ({
  id,
  type: "config.reloaded",
  at: now,
  data: {},
  ...more,
});

const claimOf = (webhook: string, at = now) => ({
  webhook,
  now: at,
  until: at + minute,
});

const outcomeOf = (seq: number, more: Partial<DeliveryOutcome> = {}): DeliveryOutcome => ({
  seq,
  webhook: "wh_a",
  state: "delivered",
  due: now,
  at: now,
  status: 200,
  problem: null,
  ...more,
});

const idsOf = async ({ events }: EventStorage, types?: string[]): Promise<string[]> =>
  ((await events.list({ types, limit: 1000 })) ?? []).map(({ id }) => id);

const pruneAll = async ({ events }: EventStorage): Promise<void> => {
  while (await events.prune(now)) {}
};

/** Records events of an owner, with a delivery to each webhook. Returns their ids, newest first. */
const recordMany = async (
  { events }: EventStorage,
  { owner, count, webhooks = [] }: { owner?: string; count: number; webhooks?: string[] },
): Promise<string[]> => {
  const ids = Array.from({ length: count }, (_, at) => `evt_${owner ?? "operator"}_${at}`);
  for (const id of ids) {
    await events.record(event(id, { ...(owner !== undefined && { owner }) }), webhooks);
  }
  return ids.toReversed();
};

const claimedId = async ({ deliveries }: EventStorage, webhook: string, at = now) =>
  (await deliveries.claim(claimOf(webhook, at)))?.event.id;

const alert = (more: Partial<StoredAlert> = {}): StoredAlert => ({
  name: "errors",
  isFiring: true,
  since: now,
  announced: "no",
  data: { value: 12.5, text: "日本" },
  ...more,
});

export function eventStoreLaws(implementation: Implementation<EventStorage>): void {
  const law = lawsOf(implementation);

  describe(`${implementation.name} alerts`, () => {
    law("one process evaluates the rules, until its lease ends", async (open) => {
      const { alerts } = await open();
      const claims = await Promise.all(
        ["a", "b"].map((owner) => alerts.claim(owner, now, now + minute)),
      );
      expect(claims.filter(Boolean)).toHaveLength(1);
      const [owner, other] = claims[0] ? ["a", "b"] : ["b", "a"];
      expect(await alerts.claim(owner, now + 1, now + 2 * minute)).toBe(true);
      expect(await alerts.claim(other, now + minute, now + 3 * minute)).toBe(false);
      expect(await alerts.claim(other, now + 2 * minute, now + 3 * minute)).toBe(true);
      expect(await alerts.claim(owner, now + 2 * minute, now + 3 * minute)).toBe(false);
    });

    law("the state of an alert is replaced and deleted", async (open) => {
      const { alerts } = await open();
      await alerts.put(alert());
      await alerts.put(alert({ name: "spend", isFiring: false }));
      const values = {
        of: "errors of all",
        points: [[now, null] as const, [now + 1, 0.5] as const],
      };
      await alerts.put(alert({ announced: "silenced", values }));
      expect(await alerts.list()).toEqual([
        alert({ announced: "silenced", values }),
        alert({ name: "spend", isFiring: false }),
      ]);
      await alerts.delete("errors");
      expect((await alerts.list()).map(({ name }) => name)).toEqual(["spend"]);
    });
  });

  describe(`${implementation.name} silences`, () => {
    law("a silence is replaced and ended, and takes the lease of nobody", async (open) => {
      const { alerts } = await open();
      const silence = { name: "errors of 搜索", until: now + minute, reason: "a test", by: "Ada" };
      expect(await alerts.silences()).toEqual([]);
      await alerts.silence({ ...silence, until: now });
      await alerts.silence(silence);
      await alerts.silence({ ...silence, name: "spend" });
      expect(await alerts.claim("a", now, now + minute)).toBe(true);
      expect(await alerts.silences()).toEqual([silence, { ...silence, name: "spend" }]);
      await alerts.endSilence("spend");
      expect(await alerts.silences()).toEqual([silence]);
      expect(await alerts.claim("b", now + 1, now + minute)).toBe(false);
    });
  });

  describe(`${implementation.name} events`, () => {
    law("an empty store has no events, no marks and no deliveries", async (open) => {
      const storage = await open();
      const { events, deliveries } = storage;
      expect(await events.list({ limit: 10 })).toEqual([]);
      expect(await events.list({ after: "evt_none", limit: 10 })).toBeUndefined();
      expect(await events.mark("keys")).toBeUndefined();
      expect(await deliveries.claim(claimOf("wh_a"))).toBeUndefined();
      expect(await deliveries.nextDue("wh_a")).toBeUndefined();
      expect(await deliveries.abandonAll("wh_a", "gone")).toBe(0);
      const counts = { waiting: 0, delivered: 0, abandoned: 0, failures: 0, last: undefined };
      expect(await deliveries.status("wh_a")).toEqual(counts);
      await events.prune(now);
    });

    law("events are found by a text of their data, in the same case", async (open) => {
      const { events } = await open();
      for (const text of ["50%", "a_b", "aXb", "A_B", "it's"])
        await events.record(event(`evt_${text}`, { data: { text } }), []);
      const found = async (...texts: string[]) =>
        ((await events.list({ texts, limit: 10 })) ?? []).map(({ data }) => data.text);
      expect(await found("a_b")).toEqual(["a_b"]);
      expect(await found("%", "it's")).toEqual(["it's", "50%"]);
      expect(await found("none")).toEqual([]);
    });

    law("an event is listed with every value, in any script", async (open) => {
      const { events } = await open();
      const data = Object.fromEntries(awkwardTexts.map((text, at) => [`field ${at}`, text]));
      await events.record(
        event("evt_1", { data: { ...data, nested: [1, null, { a: true }] } }),
        [],
      );
      expect(await events.list({ limit: 1 })).toEqual([
        {
          ...event("evt_1", { data: { ...data, nested: [1, null, { a: true }] } }),
          deliveries: [],
        },
      ]);
    });

    law("events are listed newest first, by type, page by page, each once", async (open) => {
      const storage = await open();
      for (let at = 0; at < 25; at++) {
        await storage.events.record(event(`evt_${at}`, { type: `type.${at % 3}` }), []);
      }
      const expected = Array.from({ length: 25 }, (_, at) => `evt_${24 - at}`);
      expect(await idsOf(storage)).toEqual(expected);
      expect(await idsOf(storage, ["type.1", "type.2"])).toEqual(
        expected.filter((id) => Number(id.slice(4)) % 3 > 0),
      );
      const listed: string[] = [];
      for (let after: string | undefined; ; after = listed.at(-1)) {
        const page = (await storage.events.list({ after, limit: 7 })) ?? [];
        listed.push(...page.map(({ id }) => id));
        if (page.length < 7) break;
      }
      expect(listed).toEqual(expected);
    });

    law("an event with the same deduplication key or id is recorded once", async (open) => {
      const [one, other] = [await open(), await open()];
      const deduplicationKey = "budget.exhausted key_1 2026-11";
      expect((await one.events.record(event("evt_1", { deduplicationKey }), ["wh_a"])).isNew).toBe(
        true,
      );
      expect(
        (await other.events.record(event("evt_2", { deduplicationKey }), ["wh_a"])).isNew,
      ).toBe(false);
      expect((await one.events.record(event("evt_1"), ["wh_a"])).isNew).toBe(false);
      expect(await idsOf(other)).toEqual(["evt_1"]);
      expect((await one.deliveries.status("wh_a")).waiting).toBe(1);
    });

    law(
      "many events are recorded in one transaction, in order, and duplicates not again",
      async (open) => {
        const storage = await open();
        const many = Array.from({ length: maxRecordedAtOnce }, (_, at) => ({
          event: event(`evt_${at}`, { deduplicationKey: `key.created ${at === 7 ? 6 : at}` }),
          webhooks: at < 40 ? ["wh_a", "wh_b"] : [],
        }));
        const { ids } = await storage.events.recordAll(many);
        const expected = many.map((each) => each.event.id).filter((id) => id !== "evt_7");
        expect(ids).toEqual(expected);
        const listed = (await storage.events.list({ limit: 1000 })) ?? [];
        expect(listed.map(({ id }) => id)).toEqual(expected.toReversed());
        // Without the duplicate.
        expect((await storage.deliveries.status("wh_b")).waiting).toBe(39);
        expect((await storage.events.recordAll(many)).ids).toEqual([]);
      },
    );

    law("events, deliveries and marks are readable after a restart", async (open) => {
      const first = await open();
      await first.events.record(event("evt_1"), ["wh_a", "wh_b"]);
      await first.events.setMark("keys", 7);
      await first.events.setMark("keys", 8);
      await first.close();
      const second = await open();
      expect(await second.events.mark("keys")).toBe(8);
      const pending = { attempts: 0, due: now, lastAt: null, status: null, problem: null };
      expect(await second.events.list({ limit: 1 })).toEqual([
        {
          ...event("evt_1"),
          deliveries: [
            { webhook: "wh_a", state: "waiting", ...pending },
            { webhook: "wh_b", state: "waiting", ...pending },
          ],
        },
      ]);
      expect(await claimedId(second, "wh_b")).toBe("evt_1");
    });

    law("a delivery is claimed by one of several claimants, the oldest first", async (open) => {
      const [one, other] = [await open(), await open()];
      const ids = ["evt_1", "evt_2", "evt_3", "evt_4"];
      for (const id of ids) await one.events.record(event(id), ["wh_a"]);
      expect(await claimedId(other, "wh_a")).toBe("evt_1");
      const claimed = await Promise.all(
        [one, other, one, other].map((storage) => claimedId(storage, "wh_a")),
      );
      expect(claimed.filter((id) => id !== undefined).toSorted()).toEqual(ids.slice(1));
    });

    law("a claim that was not settled expires, and a released one is due at once", async (open) => {
      const storage = await open();
      await storage.events.record(event("evt_1"), ["wh_a"]);
      const claimed = await storage.deliveries.claim(claimOf("wh_a"));
      expect(await claimedId(storage, "wh_a")).toBeUndefined();
      expect(await storage.deliveries.nextDue("wh_a")).toBe(now + minute);
      expect(await claimedId(storage, "wh_a", now + minute)).toBe("evt_1");
      await storage.deliveries.release("wh_a", claimed!.seq, now);
      expect(await storage.deliveries.nextDue("wh_a")).toBe(now);
      expect(await claimedId(storage, "wh_a")).toBe("evt_1");
    });

    law(
      "outcomes are counted, and a settled delivery is not claimed or settled again",
      async (open) => {
        const storage = await open();
        const { deliveries } = storage;
        for (const id of ["evt_1", "evt_2"]) await storage.events.record(event(id), ["wh_a"]);
        const [first, second] = [
          await deliveries.claim(claimOf("wh_a")),
          await deliveries.claim(claimOf("wh_a")),
        ];
        await deliveries.settle(outcomeOf(first!.seq));
        const due = now + 5000;
        const failed = {
          state: "waiting",
          due,
          at: now + 1,
          status: 500,
          problem: "HTTP 500",
        } as const;
        await deliveries.settle(outcomeOf(second!.seq, failed));
        expect(await deliveries.status("wh_a")).toEqual({
          waiting: 1,
          delivered: 1,
          abandoned: 0,
          failures: 1,
          last: { event: "evt_2", at: now + 1, state: "waiting", status: 500, problem: "HTTP 500" },
        });
        expect(await deliveries.claim(claimOf("wh_a"))).toBeUndefined();
        expect(await deliveries.claim(claimOf("wh_a", due))).toMatchObject({
          attempts: 1,
          event: { id: "evt_2" },
        });
        await deliveries.settle(
          outcomeOf(second!.seq, { state: "abandoned", problem: "HTTP 500" }),
        );
        await deliveries.settle(outcomeOf(first!.seq, { state: "abandoned" }));
        await deliveries.release("wh_a", first!.seq, now);
        expect(await deliveries.status("wh_a")).toMatchObject({
          waiting: 0,
          delivered: 1,
          abandoned: 1,
        });
      },
    );

    law("the pending deliveries of one webhook are abandoned together", async (open) => {
      const { events, deliveries } = await open();
      for (const id of ["evt_1", "evt_2"]) await events.record(event(id), ["wh_a", "wh_b"]);
      expect(await deliveries.abandonAll("wh_a", "410 Gone")).toBe(2);
      expect(await deliveries.status("wh_a")).toMatchObject({ waiting: 0, abandoned: 2 });
      expect(await deliveries.status("wh_b")).toMatchObject({ waiting: 2, abandoned: 0 });
    });

    law(
      "the queue of a webhook is bounded: the oldest delivery is abandoned first",
      async (open) => {
        const storage = await open();
        for (let at = 0; at < storage.limits.maxWaiting; at++) {
          const { overflowed } = await storage.events.record(event(`evt_${at}`), ["wh_a"]);
          expect(overflowed).toEqual([]);
        }
        const { overflowed } = await storage.events.record(event("evt_last"), ["wh_a", "wh_b"]);
        expect(overflowed).toEqual(["wh_a"]);
        expect(await claimedId(storage, "wh_a")).toBe("evt_1");
        expect(await storage.deliveries.status("wh_a")).toMatchObject({
          waiting: storage.limits.maxWaiting,
          abandoned: 1,
        });
      },
    );

    law("events older than thirty days are pruned with their deliveries", async (open) => {
      const storage = await open();
      await storage.events.record(event("evt_old", { at: now - 31 * day }), ["wh_a"]);
      await storage.events.record(event("evt_new", { at: now - 29 * day }), ["wh_a"]);
      await storage.events.prune(now);
      expect(await idsOf(storage)).toEqual(["evt_new"]);
      expect((await storage.deliveries.status("wh_a")).waiting).toBe(1);
      expect(await claimedId(storage, "wh_a")).toBe("evt_new");
    });

    law("at most a hundred events are pruned at a time, the oldest first", async (open) => {
      const storage = await open();
      const ids = Array.from({ length: 150 }, (_, at) => `evt_${at}`);
      // Each is recorded at a time when none of them is too old.
      for (const id of ids)
        await storage.events.record(event(id, { at: now - 31 * day }), ["wh_a"]);
      await storage.events.prune(now);
      expect(await idsOf(storage)).toEqual(ids.slice(100).toReversed());
      expect((await storage.deliveries.status("wh_a")).waiting).toBe(50);
      await storage.events.prune(now);
      expect(await idsOf(storage)).toEqual([]);
    });

    law("each owner keeps its newest events, however many another owner has", async (open) => {
      const storage = await open();
      const { operatorShare, ownerShare } = storage.limits;
      const first = await recordMany(storage, { owner: "project:first", count: 3 });
      const alerts = await recordMany(storage, { count: operatorShare + 2 });
      const busy = await recordMany(storage, { owner: "key:busy", count: 150 });
      await pruneAll(storage);
      expect(await idsOf(storage)).toEqual([
        ...busy.slice(0, ownerShare),
        ...alerts.slice(0, operatorShare),
        ...first,
      ]);
    });

    law("a pending delivery is kept beyond the share of its owner, until it ends", async (open) => {
      const storage = await open();
      const { deliveries, limits } = storage;
      const owner = "project:slow";
      const waiting = await recordMany(storage, { owner, count: 30, webhooks: ["wh_slow"] });
      await pruneAll(storage);
      expect(await idsOf(storage)).toEqual(waiting);
      for (const id of waiting.toReversed()) {
        const claimed = await deliveries.claim(claimOf("wh_slow"));
        expect(claimed?.event.id).toBe(id);
        await deliveries.settle(outcomeOf(claimed!.seq, { webhook: "wh_slow" }));
      }
      await storage.events.record(event("evt_next", { owner }), []);
      await pruneAll(storage);
      expect(await idsOf(storage)).toEqual([
        "evt_next",
        ...waiting.slice(0, limits.ownerShare - 1),
      ]);
      expect((await deliveries.status("wh_slow")).delivered).toBe(limits.ownerShare - 1);
    });

    law("an event that cannot be stored leaves no delivery behind", async (open) => {
      const storage = await open();
      const broken = event("evt_1", { type: null as unknown as string });
      await expect(storage.events.record(broken, ["wh_a"])).rejects.toThrow();
      expect(await idsOf(storage)).toEqual([]);
      expect(await storage.deliveries.nextDue("wh_a")).toBeUndefined();
    });

    law("a closed store rejects", async (open) => {
      const { events, deliveries, close } = await open();
      await close();
      await expect(events.record(event("evt_1"), [])).rejects.toThrow();
      await expect(events.list({ limit: 1 })).rejects.toThrow();
      await expect(deliveries.claim(claimOf("wh_a"))).rejects.toThrow();
    });
  });
}
