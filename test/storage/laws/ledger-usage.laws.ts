/** Laws of usage queries: groups with names, days of a time zone, failures by status, and requests that are left out. */
import { describe, expect } from "bun:test";
import {
  groupKey,
  type UsageGroup,
  type UsageQuery,
} from "../../../server/storage/ports/ledger-queries.ts";
import type { LedgerRow } from "../../../server/storage/ports/ledger-row.ts";
import { ledgerRow } from "../../ledger/ledger-fixture.ts";
import { type Implementation, lawsOf } from "./backend.ts";
import type { LedgerStorage } from "./ledger-storage.ts";

const hour = 3_600_000;
const noon = Date.UTC(2026, 10, 15, 12);
const total: UsageQuery = { from: 0, to: 1e15, interval: "total", limit: 10_000 };

const requestsBy = (groups: readonly UsageGroup[], of: (group: UsageGroup) => string) =>
  Object.fromEntries(groups.map((group) => [of(group), group.requests]));

async function appendAll(
  { store }: Pick<LedgerStorage, "store">,
  rows: readonly LedgerRow[],
): Promise<void> {
  for (let at = 0; at < rows.length; at += 7) await store.append(rows.slice(at, at + 7));
}

export function ledgerUsageLaws(implementation: Implementation<LedgerStorage>): void {
  const law = lawsOf(implementation);

  describe(`${implementation.name} usage`, () => {
    law("groups with the same name are summed, and all others have one name", async (open) => {
      const { store, queries } = await open();
      const rows = Array.from({ length: 40 }, (_, at) =>
        ledgerRow(noon + at * 600_000, {
          model: `model ${at % 8}`,
          upstream: at % 2 ? "one" : null,
          targetModel: at % 2 ? 'their "model"' : null,
          tags: at % 4 === 0 ? `team:${at % 8},batch` : null,
          cost: 1,
        }),
      );
      await appendAll({ store }, rows);
      const named = async (query: Partial<UsageQuery>) => {
        const { groups } = await queries.usage({ ...total, ...query });
        return requestsBy(groups, ({ name }) => name ?? "");
      };
      const models = new Map([
        [groupKey(["model 1"]), "model 1"],
        [groupKey(["model 2"]), "both"],
        [groupKey(["model 3"]), "both"],
      ]);
      const groupNames = { of: models, other: "(other)" };
      expect(await named({ groupBy: ["model"], groupNames })).toEqual({
        "model 1": 5,
        both: 10,
        "(other)": 25,
      });
      const targets = new Map([[groupKey(["one", 'their "model"']), "the target"]]);
      expect(
        await named({
          groupBy: ["upstream", "targetModel"],
          groupNames: { of: targets, other: "none" },
        }),
      ).toEqual({ "the target": 20, none: 20 });
      const tags = new Map([[groupKey(["team:4"]), "team:4"]]);
      expect(await named({ groupBy: ["tag"], groupNames: { of: tags, other: "(other)" } })).toEqual(
        { "team:4": 5, "(other)": 15 },
      );
      const { groups } = await queries.usage({
        ...total,
        interval: "hour",
        groupBy: ["model"],
        groupNames,
      });
      expect(groups.every(({ model }) => model === undefined)).toBe(true);
      expect(new Set(groups.map(({ from, name }) => `${from} ${name}`)).size).toBe(groups.length);
      expect(groups.reduce((sum, { cost }) => sum + cost, 0)).toBe(40);
    });

    law("days and months are those of the time zone, also when clocks change", async (open) => {
      const { store, queries } = await open();
      const first = Date.UTC(2026, 9, 23, 12);
      const rows = Array.from({ length: 24 * 12 }, (_, at) => ledgerRow(first + at * hour + 1));
      await store.append(rows);
      for (const timeZone of ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "UTC"]) {
        const dayOf = new Intl.DateTimeFormat("en-CA", { timeZone, dateStyle: "short" });
        for (const [interval, length] of [
          ["day", 10],
          ["month", 7],
        ] as const) {
          const name = (at: number): string => dayOf.format(at).slice(0, length);
          const expected = Object.groupBy(rows, ({ at }) => name(at - (at % hour)));
          const query = { ...total, from: first, interval, timeZone };
          const { groups } = await queries.usage(query);
          expect(requestsBy(groups, ({ from }) => name(from))).toEqual(
            Object.fromEntries(Object.entries(expected).map(([day, of]) => [day, of?.length ?? 0])),
          );
          expect(groups.every(({ from }) => from % hour === 0 && from >= first)).toBe(true);
        }
      }
    });

    law(
      "failed requests have usage by status, and successful ones are in no group",
      async (open) => {
        const { store, queries } = await open();
        const rows = Array.from({ length: 30 }, (_, at) => {
          const [status, error] = [
            [200, null],
            [429, "rate_limited"],
            [502, "upstream_error"],
          ][at % 3] as [number, string | null];
          return ledgerRow(noon + at * hour, { status, error, project: at % 2 ? "p" : null });
        });
        await appendAll({ store }, rows);
        const byStatus = async (query: Partial<UsageQuery>) => {
          const { groups } = await queries.usage({ ...total, groupBy: ["failedStatus"], ...query });
          return requestsBy(groups, ({ failedStatus }) => failedStatus ?? "");
        };
        expect(await byStatus({})).toEqual({ "429": 10, "502": 10 });
        expect(await byStatus({ projects: ["p"] })).toEqual({ "429": 5, "502": 5 });
      },
    );

    law("the requests of one project can be left out of lists and usage", async (open) => {
      const { store, queries } = await open();
      const projects = [null, "internal", "p", "internal"];
      const rows = projects.map((project, at) => ledgerRow(noon + at, { project, tags: "a" }));
      await appendAll({ store }, rows);
      const exceptProject = "internal";
      const { entries } = await queries.list({ exceptProject, limit: 10 });
      expect(entries).toEqual([rows[2]!, rows[0]!]);
      for (const groupBy of [[], ["keyId"], ["tag"]] as const) {
        const { groups } = await queries.usage({ ...total, exceptProject, groupBy });
        expect(groups.reduce((sum, { requests }) => sum + requests, 0)).toBe(2);
      }
    });
  });
}
