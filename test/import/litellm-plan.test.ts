/** The plan of `vexel import litellm`: no budget, limit or list of models becomes looser without a line in the report. */
import { describe, expect, test } from "bun:test";
import { planLitellm } from "../../cli/import/litellm/plan.ts";
import { emptySource, type LitellmSource } from "../../cli/import/litellm/source.ts";
import { Report } from "../../cli/import/report.ts";
import { secretHash } from "../../server/lib/secret-hash.ts";
import type { JsonObject } from "../../server/storage/ports/config-entity-store.ts";

const now = Date.parse("2026-06-01T00:00:00Z");
const plan = (source: Partial<LitellmSource>) => {
  const report = new Report();
  const planned = planLitellm({ ...emptySource, ...source }, report, ({ text }) => text, now);
  const line = (subject: string, field: string) =>
    report.lines.find((entry) => entry.subject.startsWith(subject) && entry.field === field);
  return { ...planned, line };
};
const entry = (name: string, params: JsonObject, mode = "embedding") => ({
  model_name: name,
  litellm_params: { api_base: "http://127.0.0.1:1/v1", api_key: "sk-a", ...params },
  model_info: { mode },
  where: "config.yaml",
});
const search = entry("search", { model: "openai/text-embedding-3-small" });
const own = entry("own", { model: "openai/our-own-model" });
const key = (alias: string, columns: JsonObject = {}): JsonObject => ({
  token: secretHash(alias),
  key_alias: alias,
  models: [],
  ...columns,
});
const targetsOf = (model: JsonObject | undefined) => model?.targets as readonly JsonObject[];

describe("an imported budget", () => {
  test("is enforced for a model behind api_base: its target has the list price", () => {
    const art = entry("art", { model: "openai/gpt-image-1" }, "image_generation");
    const { models, line } = plan({
      models: [search, art],
      keys: [key("web", { max_budget: 5 })],
    });
    expect(targetsOf(models.get("search"))[0]?.price).toEqual({ input: 0.02 });
    expect(targetsOf(models.get("art"))[0]?.price).toMatchObject({ input: 5, output: 40 });
    expect(line('model "search" (', "price")?.note).toContain("text-embedding-3-small at openai");
    expect(line('key "web"', "max_budget")?.outcome).toBe("carried");
  });

  test("of a key or team that can use a model without a price is reported as not enforced for it", () => {
    const { line } = plan({
      models: [search, own],
      teams: [{ team_id: "t1", team_alias: "all", models: [], max_budget: 9 }],
      keys: [key("any", { max_budget: 5 }), key("priced", { max_budget: 5, models: ["search"] })],
    });
    const gap =
      "budget.total: 5. Not enforced for model own: its price is unknown; set price or unknownPrice: refuse";
    expect(line('key "any"', "max_budget")).toMatchObject({ outcome: "approximated", note: gap });
    expect(line('key "priced"', "max_budget")?.outcome).toBe("carried");
    expect(line('team "all"', "max_budget")?.outcome).toBe("approximated");
  });
});

test("teams with the same alias have the same projects in every import", () => {
  const teams = [
    { team_id: "t1", team_alias: "search", max_budget: 1 },
    { team_id: "t2", team_alias: "search", max_budget: 2 },
  ];
  const first = plan({ teams }).projects;
  expect([...first.keys()]).toEqual(["search t1", "search t2"]);
  expect(first.get("search t2")).toEqual({ budget: { total: 2 } });
  expect(plan({ teams: teams.toReversed() }).projects).toEqual(first);
});

test("the limits of a deployment apply once to a model and its alias", () => {
  const limited = entry("search", { model: "openai/text-embedding-3-small", rpm: 600 });
  const { models, upstreams } = plan({
    models: [limited, entry("other", { model: "openai/text-embedding-3-small" })],
    routerSettings: { model_group_alias: { find: "search" } },
  });
  const [target] = targetsOf(models.get("search"));
  expect(targetsOf(models.get("find"))).toEqual([target ?? {}]);
  expect(target?.limits).toBeUndefined();
  expect(upstreams.get(String(target?.upstream))?.limits).toEqual({ requestsPerMinute: 600 });
  const [other] = targetsOf(models.get("other"));
  expect(upstreams.get(String(other?.upstream))?.limits).toBeUndefined();
});
