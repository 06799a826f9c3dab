/** `vexel import bifrost`, from config.json and from a SQLite database with the columns of Bifrost's own tables. */
import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { planBifrost } from "../../cli/import/bifrost/plan.ts";
import { readBifrostConfig, readBifrostDatabase } from "../../cli/import/bifrost/read.ts";
import type { BifrostSource } from "../../cli/import/bifrost/source.ts";
import type { Loss } from "../../cli/import/losses.ts";
import { Report } from "../../cli/import/report.ts";
import { secretHash } from "../../server/lib/secret-hash.ts";
import type { JsonObject } from "../../server/storage/sql/config-entity-store.ts";
import { temporaryFolder } from "../harness.ts";
import { vexel } from "../process/process-fixture.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());
const now = Date.parse("2026-06-01T00:00:00Z");
const small = "text-embedding-3-small";
const value = "sk-bf-0123456789abcdef";

const provider = {
  keys: [{ id: "k1", name: "main", value: "sk-vendor", models: ["*"], weight: 1 }],
};
const openConfig = { provider: "openai", allowed_models: ["*"], key_ids: ["*"] };
const virtualKey = { id: "vk1", name: "web", value, provider_configs: [openConfig] };

interface Given {
  readonly key?: JsonObject;
  readonly provider?: JsonObject;
  readonly governance?: JsonObject;
  readonly plugins?: readonly JsonObject[];
}

