/** Laws (contract tests) of `LedgerStore`, `LedgerQueries` and the sums of budgets, for every implementation. */
import { describe, expect } from "bun:test";
import type { LedgerSums, UsageQuery } from "../../../server/storage/ports/ledger-queries.ts";
import type { LedgerRow } from "../../../server/storage/ports/ledger-row.ts";
import { ledgerRow } from "../../ledger/ledger-fixture.ts";
import { allPages, awkwardTexts, type Implementation, lawsOf } from "./backend.ts";
import type { LedgerStorage } from "./ledger-storage.ts";

const hour = 3_600_000;
const noon = Date.UTC(2026, 10, 15, 12);
const key = { scope: "key", id: "file:ci" } as const;
const total: UsageQuery = { from: 0, to: 1e15, interval: "total", limit: 1000 };

const idsOf = (rows: readonly LedgerRow[]) => rows.map(({ requestId }) => requestId);

/** The latest first, by hour and request id. */
const inListOrder = (rows: readonly LedgerRow[]): LedgerRow[] =>
  rows.toSorted((a, b) => {
    const [hourOfA, hourOfB] = [a, b].map(({ at }) => at - (at % hour));
    return hourOfB! - hourOfA! || (a.requestId < b.requestId ? 1 : -1);
  });

/** Rows over several hours, keys, projects, models and targets. */
const variedRows = (count: number, from = noon): LedgerRow[] =>
  Array.from({ length: count }, (_, at) =>
    ledgerRow(from + at * 97_000, {
      keyId: `key_${at % 5}`,
      project: at % 3 === 0 ? null : `project ${at % 3}`,
      model: `model-${at % 4}`,
      upstream: at % 11 === 0 ? null : `upstream-${at % 2}`,
      targetModel: at % 11 === 0 ? null : "target",
      error: at % 7 > 0 ? null : at % 77 === 0 ? "rate_limited" : "upstream_error",
      status: at % 7 > 0 ? 200 : at % 77 === 0 ? 429 : 502,
      attempts: at % 154 === 0 ? 0 : 1,
      latencyMs: (at * 37) % 70_000,
      inputTokens: at % 6 === 0 ? null : at,
      outputTokens: at % 2 ? 2 : null,
      images: at % 8 === 0 ? 3 : null,
      cachedInputs: at % 4,
      cost: at % 5 === 0 ? null : at / 1024,
      inputs: at % 7,
      timeline: null,
      estimatedCost: at % 9 === 0 ? 0.5 : null,
    }),
  );

/** About a thousand rows of all kinds over three days. */
const rowsOfDays = (): LedgerRow[] => variedRows(3000).filter((_, at) => at % 13 < 4);

/** The sums that usage must have, without roll-ups. */
function sumsOf(rows: readonly LedgerRow[]): Omit<LedgerSums, "latencyHistogram"> {
  const sum = (of: (row: LedgerRow) => number | null) =>
    rows.reduce((before, row) => before + (of(row) ?? 0), 0);
  return {
    requests: rows.length,
    errors: sum(({ error }) => (error === null ? 0 : 1)),
    refused: sum(({ error, attempts }) => Number(error === "rate_limited" && attempts === 0)),
    unmeteredRequests: sum(({ error, inputTokens }) => Number(!error && inputTokens === null)),
    unpricedRequests: sum(({ error, cost, estimatedCost }) =>
      Number(!error && cost === null && estimatedCost === null),
    ),
    inputTokens: sum(({ inputTokens }) => inputTokens),
    outputTokens: sum(({ outputTokens }) => outputTokens),
    images: sum(({ images }) => images),
    inputs: sum(({ inputs }) => inputs),
    cachedInputs: sum(({ cachedInputs }) => cachedInputs),
    cost: sum(({ cost }) => cost),
    estimatedCost: sum(({ estimatedCost }) => estimatedCost),
    latencyMs: sum(({ latencyMs }) => latencyMs),
  };
}

