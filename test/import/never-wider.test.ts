/** Of an imported key, nothing is wider than in the other gateway, no protection vanishes, and no name has other vectors. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { planLitellm } from "../../cli/import/litellm/plan.ts";
import { emptySource, type LitellmSource } from "../../cli/import/litellm/source.ts";
import { type Loss, losses } from "../../cli/import/losses.ts";
import { planNewApi } from "../../cli/import/new-api/plan.ts";
import type { NewApiSource } from "../../cli/import/new-api/read.ts";
import { printPage } from "../../cli/import/print-report.ts";
import { Report } from "../../cli/import/report.ts";
import { totalsOf } from "../../cli/import/show-result.ts";
import { secretHash } from "../../server/lib/secret-hash.ts";
import type { JsonObject } from "../../server/storage/sql/config-entity-store.ts";
import { root } from "../harness.ts";

const now = Date.parse("2026-06-01T00:00:00Z");
const reported = (report: Report) => ({
  lines: report.lines,
  refusal: (subject: string) =>
    report.lines.find((line) => line.subject.startsWith(subject) && line.outcome === "refused")
      ?.note,
  lossesOf: (subject: string) =>
    report.lines
      .filter((line) => line.subject.startsWith(subject))
      .flatMap(({ loss }) => loss ?? []),
});

describe("LiteLLM:", () => {
  const plan = (source: Partial<LitellmSource>, accepted: readonly Loss[] = []) => {
    const report = new Report(new Set(accepted));
    const planned = planLitellm({ ...emptySource, ...source }, report, ({ text }) => text, now);
    const keyModels = planned.keys[0]?.models;
    return { ...planned, ...reported(report), keyModels, report };
  };
  const entry = (name: string, params: JsonObject, info: JsonObject = {}) => ({
    model_name: name,
    litellm_params: { api_base: "http://127.0.0.1:1/v1", api_key: "sk-a", ...params },
    model_info: { mode: "embedding", ...info },
    where: "config.yaml",
  });
  const small = { model: "openai/text-embedding-3-small" };
  const models = [
    entry("small", small),
    entry("large", { model: "openai/text-embedding-3-large" }),
    entry("art", { model: "openai/gpt-image-1" }, { mode: "image_generation" }),
  ];
  const key = (columns: JsonObject = {}): JsonObject => ({
    token: secretHash(JSON.stringify(columns)),
    key_alias: "web",
    models: [],
    ...columns,
  });

  /** A key or a model with each protection, which is imported only if its loss is accepted. */
  const protectedSources: readonly [string, Loss, Partial<LitellmSource>][] = [
    ["guardrails of a key", "guardrails", { keys: [key({ metadata: { guardrails: ["pii"] } })] }],
    [
      "guardrails of a team",
      "guardrails",
      {
        teams: [{ team_id: "t", models: [], metadata: { guardrails: ["pii"] } }],
        keys: [key({ team_id: "t" })],
      },
    ],
    [
      "a guardrail that is always on",
      "guardrails",
      { guardrails: [{ litellm_params: { default_on: true } }], keys: [key()] },
    ],
    [
      "a moderation of the site",
      "guardrails",
      {
        otherSettings: new Map([["litellm_settings", { callbacks: ["llamaguard_moderations"] }]]),
        keys: [key()],
      },
    ],
    ["policies of a key", "policies", { keys: [key({ policies: ["strict"] })] }],
    ["policies of the site", "policies", { policies: [{ scope: "*" }], keys: [key()] }],
    [
      "enforced parameters",
      "enforced-params",
      { keys: [key({ metadata: { enforced_params: ["user"] } })] },
    ],
    [
      "a site that needs the parameter user",
      "enforced-params",
      {
        otherSettings: new Map([["general_settings", { enforce_user_param: true }]]),
        keys: [key()],
      },
    ],
    [
      "addresses of the site",
      "ip-lists",
      {
        otherSettings: new Map([["general_settings", { allowed_ips: ["10.0.0.1"] }]]),
        keys: [key()],
      },
    ],
    [
      "a rate limit of the user of a team's key",
      "member-budgets",
      {
        users: [{ user_id: "u", models: [], rpm_limit: 5 }],
        teams: [{ team_id: "t", models: [] }],
        keys: [key({ team_id: "t", user_id: "u" })],
      },
    ],
    ["an agent", "agents", { keys: [key({ agent_id: "a" })] }],
    ["a limit of tokens per day", "token-limits", { keys: [key({ tpd_limit: 100 })] }],
    [
      "a budget of one model",
      "model-limits",
      { keys: [key({ model_max_budget: '{"small":{"budget_limit":1}}' })] },
    ],
    [
      "models of its organization",
      "organizations",
      {
        organizations: [{ organization_id: "o", models: ["small"], budget_id: "b" }],
        keys: [key({ organization_id: "o" })],
      },
    ],
    [
      "a budget of the organization of its team",
      "organizations",
      {
        organizations: [{ organization_id: "o", models: [], budget_id: "b" }],
        budgets: [{ budget_id: "b", max_budget: 5 }],
        teams: [{ team_id: "t", models: [], organization_id: "o" }],
        keys: [key({ team_id: "t" })],
      },
    ],
    [
      "a budget of its project",
      "shared-budgets",
      {
        projects: [{ project_id: "p", models: [], budget_id: "b" }],
        budgets: [{ budget_id: "b", max_budget: 5 }],
        keys: [key({ project_id: "p" })],
      },
    ],
    [
      "a budget of a tag",
      "shared-budgets",
      {
        tags: [{ tag_name: "paid", budget_id: "b" }],
        budgets: [{ budget_id: "b", max_budget: 5 }],
        keys: [key()],
      },
    ],
    [
      "end users with models",
      "end-users",
      { endUsers: [{ user_id: "c", models: ["small"], blocked: false }], keys: [key()] },
    ],
    [
      "end users with a region",
      "end-users",
      { endUsers: [{ user_id: "c", models: [], allowed_model_region: "eu" }], keys: [key()] },
    ],
    [
      "generations without edits",
      "image-edits",
      { keys: [key({ allowed_routes: ["/v1/images/generations"] })] },
    ],
  ];

  test.each(protectedSources)(
    "a key with %s is refused, unless %s is accepted",
    (_, loss, source) => {
      const refused = plan({ models, ...source });
      expect(refused.keys).toEqual([]);
      expect(refused.refusal('key "web"')).toBe(
        `not imported: it would lose ${loss} (--accept ${loss})`,
      );
      const accepted = plan({ models, ...source }, [loss]);
      expect(accepted.keys).toHaveLength(1);
      expect(accepted.lossesOf('key "web"')).toEqual([loss]);
    },
  );

  const tagged = [
    entry("bge", { ...small, tags: ["free"] }),
    entry("bge", { ...small, api_key: "sk-b", tags: ["paid"] }),
  ];
  test.each([
    ["tags", "deployment-tags", tagged],
    ["regions", "regions", [entry("bge", { ...small, region_name: "eu" }), entry("bge", small)]],
    ["guardrails", "guardrails", [entry("bge", { ...small, guardrails: ["pii"] })]],
    ["environments", "environments", [entry("bge", small, { supported_environments: ["dev"] })]],
  ] as const)(
    "a model whose entries have %s is refused, unless %s is accepted",
    (_, loss, list) => {
      const routerSettings = { enable_tag_filtering: true };
      const refused = plan({ models: list, routerSettings });
      expect(refused.models.size).toBe(0);
      expect(refused.refusal('model "bge"')).toContain(`--accept ${loss}`);
      expect(plan({ models: list, routerSettings }, [loss]).models.has("bge")).toBe(true);
    },
  );

  test("entries with tags that nothing filters by are imported", () => {
    expect(plan({ models: tagged }).models.has("bge")).toBe(true);
  });

  test("a key of a user whom SCIM deactivated is refused, also in a team", () => {
    const users = [{ user_id: "u", models: [], metadata: { scim_active: false } }];
    const teams = [{ team_id: "t", models: [] }];
    for (const columns of [{ user_id: "u" }, { user_id: "u", team_id: "t" }])
      expect(plan({ models, users, teams, keys: [key(columns)] }).refusal("key")).toContain(
        "deactivated by SCIM",
      );
    const active = [{ user_id: "u", models: [], metadata: { scim_active: true } }];
    expect(plan({ models, users: active, keys: [key({ user_id: "u" })] }).keys).toHaveLength(1);
  });

  describe("a member of a team", () => {
    const teams = [{ team_id: "t", team_alias: "team", models: [] }];
    const members = [{ user_id: "u", team_id: "t", budget_id: "b", spend: 1 }];
    const budgets = [{ budget_id: "b", allowed_models: ["small"], max_budget: 3, rpm_limit: 7 }];
    const own = { user_id: "u", team_id: "t" };

    test("has only the models, the budget and the limits of the member", () => {
      const { keys } = plan({
        models,
        teams,
        members,
        budgets,
        keys: [key({ ...own, rpm_limit: 9 })],
      });
      expect(keys[0]).toMatchObject({
        models: ["small"],
        budget: { total: 2 },
        limits: { requestsPerMinute: 7 },
      });
    });

    test("whose budget several keys share loses it only if that is accepted", () => {
      const two = [key(own), key({ ...own, models: ["small"] })];
      const source = { models, teams, members, budgets, keys: two };
      expect(plan(source).keys).toEqual([]);
      expect(plan(source, ["member-budgets"]).keys).toMatchObject([
        { models: ["small"] },
        { models: ["small"] },
      ]);
    });

    test("without a budget has the one that the team gives its members", () => {
      const given = [{ ...teams[0], metadata: { team_member_budget_id: "b" } }];
      const { keys } = plan({ models, teams: given, budgets, keys: [key(own)] });
      expect(keys[0]).toMatchObject({ budget: { total: 3 } });
    });
  });

  describe("a name that stands for another model", () => {
    test("in requests of a key or its team is left out of its models", () => {
      const aliases = { small: "large", large: "large" };
      const routes = { model_group_alias: { small: { model: "large" } } };
      const teams = [{ team_id: "t", models: [], model_id: 4 }];
      const teamAliases = [{ id: 4, aliases: '{"small":"large"}' }];
      for (const source of [
        { keys: [key({ aliases })] },
        { keys: [key({ aliases: JSON.stringify(aliases) })] },
        { keys: [key({ router_settings: routes })] },
        { keys: [key({ team_id: "t" })], teams, teamAliases },
        { keys: [key({ team_id: "t" })], teams: [{ team_id: "t", router_settings: routes }] },
      ]) {
        const { keyModels, lines } = plan({ models, ...source });
        expect(keyModels).toEqual(["large", "art"]);
        expect(lines).toContainEqual({
          subject: 'key "web"',
          field: "small",
          outcome: "left out",
          note: 'LiteLLM sends its requests for this name to "large"',
        });
      }
    });

    test("for all keys is no model, although a model has this name", () => {
      const routerSettings = { model_group_alias: { small: "large" } };
      const { models: planned, refusal } = plan({ models, routerSettings });
      expect([...planned.keys()]).toEqual(["large", "art"]);
      expect(refusal('model "small"')).toContain('sends its requests to "large"');
    });

    test("and that LiteLLM hides is a model, with a line that it is listed here", () => {
      const routerSettings = { model_group_alias: { secret: { model: "small", hidden: true } } };
      const { models: planned, lines } = plan({ models, routerSettings });
      expect(planned.has("secret")).toBe(true);
      expect(lines.find(({ field }) => field === "secret")?.outcome).toBe("approximated");
    });

    test("because a routing group has its name is no model", () => {
      const routing_groups = [
        { group_name: "small", models: ["small", "large"] },
        { group_name: "large", models: ["large"] },
      ];
      const { models: planned } = plan({ models, routerSettings: { routing_groups } });
      expect([...planned.keys()]).toEqual(["large", "art"]);
    });

    test("because LiteLLM adds a parameter to its requests is no model", () => {
      for (const params of [
        { input_type: "search_query" },
        { mock_response: "[1]" },
        { additional_drop_params: ["dimensions"] },
      ]) {
        const { models: planned, refusal } = plan({
          models: [entry("small", { ...small, ...params })],
        });
        expect(planned.size).toBe(0);
        expect(refusal('model "small"')).toContain(Object.keys(params)[0] ?? "");
      }
      const harmless = {
        use_litellm_proxy: false,
        mock_timeout: false,
        num_retries: 2,
        additional_drop_params: ["user"],
        langfuse_secret: "x",
      };
      expect(plan({ models: [entry("small", { ...small, ...harmless })] }).models.size).toBe(1);
    });
  });

  test("a key without a list has the names of the imported models, and no others", () => {
    const { keyModels } = plan({ models, keys: [key()] });
    expect(keyModels).toEqual(["small", "large", "art"]);
    expect(plan({ models, keys: [key({ models: ["*"] })] }).keyModels).toEqual(keyModels ?? []);
    const master = plan({ models, masterKey: "sk-master-0123456789" }).keys[0];
    expect(master?.models).toEqual(["small", "large", "art"]);
  });

  test("a model whose name is a pattern in a list of models is not imported", () => {
    const { models: planned, refusal } = plan({ models: [entry("sm?ll", small), ...models] });
    expect(planned.has("sm?ll")).toBe(false);
    expect(refusal('model "sm?ll"')).toContain("*, ?");
  });

  test("a budget in total has what is left of it", () => {
    const { keys, projects } = plan({
      models,
      teams: [{ team_id: "t", team_alias: "team", models: [], max_budget: 20, spend: 5.5 }],
      keys: [key({ team_id: "t", max_budget: 10, spend: 9.99 }), key({ max_budget: 1, spend: 3 })],
    });
    expect(keys.map(({ budget }) => budget?.total)).toEqual([0.01, 0]);
    expect(projects.get("team")).toEqual({ budget: { total: 14.5 } });
    const daily = key({ max_budget: 10, budget_duration: "1d", spend: 9 });
    expect(plan({ models, keys: [daily] }).keys[0]?.budget).toMatchObject({ day: 10 });
  });

  test("a pattern of a provider admits the aliases of its models, and not dall-e", () => {
    const named = [
      entry("text-embedding-3-small", small),
      entry("dall-e-3", { model: "openai/dall-e-3" }, { mode: "image_generation" }),
    ];
    const routerSettings = { model_group_alias: { embed: "text-embedding-3-small" } };
    const source = { models: named, routerSettings, keys: [key({ models: ["openai/*"] })] };
    expect(plan(source).keyModels).toEqual(["text-embedding-3-small", "embed"]);
  });

  test("the report of 400 keys is one page with totals, refusals and losses by name", () => {
    const keys = Array.from({ length: 400 }, (_, at) =>
      key({
        key_alias: `key ${at}`,
        ...(at % 7 === 0 && { blocked: true }),
        ...(at % 5 === 0 && { metadata: { guardrails: ["pii"] } }),
        ...(at % 3 === 0 && { max_budget: at, budget_duration: "7d" }),
        ...(at % 11 === 0 && { expires: "2020-01-01" }),
        metadata: { guardrails: at % 5 === 0 ? ["pii"] : [], [`note${at}`]: "x" },
      }),
    );
    const { report, ...planned } = plan({ models, keys });
    const page = printPage(report.lines, totalsOf(planned));
    expect(page.split("\n").length).toBeLessThan(50);
    expect(Math.max(...page.split("\n").map((line) => line.length))).toBeLessThan(260);
    expect(page).toStartWith(`To import: ${planned.keys.length} of 400 keys, 3 models, 1 upstream`);
    expect(page).toMatch(/58 keys {5}the key is blocked/);
    expect(page).toMatch(/--accept guardrails {2}refused {3}\d\d keys: checks of the content/);
  });
});

