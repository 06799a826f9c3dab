/** The plan of an import from new-api: what is refused, left out and reported. */
import { expect, test } from "bun:test";
import { planNewApi } from "../../cli/import/new-api/plan.ts";
import type { NewApiSource } from "../../cli/import/new-api/read.ts";
import type { ImportPlan } from "../../cli/import/plan.ts";
import { printReport, Report } from "../../cli/import/report.ts";
import type { JsonObject } from "../../server/storage/ports/config-entity-store.ts";

const owner = { id: 1, status: 1, quota: 700, deleted_at: null };
const channel = { id: 1, type: 1, key: "sk-a", name: "main", models: "text-embedding-3-small" };
const token = { id: 1, user_id: 1, key: "k".repeat(48), name: "web", remain_quota: 500_000 };

function plan(source: Partial<NewApiSource>): ImportPlan & { readonly text: string } {
  const report = new Report();
  const full = { channels: [channel], tokens: [], users: [owner], ...source };
  const planned = planNewApi({ quotaPerUnit: undefined, ...full }, report, {
    quotaPerDollar: 500_000,
    isConfirmed: true,
    now: 1_800_000_000_000,
  });
  return { ...planned, text: printReport(report) };
}

const planToken = (fields: JsonObject): ReturnType<typeof plan> =>
  plan({ tokens: [{ ...token, ...fields }] });

test("a token with a key becomes an API key with a budget", () => {
  expect(planToken({}).keys).toMatchObject([{ name: "web", budget: { total: 1 } }]);
});

test.each([
  ["no key", { key: undefined }, "the token has no key"],
  ["NULL as its key", { key: null }, "the token has no key"],
  ["an empty key", { key: " " }, "the token has no key"],
  ["a masked key", { key: "abcd**********wxyz" }, "its key is masked"],
])("a token with %s gives no API key, and the report names it", (_, fields, reason) => {
  const { keys, text } = planToken(fields);
  expect(keys).toEqual([]);
  expect(text).toContain(`token "web"\n  dropped      not imported: ${reason}`);
});

test.each(["remain_quota", "expired_time", "created_time", "status"])(
  "a token whose %s is not a number gives no API key",
  (field) => {
    for (const value of ["abc", "", "NaN"]) {
      const { keys, text } = planToken({ [field]: value });
      expect(keys).toEqual([]);
      expect(text).toContain(`its ${field} is not a number: "${value}"`);
    }
  },
);

test("a token that expires after the last date gives no API key", () => {
  expect(planToken({ expired_time: 1e15 }).keys).toEqual([]);
});

test("a token without a limit needs a value that says so", () => {
  expect(planToken({ unlimited_quota: "abc" }).keys).toEqual([]);
  expect(planToken({ unlimited_quota: "false" }).keys).toMatchObject([{ budget: { total: 1 } }]);
});

test.each([
  ["disabled", { ...owner, status: 2 }, "its user is disabled"],
  ["deleted", { ...owner, deleted_at: "2026-01-01 00:00:00" }, "its user is deleted"],
  ["absent", { ...owner, id: 2 }, "its user does not exist"],
])("a token of a user who is %s gives no API key", (_, user, reason) => {
  const { keys, text } = plan({ tokens: [token], users: [user] });
  expect(keys).toEqual([]);
  expect(text).toContain(`not imported: ${reason}`);
});

test("the report of a token without a quota names the quota of its user", () => {
  const { keys, text } = planToken({ unlimited_quota: 1 });
  expect(keys[0]?.budget).toBeUndefined();
  expect(text).toContain("dropped      unlimited_quota: the key has no budget");
  expect(text).toContain("the quota of its user, 700, limited it");
});