export function ledgerStoreLaws(implementation: Implementation<LedgerStorage>): void {
  const law = lawsOf(implementation);

  describe(`${implementation.name} ledger`, () => {
    law("an empty ledger has no rows, no usage and no sums", async (open) => {
      const { store, queries, sumSpent } = await open();
      await store.append([]);
      expect(await queries.list({ limit: 10 })).toEqual({ entries: [] });
      expect(await queries.usage(total)).toEqual({ groups: [], hasMore: false });
      expect(await sumSpent(key, "total")).toBe(0);
      expect(await store.prune(noon, 10)).toBe(false);
    });

    law("a row is returned with every value, in any script and length", async (open) => {
      const { store, queries } = await open();
      const rows = awkwardTexts.map((text, at) =>
        ledgerRow(noon + at, { keyId: text, model: text, steps: text.repeat(200), cost: 1e-9 }),
      );
      await store.append(rows);
      const { entries } = await queries.list({ limit: 100 });
      expect(entries).toEqual(inListOrder(rows));
      for (const [at, text] of awkwardTexts.entries()) {
        expect((await queries.list({ limit: 9, keyId: text })).entries).toEqual([rows[at]!]);
      }
    });

    law(
      "rows, usage and sums are the same after the store is closed and opened again",
      async (open) => {
        const first = await open();
        const rows = variedRows(50);
        await first.store.append(rows);
        const usage = await first.queries.usage(total);
        await first.close();
        const { queries, sumSpent } = await open();
        expect((await queries.list({ limit: 100 })).entries).toEqual(inListOrder(rows));
        expect(await queries.usage(total)).toEqual(usage);
        expect(await sumSpent({ scope: "key", id: "key_1" }, "total")).toBeGreaterThan(0);
      },
    );

    law("a row that is appended again, by any writer, is stored and counted once", async (open) => {
      const [one, other] = [await open(), await open()];
      const rows = [ledgerRow(noon, { cost: 0.5 }), ledgerRow(noon, { cost: 0.25 })];
      await one.store.append(rows);
      await other.store.append(rows);
      await one.store.append([rows[0]!, { ...rows[1]!, cost: 100 }]);
      expect((await other.queries.list({ limit: 10 })).entries).toEqual(inListOrder(rows));
      expect(await one.sumSpent(key, "total")).toBe(0.75);
      expect((await one.queries.usage(total)).groups).toMatchObject([{ requests: 2, cost: 0.75 }]);
    });

    law("the rows of a rotated key and of its successors are one sum", async (open) => {
      const { store, sumSpent } = await open();
      const keyIds = [
        "key_1f",
        "key_1f-2e",
        "key_1f-3d",
        "key_2f-4c",
        "file:key_1f-2e",
        "file:a-b",
      ];
      await store.append(keyIds.map((keyId, at) => ledgerRow(noon, { keyId, cost: 2 ** at })));
      const ids = ["key_1f", "key_1f-2e", "key_2f", "file:key_1f-2e", "file:a-b", "file:a"];
      const sums = ids.map((id) => sumSpent({ scope: "key", id }, "total"));
      expect(await Promise.all(sums)).toEqual([7, 0, 8, 16, 32, 0]);
    });

    law("the rows of two concurrent writers are all stored", async (open) => {
      const writers = [await open(), await open()];
      const rows = variedRows(60);
      await Promise.all(rows.map((row, at) => writers[at % 2]!.store.append([row])));
      const { queries } = writers[0]!;
      expect(idsOf((await queries.list({ limit: 1000 })).entries)).toEqual(
        idsOf(inListOrder(rows)),
      );
      expect((await queries.usage(total)).groups).toMatchObject([{ requests: 60 }]);
    });

    law("rows that cannot be stored together are not stored at all", async (open) => {
      const { store, queries, sumSpent } = await open();
      const broken = { ...ledgerRow(noon), endpoint: null as unknown as string };
      await expect(store.append([ledgerRow(noon, { cost: 1 }), broken])).rejects.toThrow();
      expect(await queries.list({ limit: 10 })).toEqual({ entries: [] });
      expect(await sumSpent(key, "total")).toBe(0);
      expect((await queries.usage(total)).groups).toEqual([]);
    });

    law(
      "pages of any size list every row once, the latest first, for every filter",
      async (open) => {
        const { store, queries } = await open();
        const rows = variedRows(300);
        for (let at = 0; at < rows.length; at += 70) await store.append(rows.slice(at, at + 70));
        const [from, to] = [noon + 2 * hour + 5000, noon + 5 * hour + 5000];
        const cases: [object, (row: LedgerRow) => boolean][] = [
          [{}, () => true],
          [{ keyId: "key_2" }, ({ keyId }) => keyId === "key_2"],
          [{ project: "project 1" }, ({ project }) => project === "project 1"],
          [{ project: null }, ({ project }) => project === null],
          [
            { model: "model-3", keyId: "key_1" },
            ({ model, keyId }) => model === "model-3" && keyId === "key_1",
          ],
          [{ upstream: null }, ({ upstream }) => upstream === null],
          [
            { failed: true, upstream: "upstream-1" },
            ({ error, upstream }) => error !== null && upstream === "upstream-1",
          ],
          [{ from, to }, ({ at }) => at >= from && at < to],
          [
            { from, to, model: "model-0" },
            ({ at, model }) => at >= from && at < to && model === "model-0",
          ],
          [{ keyId: "nobody" }, () => false],
          [
            { keyIds: ["key_2", "key_4", "none"] },
            ({ keyId }) => ["key_2", "key_4"].includes(keyId),
          ],
          [{ keyIds: [] }, () => false],
          [{ projects: ["project 2", "none"] }, ({ project }) => project === "project 2"],
          [
            { projects: ["project 1", "project 2"], project: "project 1" },
            ({ project }) => project === "project 1",
          ],
          [{ projects: [] }, () => false],
          [
            { requestId: rows[123]!.requestId },
            ({ requestId }) => requestId === rows[123]!.requestId,
          ],
          [{ requestId: "req_none" }, () => false],
          [{ failed: false }, ({ error }) => error === null],
          [{ error: "rate_limited" }, ({ error }) => error === "rate_limited"],
          [
            { error: "upstream_error", keyId: "key_3" },
            ({ error, keyId }) => error === "upstream_error" && keyId === "key_3",
          ],
          [{ status: { min: 429, max: 429 } }, ({ status }) => status === 429],
          [{ status: { min: 500, max: 599 } }, ({ status }) => status === 502],
          [
            { latencyMs: { min: 9000, max: 9500 } },
            ({ latencyMs }) => latencyMs >= 9000 && latencyMs <= 9500,
          ],
          [{ cost: { min: 0.2 } }, ({ cost }) => cost !== null && cost >= 0.2],
          [{ cost: { max: 0.01 } }, ({ cost }) => cost !== null && cost <= 0.01],
        ];
        for (const [filter, matches] of cases) {
          const expected = idsOf(inListOrder(rows.filter(matches)));
          // A page for each row only where there are few rows: every page is a query.
          for (const limit of [...(expected.length > 20 ? [] : [1]), 70, 1000]) {
            const listed = await allPages((page) => queries.list({ ...filter, ...page }), limit);
            expect(idsOf(listed), JSON.stringify(filter)).toEqual(expected);
          }
        }
      },
    );

    law("usage equals the sums over the rows, for every interval and grouping", async (open) => {
      const { store, queries } = await open();
      const rows = variedRows(2000);
      for (let at = 0; at < rows.length; at += 350) await store.append(rows.slice(at, at + 350));
      const close = (sums: object) =>
        Object.fromEntries(
          Object.entries(sums).map(([name, value]) => [name, expect.closeTo(value, 6)]),
        );
      const {
        groups: [all],
      } = await queries.usage(total);
      expect(all).toMatchObject(close(sumsOf(rows)));
      expect(all?.latencyHistogram.reduce((sum, count) => sum + count, 0)).toBe(2000);
      expect(all?.latencyHistogram[0]).toBe(rows.filter(({ latencyMs }) => latencyMs <= 10).length);
      expect(all?.latencyHistogram.at(-1)).toBe(
        rows.filter(({ latencyMs }) => latencyMs > 60_000).length,
      );

      const day = 24 * hour;
      const byDay = await queries.usage({
        ...total,
        interval: "day",
        groupBy: ["keyId", "upstream"],
      });
      expect(byDay.groups.reduce((sum, { requests }) => sum + requests, 0)).toBe(2000);
      for (const { from, keyId, upstream, ...sums } of byDay.groups) {
        const matching = rows.filter(
          (row) =>
            row.at - (row.at % day) === from && row.keyId === keyId && row.upstream === upstream,
        );
        expect(sums).toMatchObject(close(sumsOf(matching)));
      }
      expect(byDay.groups.map(({ from }) => from)).toEqual(
        byDay.groups.map(({ from }) => from).toSorted((a, b) => b - a),
      );

      const ofProject = await queries.usage({ ...total, projects: ["project 2"] });
      expect(ofProject.groups).toMatchObject([
        close(sumsOf(rows.filter(({ project }) => project === "project 2"))),
      ]);
      const months = await queries.usage({ ...total, interval: "month", project: null });
      expect(months.groups).toHaveLength(1);
      expect(months.groups[0]).toMatchObject({
        from: Date.UTC(2026, 10, 1),
        ...close(sumsOf(rows.filter(({ project }) => project === null))),
      });
      const [from, to] = [noon + 3 * hour, noon + 4 * hour];
      expect(
        (await queries.usage({ ...total, from: from + 1000, to: to - 1000 })).groups,
      ).toMatchObject([{ from, requests: rows.filter(({ at }) => at >= from && at < to).length }]);
      const few = await queries.usage({ ...total, interval: "hour", limit: 3 });
      expect([few.groups.length, few.hasMore]).toEqual([3, true]);
    });

    law("usage is exact to the hour, wherever in a day its time begins and ends", async (open) => {
      const { store, queries } = await open();
      const rows = rowsOfDays();
      await store.append(rows.slice(0, 500));
      await store.append(rows.slice(500));
      const midnight = noon + 12 * hour;
      const ranges = [
        [noon + 5 * hour, midnight + 7 * hour],
        [noon + 5 * hour, midnight + 31 * hour],
        [midnight, midnight + 24 * hour],
        [midnight + 7 * hour, midnight + 240 * hour],
      ] as const;
      for (const [from, to] of ranges) {
        const inRange = rows.filter(({ at }) => at >= from && at < to);
        for (const groupBy of [[], ["keyId"]] as const) {
          for (const interval of ["hour", "day", "total"] as const) {
            const query = { from, to, interval, groupBy, limit: 10_000 };
            const { groups } = await queries.usage(query);
            const requests = groups.reduce((sum, group) => sum + group.requests, 0);
            expect(requests, JSON.stringify(query)).toBe(inRange.length);
            expect(groups.every((group) => group.from >= from && group.from < to)).toBe(true);
            const ofKey = await queries.usage({ ...query, keyId: "key_3" });
            expect(ofKey.groups.reduce((sum, group) => sum + group.requests, 0)).toBe(
              inRange.filter(({ keyId }) => keyId === "key_3").length,
            );
          }
        }
      }
    });

    law("old rows are pruned, the oldest first, and usage and sums stay", async (open) => {
      const { store, queries, sumSpent, pruning } = await open();
      const ofKey = { scope: "key", id: "key_1" } as const;
      const [old, recent] = [variedRows(60, noon - 30 * 24 * hour), variedRows(40)];
      await store.append([...old, ...recent]);
      const [usage, spent] = [await queries.usage(total), await sumSpent(ofKey, "total")];
      /** The number of rows after each step. */
      const steps: number[] = [];
      const endOfOctober = Date.UTC(2026, 10, 1);
      for (let hasMore = true; hasMore; ) {
        hasMore = await store.prune(endOfOctober, 25);
        steps.push((await queries.list({ limit: 1000 })).entries.length);
      }
      // Steps after the last row has been deleted look for old sums.
      expect([...new Set(steps)]).toEqual(pruning === "in steps" ? [75, 50, 40] : [40]);
      expect((await queries.list({ limit: 1000 })).entries).toEqual(inListOrder(recent));
      expect(await queries.usage(total)).toEqual(usage);
      expect(await sumSpent(ofKey, "total")).toBe(spent);
      // A row of a pruned month can still be stored, for example from the outbox of a gateway that was off for long.
      await store.append(old.slice(0, 1));
      expect((await queries.list({ limit: 1000 })).entries).toEqual(
        inListOrder([...recent, old[0]!]),
      );
    });

    law("usage and daily sums are pruned much later than rows, in steps", async (open) => {
      const { store, queries, sumSpent } = await open();
      const ofKey = { scope: "key", id: "key_1" } as const;
      const day = 24 * hour;
      const from = noon - 600 * day;
      const [old, recent] = [variedRows(200, from), variedRows(40)];
      await store.append(old);
      await store.append(recent);
      const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10);
      expect(await sumSpent(ofKey, dayOf(from))).toBeGreaterThan(0);
      const spent = await sumSpent(ofKey, "total");
      while (await store.prune(noon - 30 * day, 25));
      expect((await queries.list({ limit: 1000 })).entries).toEqual(inListOrder(recent));
      const { groups } = await queries.usage(total);
      expect(groups[0]).toMatchObject(sumsOf(recent));
      expect(await sumSpent(ofKey, dayOf(from))).toBe(0);
      expect(await sumSpent(ofKey, dayOf(noon))).toBeGreaterThan(0);
      expect(await sumSpent(ofKey, "total")).toBe(spent);
    });

    law("usage does not depend on the order in which rows arrive", async (open) => {
      const { store, queries } = await open();
      const rows = rowsOfDays();
      const groups = Array.from({ length: 10 }, (_, at) => rows.slice(at * 100, at * 100 + 100));
      // Later hours first, and some rows long after their hour and their day.
      for (const [at] of groups.entries()) await store.append(groups[(at * 7) % 10]!);
      const to = noon + 3 * 24 * hour;
      const expected = rows.filter(({ at }) => at < to);
      for (const groupBy of [[], ["keyId"], ["keyId", "project"], ["model", "upstream"]] as const) {
        for (const interval of ["hour", "day", "month", "total"] as const) {
          const { groups: found } = await queries.usage({
            from: noon,
            to,
            limit: 10_000,
            interval,
            groupBy,
          });
          const sum = (of: "requests" | "errors") =>
            found.reduce((before, group) => before + group[of], 0);
          expect(sum("requests"), `${interval} ${groupBy}`).toBe(expected.length);
          expect(sum("errors")).toBe(expected.filter(({ error }) => error !== null).length);
        }
      }
    });

    law("an append returns the new sums of all owners of its rows", async (open) => {
      const { store } = await open();
      const rows = [
        ledgerRow(noon, { cost: 1, project: "p" }),
        ledgerRow(noon, { cost: 0.000000002, estimatedCost: 0.5 }),
        ledgerRow(noon, { cost: null, keyId: "free" }),
      ];
      const nanosOf = async (appended: readonly LedgerRow[]) =>
        new Map(
          (await store.append(appended)).map(({ scope, id, period, nanos }) => [
            `${scope} ${id} ${period}`,
            nanos,
          ]),
        );
      const first = await nanosOf(rows);
      const owners = ["key file:ci", "project p"];
      expect([...first.keys()].toSorted()).toEqual(
        owners
          .flatMap((owner) => ["2026-11-15", "2026-11", "total"].map((name) => `${owner} ${name}`))
          .toSorted(),
      );
      expect([first.get("key file:ci total"), first.get("project p 2026-11")]).toEqual([
        1_500_000_002, 1_000_000_000,
      ]);
      // Rows that are stored already add nothing, and their owners are returned.
      const again = await nanosOf([...rows, ledgerRow(noon, { cost: 2 })]);
      expect([again.get("key file:ci total"), again.get("project p 2026-11")]).toEqual([
        3_500_000_002, 1_000_000_000,
      ]);
    });

    law("a closed ledger rejects queries and rows", async (open) => {
      const storage = await open();
      await storage.close();
      await expect(storage.queries.list({ limit: 1 })).rejects.toThrow("closed");
      await expect(storage.store.append([ledgerRow(noon)])).rejects.toThrow();
    });
  });
}