function configFile(given: Given = {}): string {
  const path = join(folder.path, "config.json");
  const config = {
    providers: { openai: { ...provider, ...given.provider }, bedrock: { keys: [] } },
    governance: { virtual_keys: [{ ...virtualKey, ...given.key }], ...given.governance },
    plugins: given.plugins ?? [],
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
}

function planOf(source: BifrostSource, accepted: readonly Loss[] = []) {
  const report = new Report(new Set(accepted));
  const planned = planBifrost(source, report, () => undefined, now);
  const refusal = (subject: string) =>
    report.lines.find((line) => line.subject.startsWith(subject) && line.outcome === "refused")
      ?.note;
  return { ...planned, refusal, keyModels: planned.keys[0]?.models };
}
const plan = (given: Given = {}, accepted: readonly Loss[] = []) =>
  planOf(readBifrostConfig(configFile(given)), accepted);

describe("config.json of Bifrost:", () => {
  test("a virtual key has the models of its lists, under Bifrost's names", () => {
    const { keys, models, upstreams } = plan();
    expect(keys[0]).toMatchObject({ name: "web", hash: secretHash(value) });
    expect(keys[0]?.models).toContain(`openai/${small}`);
    expect(models.get(`openai/${small}`)).toMatchObject({
      kind: "embedding",
      targets: [{ model: small }],
    });
    expect([...upstreams.values()]).toMatchObject([
      { kind: "openai", apiKey: { text: "sk-vendor" } },
    ]);
    const one = { provider_configs: [{ ...openConfig, allowed_models: [small, "gpt-5"] }] };
    expect(plan({ key: one }).keyModels).toEqual([`openai/${small}`]);
    const but = { provider_configs: [{ ...openConfig, blacklisted_models: [small] }] };
    expect(plan({ key: but }).keyModels).not.toContain(`openai/${small}`);
  });

  test("what is absent permits nothing: providers, models, credentials", () => {
    expect(plan({ key: { provider_configs: [] } }).keys).toEqual([]);
    expect(
      plan({ key: { provider_configs: [{ ...openConfig, allowed_models: [] }] } }).keys,
    ).toEqual([]);
    const none = { keys: [{ ...provider.keys[0], models: [] }] };
    expect(plan({ provider: none }).models.size).toBe(0);
    const off = { keys: [{ ...provider.keys[0], enabled: false }] };
    expect(plan({ provider: off }).models.size).toBe(0);
  });

  test("a key that Bifrost refuses is not imported", () => {
    expect(plan({ key: { is_active: false } }).refusal("key")).toContain("inactive");
    expect(plan({ key: { expires_at: "2020-01-01T00:00:00Z" } }).refusal("key")).toContain(
      "expired",
    );
    expect(plan({ key: { team_id: "gone" } }).refusal("key")).toContain("does not exist");
    expect(plan({ key: { value: "env.NOT_SET" } }).refusal("key")).toContain(
      "a variable that is not set",
    );
  });

  test("a model whose requests may go to another model is not imported", () => {
    const aliased = {
      keys: [{ ...provider.keys[0], aliases: { [small]: "text-embedding-3-large" } }],
    };
    expect(plan({ provider: aliased }).keyModels).not.toContain(`openai/${small}`);
    expect(plan({ governance: { routing_rules: [{ id: "r", name: "r" }] } }).models.size).toBe(0);
  });

  test("limits and budgets of the key, its team and its customer are not looser", () => {
    const { keys, projects } = plan({
      key: {
        team_id: "t1",
        rate_limit_id: "r1",
        budgets: [{ max_limit: 7, reset_duration: "1w" }],
      },
      governance: {
        teams: [{ id: "t1", name: "team", budgets: [{ max_limit: 90, reset_duration: "1M" }] }],
        rate_limits: [
          {
            id: "r1",
            request_max_limit: 600,
            request_reset_duration: "1h",
            token_max_limit: 50,
            token_reset_duration: "1m",
          },
        ],
      },
    });
    expect(keys[0]).toMatchObject({
      project: "team",
      limits: { requestsPerMinute: 10, tokensPerMinute: 50 },
      budget: { month: 7 },
    });
    expect(projects.get("team")).toEqual({ budget: { month: 90 } });
  });

  const protectedKeys: readonly [string, Loss, Given][] = [
    [
      "some credentials",
      "deployment-tags",
      { key: { provider_configs: [{ ...openConfig, key_ids: ["other"] }] } },
    ],
    [
      "a budget of a provider",
      "model-limits",
      {
        key: {
          provider_configs: [{ ...openConfig, budgets: [{ max_limit: 1, reset_duration: "1d" }] }],
        },
      },
    ],
    ["a plugin", "guardrails", { plugins: [{ name: "my-checks", enabled: true }] }],
    [
      "a slow limit",
      "rate-limits",
      { key: { rate_limit: { id: "r", request_max_limit: 3, request_reset_duration: "1h" } } },
    ],
    [
      "a customer above its team",
      "organizations",
      {
        key: { team_id: "t1" },
        governance: {
          teams: [{ id: "t1", name: "team", customer_id: "c1" }],
          customers: [
            { id: "c1", name: "customer", budgets: [{ max_limit: 1, reset_duration: "1d" }] },
          ],
        },
      },
    ],
  ];
  test.each(protectedKeys)("a key with %s is refused, unless %s is accepted", (_, loss, given) => {
    expect(plan(given).refusal("key")).toBe(
      `not imported: it would lose ${loss} (--accept ${loss})`,
    );
    expect(plan(given, [loss]).keys).toHaveLength(1);
  });

  test("a file of another program is refused in one sentence", async () => {
    const path = join(folder.path, "other.json");
    writeFileSync(path, "{}");
    const { code, err } = await vexel(["import", "bifrost", "--config", path], {
      cwd: folder.path,
    });
    expect(code).toBe(2);
    expect(err).toContain("is no configuration of Bifrost");
  });
});

describe("the SQLite database of Bifrost:", () => {
  /** The columns that GORM creates from framework/configstore/tables. */
  const schema = `
    CREATE TABLE config_providers (id integer PRIMARY KEY, name varchar(50), network_config_json text,
      custom_provider_config_json text, budget_id varchar(255), rate_limit_id varchar(255));
    CREATE TABLE config_keys (id integer PRIMARY KEY, name varchar(255), provider_id integer, provider varchar(50),
      key_id varchar(255), value text, models_json text, blacklisted_models_json text, weight real,
      enabled numeric DEFAULT true, aliases_json text, encryption_status varchar(20) DEFAULT 'plain_text');
    CREATE TABLE governance_virtual_keys (id varchar(255) PRIMARY KEY, name varchar(255), value text,
      is_active numeric DEFAULT true, expires_at timestamp, team_id varchar(255), customer_id varchar(255),
      rate_limit_id varchar(255), encryption_status varchar(20) DEFAULT 'plain_text', value_hash varchar(64));
    CREATE TABLE governance_virtual_key_provider_configs (id integer PRIMARY KEY, virtual_key_id varchar(255),
      provider varchar(50), weight real, allowed_models text, blacklisted_models text,
      allow_all_keys numeric DEFAULT false, rate_limit_id varchar(255));
    CREATE TABLE governance_virtual_key_provider_config_keys (table_virtual_key_provider_config_id integer,
      table_key_id integer);
    CREATE TABLE governance_budgets (id varchar(255) PRIMARY KEY, max_limit real, reset_duration varchar(50),
      current_usage real DEFAULT 0, team_id varchar(255), virtual_key_id varchar(255), provider_config_id integer,
      model_config_id varchar(255), customer_id varchar(255));
    CREATE TABLE governance_rate_limits (id varchar(255) PRIMARY KEY, token_max_limit bigint,
      token_reset_duration varchar(50), request_max_limit bigint, request_reset_duration varchar(50));
    CREATE TABLE governance_teams (id varchar(255) PRIMARY KEY, name varchar(255), customer_id varchar(255),
      rate_limit_id varchar(255));
    CREATE TABLE governance_customers (id varchar(255) PRIMARY KEY, name varchar(255), rate_limit_id varchar(255));
    INSERT INTO config_providers (id, name) VALUES (1, 'openai');
    INSERT INTO config_keys (id, name, provider_id, key_id, value, models_json) VALUES
      (1, 'main', 1, 'k1', 'sk-vendor', CAST('["*"]' AS BLOB)), (2, 'spare', 1, 'k2', 'sk-spare', '["${small}"]');
    INSERT INTO governance_virtual_keys (id, name, value, is_active) VALUES
      ('vk1', 'web', '${value}', true), ('vk2', 'off', 'sk-bf-off', false);
    INSERT INTO governance_virtual_keys (id, name, value, encryption_status, value_hash) VALUES
      ('vk3', 'hidden', 'AbCd', 'encrypted', '${secretHash("sk-bf-hidden")}');
    INSERT INTO governance_virtual_key_provider_configs (id, virtual_key_id, provider, allowed_models, allow_all_keys)
      VALUES (1, 'vk1', 'openai', '["${small}"]', true), (2, 'vk3', 'openai', '["*"]', false);
    INSERT INTO governance_virtual_key_provider_config_keys VALUES (2, 1);
    INSERT INTO governance_budgets (id, max_limit, reset_duration, virtual_key_id) VALUES ('b1', 5, '1d', 'vk1');
  `;
  const database = (name: string, sql: string): string => {
    const path = join(folder.path, name);
    using file = new Database(path);
    file.exec(sql);
    return path;
  };

  test("is read as config.json is, and has the hashes of encrypted keys", () => {
    const source = readBifrostDatabase(database("config.db", schema));
    const { keys, refusal, models } = planOf(source, ["deployment-tags"]);
    expect(keys).toMatchObject([
      { name: "web", hash: secretHash(value), models: [`openai/${small}`], budget: { day: 5 } },
      { name: "hidden", hash: secretHash("sk-bf-hidden") },
    ]);
    expect(refusal('key "off"')).toContain("inactive");
    expect(models.get(`openai/${small}`)?.targets).toHaveLength(2);
    expect(planOf(source).refusal('key "hidden"')).toContain("--accept deployment-tags");
  });

  test("of another version, or half of one, is refused in one sentence", async () => {
    const older = schema.replaceAll("allow_all_keys", "all_keys");
    const half = schema.slice(0, schema.indexOf("CREATE TABLE governance_budgets"));
    for (const [name, sql, missing] of [
      ["older.db", older, "governance_virtual_key_provider_configs.allow_all_keys"],
      ["half.db", half, "governance_budgets"],
    ] as const) {
      const args = ["import", "bifrost", "--database", database(name, sql), "--apply"];
      const { code, err } = await vexel(args, { cwd: folder.path });
      expect(code).toBe(2);
      expect(err).toContain(`does not have ${missing}: it is incomplete, or of another version`);
    }
  });
});
