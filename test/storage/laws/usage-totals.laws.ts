/** Laws of the numbers that somebody bills by: the groups of the usage report against SQL over the rows of the ledger. */
import { describe, expect } from "bun:test";
import type { UsageDimension } from "../../../contract/admin.ts";
import { refusedKinds } from "../../../contract/errors.ts";
import { readUsage } from "../../../server/admin/reads/read-usage.ts";
import { writeStatement } from "../../../server/admin/reads/write-statement.ts";
import { roundDollars } from "../../../server/lib/nano-dollars.ts";
import type { UsageQuery } from "../../../server/storage/ports/ledger-queries.ts";
import type { LedgerRow } from "../../../server/storage/ports/ledger-row.ts";
import { maxLabels } from "../../../server/storage/sql/labels.ts";
import { ledgerRow } from "../../ledger/ledger-fixture.ts";
import { type Implementation, lawsOf } from "./backend.ts";
import type { LedgerStorage } from "./ledger-storage.ts";

const [hour, day] = [3_600_000, 86_400_000];
const noon = Date.UTC(2026, 10, 15, 12);
const total: UsageQuery = { from: 0, to: 1e15, interval: "total", limit: 2000 };
const users = { list: async () => [] };

const tagsOfRow = [null, "env:prod", "env:prod,team:a", null, "team:a", "env:prod,team:a,team:b"];
const errors = [null, null, null, "over_budget", "upstream_error", "model_not_found"];

/** Requests with no tag, one, two and three, of three projects, over 40 days. The costs have exact sums. */
const rows: readonly LedgerRow[] = Array.from({ length: 240 }, (_, at) => {
  const error = errors[((at * 5) % 7) % errors.length] ?? null;
  return ledgerRow(noon - (at % 40) * day + (at % 3) * hour, {
    keyId: `key_${at % 2}`,
    project: [null, "p", "q"][at % 3]!,
    model: `model ${at % 4}`,
    tags: tagsOfRow[(at * 7) % tagsOfRow.length]!,
    endUser: at % 5 === 0 ? `eu_${at % 3}` : null,
    error,
    status: error === null ? 200 : 429,
    attempts: error === "upstream_error" || at % 11 === 0 ? 1 : 0,
    cost: error === null ? (at + 1) / 1024 : null,
  });
});

interface Sums {
  readonly requests: number;
  readonly failed: number;
  readonly refused: number;
  readonly cost: number;
}

const kinds = refusedKinds.map((kind) => `'${kind}'`).join(", ");
const isRefused = `attempts = 0 AND error IN (${kinds})`;

/** The groups as SQL over the rows has them. `name`: an expression. */
async function truth({ sql }: LedgerStorage, names: readonly string[], where = "1 = 1") {
  const found = new Map<string, Sums>();
  for (const name of names) {
    const [condition, label = ""] = name.split(" AS ");
    const [sums] = await sql<Record<keyof Sums, number>>(
      `SELECT count(*) AS requests, sum(CASE WHEN ${isRefused} THEN 1 ELSE 0 END) AS refused,
         sum(CASE WHEN error IS NOT NULL AND NOT (${isRefused}) THEN 1 ELSE 0 END) AS failed,
         coalesce(sum(cost), 0) AS cost
       FROM vexel.ledger WHERE ${condition} AND ${where}`,
    );
    if (Number(sums?.requests) > 0) found.set(label, numbersOf(sums!));
  }
  return Object.fromEntries(found);
}

const numbersOf = ({ requests, failed, refused, cost }: Sums): Sums => ({
  requests: Number(requests),
  failed: Number(failed),
  refused: Number(refused),
  cost: Number(cost),
});

const hasTag = (tag: string): string => `',' || tags || ',' LIKE '%,${tag},%' AS ${tag}`;
const byTag = [...["env:prod", "team:a", "team:b"].map(hasTag), "tags IS NULL AS "];
const byEndUser = [
  ...["eu_0", "eu_1", "eu_2"].map((name) => `end_user = '${name}' AS ${name}`),
  "end_user IS NULL AS ",
];

const shown = async (
  { queries }: LedgerStorage,
  dimensions: readonly UsageDimension[],
  query: Partial<UsageQuery> = {},
  top?: number,
) => {
  const report = await readUsage({ queries, users }, { ...total, ...query }, dimensions, top);
  const groups = report.groups.map((group) => {
    const name = dimensions.map(
      (dimension) => group[dimension === "end_user" ? "endUser" : (dimension as "tag")] ?? "",
    );
    const { requests, errors: all, refused, cost } = group;
    return [name.join(" · "), { requests, failed: all - refused, refused, cost }] as const;
  });
  return { report, groups: Object.fromEntries(groups) };
};