describe("new-api:", () => {
  const owner = { id: 1, username: "root", group: "default", status: 1, quota: 700 };
  const channel = { id: 1, type: 1, key: "sk-a", name: "main", models: "text-embedding-3-small" };
  const channels = [
    channel,
    { ...channel, id: 2, models: "text-embedding-3-large", group: "vip" },
    { ...channel, id: 3, models: "text-embedding-ada-002", group: "gone" },
  ];
  const usable = ["UserUsableGroups", '{"default":"","vip":"","auto":"","gone":""}'] as const;
  const plan = (
    token: JsonObject,
    {
      options = [],
      ...more
    }: Partial<Omit<NewApiSource, "options">> & {
      options?: readonly (readonly [string, string])[];
    } = {},
    accepted: readonly Loss[] = [],
  ) => {
    const report = new Report(new Set(accepted));
    const tokens = [
      { id: 1, user_id: 1, key: "k".repeat(48), name: "web", remain_quota: 500_000, ...token },
    ];
    const empty = { quotaPerUnit: undefined, ratios: new Map(), prices: new Map() };
    const planned = planNewApi(
      {
        ...empty,
        channels,
        tokens,
        users: [owner],
        ...more,
        options: new Map([usable, ...options]),
      },
      report,
      { quotaPerDollar: 500_000, isConfirmed: true, now },
    );
    return { ...planned, ...reported(report), keyModels: planned.keys[0]?.models };
  };

  test("a token of the group auto has the models of the groups that its user may use", () => {
    expect(plan({ group: "auto" }).keyModels).toEqual(["text-embedding-3-small"]);
    const both = ["AutoGroups", '["vip","default","gone"]'] as const;
    expect(plan({ group: "auto" }, { options: [both] }).keyModels).toEqual([
      "text-embedding-3-small",
      "text-embedding-3-large",
    ]);
    const own = { group: "auto", auto_groups: '["vip"]' };
    expect(plan(own).keyModels).toEqual(["text-embedding-3-large"]);
    const none = ["AutoGroups", "[]"] as const;
    expect(plan({ group: "auto" }, { options: [none] }).refusal("token")).toContain(
      "groups of auto",
    );
  });

  test("a token is refused whose group its user may not use, or that does not exist", () => {
    const few = ["UserUsableGroups", '{"default":""}'] as const;
    for (const group of ["vip", "auto"])
      expect(plan({ group }, { options: [few] }).refusal("token")).toContain(
        "may not use the group",
      );
    const special = [
      few,
      ["group_ratio_setting.group_special_usable_group", '{"default":{"+:vip":""}}'],
    ] as const;
    expect(plan({ group: "vip" }, { options: special }).keyModels).toEqual([
      "text-embedding-3-large",
    ]);
    expect(plan({ group: "gone" }).refusal("token")).toContain('the group "gone" does not exist');
  });

  test("a token with a list of addresses is refused, unless ip-lists is accepted", () => {
    const listed = { allow_ips: "10.0.0.1" };
    expect(plan(listed).refusal("token")).toContain("--accept ip-lists");
    expect(plan(listed, {}, ["ip-lists"]).keys).toHaveLength(1);
    expect(plan({ allow_ips: " " }).keys).toHaveLength(1);
  });

  test("limits of requests and checks of words of the site are lost only if that is accepted", () => {
    const limited = ["ModelRequestRateLimitEnabled", "true"] as const;
    expect(plan({}, { options: [limited] }).refusal("token")).toContain("--accept rate-limits");
    const words = [
      ["CheckSensitiveOnPromptEnabled", "true"],
      ["SensitiveWords", "secret"],
    ] as const;
    expect(plan({}, { options: words }).refusal("token")).toContain("--accept guardrails");
  });

  test("a name whose channels are for different groups is refused, unless that is accepted", () => {
    const two = [channel, { ...channel, id: 2, key: "sk-b", group: "vip" }];
    const refused = plan({}, { channels: two });
    expect(refused.refusal('model "text-embedding-3-small"')).toContain("--accept deployment-tags");
    expect(plan({}, { channels: two }, ["deployment-tags"]).keys).toHaveLength(1);
  });

  test("a model without a price, which new-api refuses, is not imported", () => {
    const own = [{ ...channel, base_url: "https://proxy.example", models: "m3e-embedding" }];
    expect(plan({}, { channels: own }).refusal('model "m3e')).toContain("--accept unpriced-models");
    const ratios = ["ModelRatio", "{}"] as const;
    expect(plan({}, { options: [ratios] }).models.size).toBe(0);
    const self = ["SelfUseModeEnabled", "true"] as const;
    expect(plan({}, { channels: own, options: [self] }).models.size).toBe(1);
  });

  test("a channel that changes parameters of requests for embeddings is not imported", () => {
    const changed = [{ ...channel, param_override: '{"dimensions":256}' }];
    expect(plan({}, { channels: changed }).models.size).toBe(0);
    expect(plan({}, { channels: [{ ...channel, param_override: "{}" }] }).models.size).toBe(1);
  });
});

test("the documents name each protection as the report does", () => {
  const rows = (
    readFileSync(join(root, "docs/migrate.md"), "utf8").split("\n## ")[1] ?? ""
  ).matchAll(/^\| `([a-z-]+)` \| (.+) \|$/gm);
  const documented = [...rows].map(([, name = "", text = ""]) => [name, text.replace(/: .*/, "")]);
  expect(documented).toEqual(Object.entries(losses));
});
