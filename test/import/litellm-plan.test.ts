/** The plan of `vexel import litellm`: no budget, limit or list of models becomes looser without a line in the report. */
import { describe, expect, test } from "bun:test";
import { planLitellm } from "../../cli/import/litellm/plan.ts";
import { emptySource, type LitellmSource } from "../../cli/import/litellm/source.ts";
import { Report } from "../../cli/import/report.ts";
import { secretHash } from "../../server/lib/secret-hash.ts";
import type { JsonObject } from "../../server/storage/sql/config-entity-store.ts";

const now = Date.parse("2026-06-01T00:00:00Z");
const plan = (source: Partial<LitellmSource>, accepted: readonly string[] = []) => {
  const report = new Report(new Set(accepted));
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

  test("are the models that the key and its team both allow", () => {
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
    expect(read("{}")).toEqual(["search", "own"]);
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

describe("a key of LiteLLM is imported with the models that LiteLLM lets it use:", () => {
  const beta = {
    ...entry("search", { model: "openai/text-embedding-3-small" }),
    model_info: { mode: "embedding", access_groups: ["beta"] },
  };
  const art = entry("art", { model: "openai/gpt-image-1" }, "image_generation");
  const modelsOf = (columns: JsonObject, more: Partial<LitellmSource> = {}) => {
    const { keys, line } = plan({
      models: [beta, own, art],
      routerSettings: { model_group_alias: { find: "search" } },
      keys: [key("web", columns)],
      ...more,
    });
    return { models: keys[0]?.models, key: keys[0], note: line('key "web"', "")?.note };
  };

  test("those of its access groups, and their aliases", () => {
    expect(modelsOf({ models: ["beta"] }).models).toEqual(["search", "find"]);
    const accessGroups = [{ access_group_id: "g1", access_model_names: ["own"] }];
    const columns = { models: ["gpt-5"], access_group_ids: ["g1"] };
    expect(modelsOf(columns, { accessGroups }).models).toEqual(["own"]);
    const teams = [{ team_id: "t1", team_alias: "team", models: ["beta"] }];
    expect(modelsOf({ team_id: "t1" }, { teams }).models).toEqual(["search", "find"]);
  });

  test("those that a pattern matches, and those of the provider that it names", () => {
    expect(modelsOf({ models: ["sea*"] }).models).toEqual(["search", "find"]);
    const models = [entry("text-embedding-3-small", { model: "openai/text-embedding-3-small" })];
    expect(modelsOf({ models: ["openai/*"] }, { models }).models).toEqual([
      "text-embedding-3-small",
    ]);
  });

  test("only those of its user, if it has no team", () => {
    const users = [
      { user_id: "u1", user_email: "a@example.com", models: ["own"] },
      { user_id: "u2", models: ["no-default-models"] },
    ];
    expect(modelsOf({ user_id: "u1" }, { users }).models).toEqual(["own"]);
    expect(modelsOf({ user_id: "u2" }, { users }).note).toBe(
      "not imported: the key may use no model",
    );
  });

  test("only those whose endpoints it may call", () => {
    expect(modelsOf({ allowed_routes: ["llm_api_routes"] }).models).toEqual([
      "search",
      "own",
      "art",
      "find",
    ]);
    expect(modelsOf({ allowed_routes: ["/v1/embeddings"] }).models).toEqual([
      "search",
      "own",
      "find",
    ]);
    expect(modelsOf({ allowed_routes: ["/images/*"] }).models).toEqual(["art"]);
    for (const route of ["management_routes", "info_routes", "/chat/completions"])
      expect(modelsOf({ allowed_routes: [route] }).note).toContain("no embeddings and images");
  });

  test("none, if its project is blocked, or one of its limits is 0", () => {
    const projects = [
      { project_id: "p1", blocked: true, models: [] },
      { project_id: "p2", models: ["own"] },
    ];
    expect(modelsOf({ project_id: "p1" }, { projects }).note).toContain("its project is blocked");
    expect(modelsOf({ project_id: "p2" }, { projects }).models).toEqual(["own"]);
    expect(modelsOf({ rpm_limit: 0 }).note).toContain("its rpm_limit is 0");
    const teams = [{ team_id: "t1", models: [], tpm_limit: "0" }];
    expect(modelsOf({ team_id: "t1" }, { teams }).note).toContain("the tpm_limit of its team is 0");
  });
});

describe("the limits of a key of LiteLLM:", () => {
  test("those of its user are those of a project, if it has no team", () => {
    const users = [
      { user_id: "u1", user_email: "a@example.com", models: [], max_budget: 3, rpm_limit: 9 },
      { user_id: "u2", user_email: "b@example.com", models: [], max_budget: 4 },
    ];
    const { keys, projects } = plan({
      models: [search],
      users,
      keys: [key("web", { user_id: "u1" })],
    });
    expect(keys[0]?.project).toBe("a@example.com");
    expect([...projects]).toEqual([
      ["a@example.com", { limits: { requestsPerMinute: 9 }, budget: { total: 3 } }],
    ]);
  });

  test("each window of budget_limits is a budget, and of two for a period the lower one counts", () => {
    const budget_limits = [
      { budget_duration: "1d", max_budget: 2 },
      { budget_duration: "30d", max_budget: 20 },
      { budget_duration: "1h", max_budget: 5 },
    ];
    const { keys, line } = plan({ models: [search], keys: [key("web", { budget_limits })] });
    expect(keys[0]?.budget).toEqual({ day: 2, month: 20, unknownPrice: "allow" });
    expect(line('key "web"', "budget_limits.1d")?.outcome).toBe("carried");
  });

  test("each one that is not carried has a line, also those in metadata and in a shared budget", () => {
    const keys = [
      key("web", {
        budget_id: "b1",
        metadata: { tags: ["a"], model_rpm_limit: { search: 1 }, note: "x" },
      }),
    ];
    const budgets = [{ budget_id: "b1", max_budget: 1, soft_budget: 0.5 }];
    const { line } = plan({ models: [search], budgets, keys }, ["model-limits"]);
    expect(line('key "web"', "metadata.tags")?.note).toContain("vexel-tags");
    expect(line('key "web"', "metadata.model_rpm_limit")?.loss).toBe("model-limits");
    expect(line('key "web"', "metadata.note")?.outcome).toBe("dropped");
    expect(line('key "web"', "budget.soft_budget")?.outcome).toBe("dropped");
  });
});

describe("a deployment of LiteLLM", () => {
  test("is the model that base_model names: OpenAI and Azure serve one vector space", () => {
    const azure = {
      ...entry("search", { model: "azure/my-deployment", api_base: "https://a.example" }),
      model_info: { base_model: "azure/text-embedding-3-small" },
    };
    const { models } = plan({ models: [search, azure] });
    expect(models.get("search")).toMatchObject({ kind: "embedding", sameSpace: true });
    expect(targetsOf(models.get("search"))).toHaveLength(2);
    const large = { ...azure, model_info: { base_model: "azure/text-embedding-3-large" } };
    const { line } = plan({ models: [search, large] });
    expect(line('model "search"', "")?.outcome).toBe("refused");
  });

  test("that is blocked, of one team, or a wildcard is not imported, and says why", () => {
    const wildcard = entry("openai/*", { model: "openai/*" });
    const { models, line } = plan({
      models: [
        { ...search, isBlocked: true },
        { ...own, model_info: { mode: "embedding", team_id: "t1" } },
        { ...wildcard, model_info: {} },
      ],
    });
    expect(models.size).toBe(0);
    expect(line('model "search" (', "")?.note).toContain("the model is blocked");
    expect(line('model "own" (', "")?.note).toContain('only the team "t1" may use it');
    expect(line('model "openai/*" (', "")?.note).toContain("Add an entry for each");
  });

  test("with dimensions that its model has only on request is not imported", () => {
    const large = { model: "openai/text-embedding-3-large" };
    const { models, line } = plan({
      models: [
        entry("short", { ...large, dimensions: 256 }),
        entry("native", { ...large, dimensions: 3072 }),
      ],
    });
    expect([...models.keys()]).toEqual(["native"]);
    expect(line('model "short" (', "")?.note).toContain("let clients send it");
  });

  test("of a cloud without credentials has those that the cloud gives, as in LiteLLM", () => {
    const titan = { api_key: undefined, api_base: undefined, aws_region_name: "us-east-1" };
    const google = { vertex_project: "p", vertex_location: "us-central1" };
    const { upstreams } = plan({
      models: [
        entry("titan", { ...titan, model: "bedrock/amazon.titan-embed-text-v2:0" }),
        entry("google", { ...titan, ...google, model: "vertex_ai/text-embedding-005" }),
      ],
    });
    expect([...upstreams.values()]).toMatchObject([
      { kind: "bedrock", auth: { type: "default" } },
      { kind: "vertex", auth: { type: "default" } },
    ]);
  });

  test("with a credential that does not exist says so", () => {
    const { line } = plan({
      models: [
        entry("search", { model: "openai/text-embedding-3-small", litellm_credential_name: "x" }),
      ],
    });
    expect(line('model "search" (', "litellm_credential_name")?.outcome).toBe("dropped");
  });

  test("without an address has the one of the variable that LiteLLM reads", () => {
    const { upstreams } = plan({
      models: [entry("search", { model: "azure/embed", api_base: undefined })],
    });
    expect([...upstreams.values()]).toMatchObject([{ baseUrl: { variable: "AZURE_API_BASE" } }]);
  });
});

test("end users with a budget or a block, and rotated keys, have lines in the report", () => {
  const { line } = plan({
    endUsers: [
      { user_id: "u-1", blocked: true },
      { user_id: "u-2", budget_id: "b1" },
    ],
    rotatedKeys: [{ active_token_id: "abcdef0123456789", revoke_at: "2026-06-02 00:00:00" }],
  });
  expect(line('end user "u-1"', "blocked")?.outcome).toBe("dropped");
  expect(line('end user "u-2"', "budget_id")?.note).toContain("perEndUser");
  expect(line("key that was replaced by abcdef0123", "")?.note).toContain("2026-06-02");
});

test("fallbacks and aliases of litellm_settings are treated like those of the router", () => {
  const { models, line } = plan({
    models: [search, own],
    otherSettings: new Map([
      [
        "litellm_settings",
        { fallbacks: [{ search: ["own"] }], model_alias_map: { find: "search" } },
      ],
    ]),
  });
  expect(models.has("find")).toBe(true);
  expect(line("litellm_settings", "fallbacks.search")?.note).toStartWith("refused");
});
