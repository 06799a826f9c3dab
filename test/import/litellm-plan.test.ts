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

describe("the models of an imported key", () => {
  const teams = [{ team_id: "t1", team_alias: "team", models: ["search"] }];
  const modelsOf = (columns: JsonObject) =>
    plan({ models: [search, own], teams, keys: [key("web", columns)] });

  test("are those that the key and its team both allow", () => {
    expect(modelsOf({ team_id: "t1", models: ["search", "own"] }).keys[0]?.models).toEqual([
      "search",
    ]);
    expect(modelsOf({ team_id: "t1", models: ["all-proxy-models"] }).keys[0]?.models).toEqual([
      "search",
    ]);
    expect(modelsOf({ team_id: "t1", models: ["*"] }).keys[0]?.models).toEqual(["search"]);
    const { keys, line } = modelsOf({ team_id: "t1", models: ["own"] });
    expect(keys).toEqual([]);
    expect(line('key "web"', "")?.note).toBe("not imported: the key may use no model");
  });

  test("are none if they are those of a team that was not found", () => {
    for (const models of [["all-team-models"], []]) {
      const { keys, line } = modelsOf({ team_id: "gone", models });
      expect(keys).toEqual([]);
      expect(line('key "web"', "")?.note).toContain('the team "gone", which was not found');
    }
    expect(modelsOf({ models: ["all-team-models"] }).keys).toEqual([]);
    const { keys, line } = modelsOf({ team_id: "gone", models: ["search"] });
    expect(keys[0]?.models).toEqual(["search"]);
    expect(line('key "web"', "team_id")?.outcome).toBe("dropped");
  });

  test("are read from the text of a PostgreSQL array, and refused if they cannot be read", () => {
    const read = (models: unknown) => modelsOf({ models }).keys[0]?.models;
    expect(read("{search}")).toEqual(["search"]);
    expect(read('{search,"own"}')).toEqual(["search", "own"]);
    expect(read('["own"]')).toEqual(["own"]);
    expect(read("{}")).toEqual(["*"]);
    for (const models of ["search", "{search", { search: true }, [null], 7]) {
      const { keys, line } = modelsOf({ models });
      expect(keys).toEqual([]);
      expect(line('key "web"', "")?.note).toContain("are no list of names");
    }
  });

  test("are none if the list of its team cannot be read", () => {
    const { keys, line } = plan({
      models: [search],
      teams: [{ team_id: "t1", team_alias: "team", models: "search" }],
      keys: [key("web", { team_id: "t1" })],
    });
    expect(keys).toEqual([]);
    expect(line('team "team"', "models")?.note).toContain("is no list of names");
  });
});

describe("an entry of LiteLLM", () => {
  const model = "openai/text-embedding-3-small";

  test("with weight 0 gets no requests: it is left out and reported", () => {
    const drained = plan({ models: [search, entry("search", { model, weight: 0 })] });
    expect(targetsOf(drained.models.get("search"))).toHaveLength(1);
    expect(drained.line('model "search" (', "")?.note).toContain("its weight is 0");
  });

  test("with an invalid weight or order is imported without it, which is reported", () => {
    const { models, line } = plan({
      models: [entry("search", { model, weight: "much", order: -1 })],
    });
    const [target] = targetsOf(models.get("search"));
    expect([target?.weight, target?.tier]).toEqual([undefined, undefined]);
    expect(line('model "search" (', "weight")?.outcome).toBe("dropped");
    expect(line('model "search" (', "order")?.outcome).toBe("dropped");
  });
});

describe("a key of an export", () => {
  const planKey = (columns: JsonObject) => plan({ models: [search], keys: [key("web", columns)] });

  test("has its times in UTC, whatever the zone of the machine is", () => {
    const before = process.env.TZ;
    process.env.TZ = "America/New_York";
    try {
      const expected = Date.parse("2027-01-02T03:04:05Z");
      for (const expires of [
        "2027-01-02 03:04:05",
        "2027-01-02T03:04:05.000",
        "2027-01-02T03:04:05Z",
        "2027-01-02 04:04:05+01",
      ])
        expect(planKey({ expires }).keys[0]?.expiresAt).toBe(expected);
    } finally {
      if (before === undefined) delete process.env.TZ;
      else process.env.TZ = before;
    }
  });

  test("is refused if its expiry cannot be read", () => {
    for (const expires of ["next year", 1_900_000_000, "2027-13-45"]) {
      const { keys, line } = planKey({ expires });
      expect(keys).toEqual([]);
      expect(line('key "web"', "")?.note).toContain("is no time");
    }
  });

  test("is refused if it is blocked, also by text", () => {
    for (const blocked of [true, "true", "t"])
      expect(planKey({ blocked }).line('key "web"', "")?.note).toContain("the key is blocked");
    expect(planKey({ blocked: "false" }).keys).toHaveLength(1);
  });
});
