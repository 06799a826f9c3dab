/** Laws of the ledger's tags and end users: usage, lists, and the bound on names that clients choose. */
import { describe, expect } from "bun:test";
import { endUserOrTagId } from "../../../contract/limits-and-budgets.ts";
import type { UsageQuery } from "../../../server/storage/ports/ledger-queries.ts";
import type { LedgerRow } from "../../../server/storage/ports/ledger-row.ts";
import { maxLabels } from "../../../server/storage/sql/labels.ts";
import { ledgerRow } from "../../ledger/ledger-fixture.ts";
import { type Implementation, lawsOf } from "./backend.ts";
import type { LedgerStorage } from "./ledger-storage.ts";

const noon = Date.UTC(2026, 10, 15, 12);
const total: UsageQuery = { from: 0, to: 1e15, interval: "total", limit: 10_000 };

const rows: readonly LedgerRow[] = [
  { tags: "team:a,batch", endUser: "eu_1", project: "p", cost: 1 },
  { tags: "team:a", endUser: "eu_2", project: "q", cost: 2 },
  { tags: "TEAM:A", endUser: "eu_1", project: "p", cost: 4 },
  { tags: null, endUser: null, cost: 8 },
].map((more, at) => ledgerRow(noon + at * 7_200_000, { keyId: `key_${at % 2}`, ...more }));

export function ledgerLabelLaws(implementation: Implementation<LedgerStorage>): void {
  const law = lawsOf(implementation);

  describe(`${implementation.name} ledger with tags and end users`, () => {
    law(
      "usage by tag and by end user is exact, also with other groups and filters",
      async (open) => {
        const { store, queries } = await open();
        for (const row of rows) await store.append([row]);
        const costs = async (query: Partial<UsageQuery>, name: "tag" | "endUser" | "keyId") => {
          const { groups } = await queries.usage({ ...total, ...query });
          return Object.fromEntries(groups.map((group) => [group[name], group.cost]));
        };
        const byTag = await costs({ groupBy: ["tag"] }, "tag");
        expect(byTag).toEqual({ "team:a": 3, batch: 1, "TEAM:A": 4 });
        expect(await costs({ groupBy: ["endUser"] }, "endUser")).toEqual({ eu_1: 5, eu_2: 2 });
        expect(await costs({ groupBy: ["endUser"], projects: ["p"] }, "endUser")).toEqual({
          eu_1: 5,
        });
        expect(await costs({ groupBy: ["keyId"], tag: "team:a" }, "keyId")).toEqual({
          key_0: 1,
          key_1: 2,
        });
        for (const interval of ["hour", "day"] as const) {
          const { groups } = await queries.usage({ ...total, interval, groupBy: ["tag", "keyId"] });
          expect(groups.reduce((sum, { cost }) => sum + cost, 0)).toBe(8);
        }
        expect((await queries.usage(total)).groups).toMatchObject([{ requests: 4, cost: 15 }]);
      },
    );

    law(
      "budgets of end users and tags are charged per project, day and month, without those of other rows",
      async (open) => {
        const { store, sumSpent } = await open();
        const charged = "end_user=eu=1\ttag=team:a";
        const day = 86_400_000;
        const given = [
          { project: "p", budgets: charged, cost: 1 },
          { project: "p", budgets: "tag=team:a", cost: 2, estimatedCost: 0.5 },
          { project: "q", budgets: charged, cost: 4 },
          { project: "p", budgets: null, tags: "team:a", endUser: "eu=1", cost: 8 },
        ].map((more) => ledgerRow(noon, more));
        for (const row of given) await store.append([row]);
        const later = ledgerRow(noon + day, { project: "p", budgets: charged, cost: 16 });
        await store.append([later]);
        await store.append([given[0]!]);
        const user = { scope: "end_user", id: endUserOrTagId("p", "eu=1") } as const;
        const tag = { scope: "tag", id: endUserOrTagId("p", "team:a") } as const;
        expect(await sumSpent(user, "2026-11-15")).toBe(1);
        expect(await sumSpent(user, "2026-11")).toBe(17);
        expect(await sumSpent(tag, "2026-11-15")).toBe(3.5);
        expect(await sumSpent(tag, "2026-11")).toBe(19.5);
        expect(await sumSpent({ ...tag, id: endUserOrTagId("q", "team:a") }, "2026-11")).toBe(4);
        // Nothing that is never deleted.
        expect(await sumSpent(tag, "total")).toBe(0);
        expect(await sumSpent({ scope: "project", id: "p" }, "2026-11-15")).toBe(11.5);
      },
    );

    law("sums of end users and tags are deleted with the daily sums", async (open) => {
      const { store, sumSpent } = await open();
      const day = 86_400_000;
      const tag = { scope: "tag", id: endUserOrTagId("p", "t") } as const;
      const more = { project: "p", budgets: "tag=t", cost: 1 };
      const old = Array.from({ length: 10 }, (_, at) => ledgerRow(noon - (200 + at) * day, more));
      await store.append(old);
      await store.append([ledgerRow(noon, more)]);
      await store.append([ledgerRow(noon, more)]);
      expect(await sumSpent(tag, "2026-04")).toBeGreaterThan(0);
      while (await store.prune(noon - 30 * day, 5));
      expect(await sumSpent(tag, "2026-04")).toBe(0);
      expect(await sumSpent(tag, "2026-04-20")).toBe(0);
      expect(await sumSpent(tag, "2026-11")).toBe(2);
      expect(await sumSpent({ scope: "project", id: "p" }, "total")).toBe(12);
    });

    law("a list has the rows of a tag, of an end user, or of both", async (open) => {
      const { store, queries } = await open();
      for (const row of rows) await store.append([row]);
      const listed = async (filter: { readonly tag?: string; readonly endUser?: string }) =>
        (await queries.list({ ...filter, limit: 10 })).entries;
      expect(await listed({ tag: "team:a" })).toEqual([rows[1]!, rows[0]!]);
      expect(await listed({ endUser: "eu_1" })).toEqual([rows[2]!, rows[0]!]);
      expect(await listed({ tag: "batch", endUser: "eu_1" })).toEqual([rows[0]!]);
      expect(await listed({ tag: "team" })).toEqual([]);
    });

    law(
      "names above the bound of a key are summed as one, and the sums stay exact",
      async (open) => {
        const { store, queries } = await open();
        const many = Array.from({ length: maxLabels.ofKey + 50 }, (_, at) =>
          ledgerRow(noon + at, { keyId: "key_many", endUser: `eu_${at}`, cost: 1 }),
        );
        for (let at = 0; at < many.length; at += 350) await store.append(many.slice(at, at + 350));
        const other = ledgerRow(noon, { keyId: "key_other", endUser: "eu_other", cost: 1 });
        await store.append([other, { ...many[7]!, requestId: "req_again" }]);
        // PostgreSQL rolls earlier rows up when rows are appended.
        await store.append([ledgerRow(noon + 1)]);
        const { groups } = await queries.usage({ ...total, groupBy: ["endUser"] });
        expect(groups).toHaveLength(maxLabels.ofKey + 2);
        expect(groups[0]).toMatchObject({ endUser: "(other)", requests: 50, cost: 50 });
        expect(groups.find(({ endUser }) => endUser === "eu_7")?.requests).toBe(2);
        expect(groups.find(({ endUser }) => endUser === "eu_other")?.requests).toBe(1);
        expect(groups.reduce((sum, { cost }) => sum + cost, 0)).toBe(many.length + 2);
        const last = many.at(-1)!;
        expect((await queries.list({ endUser: last.endUser!, limit: 5 })).entries).toEqual([last]);
      },
    );
  });
}