export function usageTotalsLaws(implementation: Implementation<LedgerStorage>): void {
  const law = lawsOf(implementation);

  describe(`${implementation.name} usage that is billed by`, () => {
    law("by tag and end user is that of the rows, with the rest that has none", async (open) => {
      const storage = await open();
      for (let at = 0; at < rows.length; at += 50)
        await storage.store.append(rows.slice(at, at + 50));
      expect((await shown(storage, [])).groups).toEqual(await truth(storage, ["1 = 1 AS "]));
      expect((await shown(storage, ["tag"])).groups).toEqual(await truth(storage, byTag));
      expect((await shown(storage, ["end_user"])).groups).toEqual(await truth(storage, byEndUser));
      for (const project of ["p", "q"]) {
        const where = `project = '${project}'`;
        expect((await shown(storage, ["tag"], { project })).groups).toEqual(
          await truth(storage, byTag, where),
        );
      }
      const models = byTag.flatMap((name) =>
        [0, 1, 2, 3].map((at) => {
          const [condition, label] = name.split(" AS ");
          return `${condition} AND model = 'model ${at}' AS ${label} · model ${at}`;
        }),
      );
      expect((await shown(storage, ["tag", "model"])).groups).toEqual(await truth(storage, models));
      // Requests with a tag: none is without.
      expect(Object.keys((await shown(storage, ["tag"], { tag: "team:b" })).groups)).not.toContain(
        "",
      );
    });

    law("by day adds up to the total, also with a row for all small groups", async (open) => {
      const storage = await open();
      for (let at = 0; at < rows.length; at += 50)
        await storage.store.append(rows.slice(at, at + 50));
      const sumOf = (
        name: "cost" | "requests",
        groups: readonly { cost: number; requests: number }[],
      ) => groups.reduce((sum, group) => sum + group[name], 0);
      const { groups: all } = await storage.queries.usage(total);
      for (const top of [undefined, 1, 2]) {
        for (const dimensions of [["end_user"], ["end_user", "model"]] as const) {
          const { report } = await shown(storage, dimensions, { interval: "day" }, top);
          expect(sumOf("cost", report.groups)).toBe(sumOf("cost", all));
          expect(sumOf("requests", report.groups)).toBe(rows.length);
        }
      }
    });

    law("on a statement is that of the rows by key, model and tags", async (open) => {
      const storage = await open();
      for (let at = 0; at < rows.length; at += 50)
        await storage.store.append(rows.slice(at, at + 50));
      const keyNames = { of: async () => new Map([["key_0", "=first"]]) };
      for (const project of ["p", "q"]) {
        const key = { project, month: "2026-10", createdAt: 1 };
        const { statement, csv } = await writeStatement({ ...storage, keyNames }, key);
        const where = `project = '${project}' AND at >= ${Date.UTC(2026, 9)} AND at < ${Date.UTC(2026, 10)}`;
        const sums = `count(*) AS requests, coalesce(sum(cost), 0) AS cost,
          sum(CASE WHEN error IS NULL AND cost IS NULL AND estimated_cost IS NULL THEN 1 ELSE 0 END) AS unpriced`;
        type Row = Record<"requests" | "cost" | "unpriced", number> &
          Record<"key_id" | "model" | "tags", string>;
        const groups = await storage.sql<Row>(
          `SELECT key_id, model, coalesce(tags, '') AS tags, ${sums} FROM vexel.ledger
           WHERE ${where} GROUP BY key_id, model, tags ORDER BY key_id, model, tags`,
        );
        const expected = groups.map((row) =>
          [
            row.key_id,
            row.key_id === "key_0" ? `"'=first"` : "",
            row.model,
            row.tags.includes(",") ? `"${row.tags}"` : row.tags,
            Number(row.requests),
            Number(row.unpriced),
            roundDollars(Number(row.cost)),
            0,
            roundDollars(Number(row.cost)),
          ].join(","),
        );
        expect(expected.length).toBeGreaterThan(3);
        expect(csv.split("\r\n").slice(1, -1).toSorted()).toEqual(expected.toSorted());
        const [all] = await storage.sql<Row>(`SELECT ${sums} FROM vexel.ledger WHERE ${where}`);
        expect(statement).toMatchObject({
          requests: Number(all!.requests),
          unpriced: Number(all!.unpriced),
          cost: roundDollars(Number(all!.cost)),
        });
      }
    });

    law("of several keys is that of their rows", async (open) => {
      const storage = await open();
      for (let at = 0; at < rows.length; at += 50)
        await storage.store.append(rows.slice(at, at + 50));
      const of = (keyIds: readonly string[]) => shown(storage, ["tag"], { keyIds });
      for (const keyIds of [["key_1"], ["key_1", "key_0", "none"]]) {
        const where = `key_id IN ('${keyIds.join("', '")}')`;
        expect((await of(keyIds)).groups).toEqual(await truth(storage, byTag, where));
      }
      expect((await of([])).groups).toEqual({});
    });

    law("is the same when the rows of the month are deleted", async (open) => {
      const storage = await open();
      const { store } = storage;
      await store.append(rows);
      await store.append([ledgerRow(noon)]);
      const [tags, ends] = [await truth(storage, byTag), await truth(storage, byEndUser)];
      while (await store.prune(noon - 5 * day, 1000));
      expect(Object.values(await truth(storage, ["1 = 1 AS all"]))[0]!.requests).toBeLessThan(60);
      expect((await shown(storage, ["tag"])).groups).toEqual(tags);
      expect((await shown(storage, ["end_user"])).groups).toEqual(ends);
    });

    law(
      "has more tags than the bound in one row, and the rest without a tag is exact",
      async (open) => {
        const storage = await open();
        const many = Array.from({ length: maxLabels.ofKey + 50 }, (_, at) =>
          ledgerRow(noon + at, { tags: at % 10 === 0 ? null : `tag:${at}`, cost: 1 }),
        );
        const more = Array.from({ length: 200 }, (_, at) =>
          ledgerRow(noon + at, { tags: `more:${at}`, cost: 1 }),
        );
        await storage.store.append(many);
        await storage.store.append(more);
        await storage.store.append([ledgerRow(noon, { cost: 1 })]);
        const { groups } = await shown(storage, ["tag"]);
        expect(groups[""]).toEqual((await truth(storage, ["tags IS NULL AS "]))[""]!);
        const withTag = (await truth(storage, ["tags IS NOT NULL AS tagged"])).tagged!;
        expect(groups["(other)"]?.requests).toBe(withTag.requests - maxLabels.ofKey);
        const { "": _, ...tagged } = groups;
        expect(Object.values(tagged).reduce((sum, { cost }) => sum + cost, 0)).toBe(withTag.cost);
      },
    );
  });
}
