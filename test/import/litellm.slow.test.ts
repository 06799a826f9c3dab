/**
 * `vexel import litellm`, from a configuration file and from a database with LiteLLM's own schema: clients keep their
 * keys. The ciphertexts were made by LiteLLM 1.106.2 (`encrypt_value` and `_encrypt_aes_gcm`) with the salt key below.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { litellmDecryption } from "../../cli/import/litellm/decrypt.ts";
import { planLitellm } from "../../cli/import/litellm/plan.ts";
import { readLitellmDatabase } from "../../cli/import/litellm/read-database.ts";
import { Report } from "../../cli/import/report.ts";
import { secretHash } from "../../server/lib/secret-hash.ts";
import { startFake } from "../fake-upstream.ts";
import { type GatewayProcess, startProcess, temporaryFolder } from "../harness.ts";
import { type Ended, vexel } from "../process/process-fixture.ts";
import { testIf, testWith } from "../programs.ts";
import { litellmMigrations } from "../python.ts";
import { databaseName, sharedPostgres } from "../storage/postgres-server.ts";
import { until } from "../until.ts";
import { emptyTables } from "./litellm-export.ts";

const saltKey = "sk-salt-1234567890";
const encrypted = {
  model:
    "wEBT2AixdTpf7-s1DS6ubT-3nfrt3-1QPNYdpEf6iI_bGceeyRcHIYZzpHe6RXp4zMTdbpzULTONl4uxa7KxL4ImFp94",
  api_key: "-yX8ZlYMPzw5U-sOxVaiErPgHwC2HhvnhpEI6GuSYLTcpmGAVpEDnU7co_PGp6DAZgPhXMZqos1MzeB0aoc=",
};
const clientKey = "sk-litellm-client-0123456789";

const fake = startFake();
const otherFake = startFake({ key: "sk-vendor-database-key" });
const folder = temporaryFolder();
let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startProcess({ folder: folder.path, yaml: "builtInModels: false\n" });
});
afterAll(async () => {
  gateway.kill("SIGKILL");
  await gateway.exited;
  fake.close();
  otherFake.close();
  folder[Symbol.dispose]();
});

const file = (name: string, text: string): string => {
  const path = join(folder.path, name);
  writeFileSync(path, text);
  return path;
};
const litellm = (args: readonly string[], env: Record<string, string> = {}): Promise<Ended> =>
  vexel(["import", "litellm", ...args], {
    cwd: folder.path,
    env: { VEXEL_DATA: join(folder.path, "data"), ...env },
  });
const embed = async (key: string, model: string): Promise<number> => {
  const response = await fetch(`${gateway.url}/v1/embeddings`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model, input: "a" }),
  });
  await response.text();
  return response.status;
};

const config = `
model_list:
  - model_name: search
    litellm_params:
      model: openai/text-embedding-3-small
      api_base: ${fake.url}
      api_key: os.environ/VENDOR_KEY
      rpm: 600
      weight: 2
      order: 1
      input_cost_per_token: 0.00000002
      drop_params: true
    model_info: { mode: embedding }
  - model_name: search
    litellm_params: { model: openai/text-embedding-3-small, api_base: "${fake.url}", api_key: sk-fake }
    model_info: { mode: embedding }
  - model_name: mixed
    litellm_params: { model: openai/text-embedding-3-small, api_key: sk-a }
  - model_name: mixed
    litellm_params: { model: cohere/embed-v4.0, api_key: sk-b }
  - model_name: gpt-5
    litellm_params: { model: openai/gpt-5, api_key: sk-a }
  - model_name: art
    litellm_params: { model: openai/gpt-image-2, api_key: sk-fake, api_base: "${fake.url}" }
router_settings:
  model_group_alias: { find: search }
  fallbacks: [{ search: [mixed] }]
  num_retries: 3
litellm_settings: { drop_params: true }
general_settings: { master_key: os.environ/MASTER }
`;

describe("config.yaml of LiteLLM:", () => {
  test("a dry run reports every field and writes nothing", async () => {
    const path = file("config.yaml", config);
    const { code, out } = await litellm(["--config", path, "--json"], { MASTER: clientKey });
    expect(code).toBe(0);
    const { lines, counts } = JSON.parse(out) as {
      lines: { subject: string; field: string; outcome: string; note: string }[];
      counts: Record<string, number>;
    };
    expect(counts).toEqual({ upstreams: 2, models: 3, projects: 0, keys: 1 });
    const find = (subject: string, field: string) =>
      lines.find((line) => line.subject.startsWith(subject) && line.field === field);
    expect(find('model "search" (', "rpm")?.note).toBe("limits.requestsPerMinute: 600");
    expect(find('model "search" (', "order")?.note).toBe("tier: 1");
    expect(find('model "search" (', "input_cost_per_token")?.note).toBe("price.input: 0.02");
    expect(find('model "search" (', "litellm_params.drop_params")?.outcome).toBe("dropped");
    expect(find('model "mixed"', "")?.note).toContain("whose vectors cannot be compared");
    expect(find('model "gpt-5" (', "")?.note).toStartWith("not served");
    expect(find("router_settings", "fallbacks.search")?.note).toStartWith("refused");
    expect(find("router_settings", "num_retries")?.outcome).toBe("dropped");
    expect(find("litellm_settings", "drop_params")?.outcome).toBe("approximated");
    expect(find('model "art" (', "drop_params")?.note).toBe("parameters: drop");
    expect(await embed(clientKey, "search")).toBe(401);
  });

  test("a variable that is not set is named, and its model is not created", async () => {
    const { code, out } = await litellm(["--config", file("config.yaml", config), "--apply"]);
    expect(code).toBe(1);
    expect(out).toContain("the variable VENDOR_KEY is not set in this environment");
  });

  test("a client keeps its key, and a second import changes nothing", async () => {
    const env = { VENDOR_KEY: "sk-fake", MASTER: clientKey };
    const first = await litellm(["--config", file("config.yaml", config), "--apply"], env);
    expect(first).toMatchObject({ code: 0, err: "" });
    expect(first.out).not.toContain("sk-fake");
    await until(async () => (await embed(clientKey, "search")) === 200);
    // The gateway may read the models while the import writes them.
    await until(async () => (await embed(clientKey, "find")) === 200);
    const second = await litellm(["--config", file("config.yaml", config), "--apply"], env);
    expect(second.code).toBe(0);
    expect(second.out).not.toContain("created");
  });

  test("--yaml prints a file that the gateway accepts, without secrets", async () => {
    const { code, out, err } = await litellm(["--config", file("config.yaml", config), "--yaml"]);
    expect(code).toBe(0);
    expect(out).toMatch(/apiKey: \$\{VENDOR_KEY\}/);
    expect(out).not.toContain("sk-");
    const variables = [...new Set(out.matchAll(/\$\{(\w+)\}/g).map(([, name]) => name))];
    expect(variables.filter((name) => err.includes(String(name))).length).toBeGreaterThan(1);
    const env = Object.fromEntries(variables.map((name) => [String(name), "sk-something"]));
    const checked = await vexel(["check", file("vexel-import.yaml", out)], {
      cwd: folder.path,
      env,
    });
    expect(checked).toMatchObject({ code: 0 });
  });

  test("a file that is no configuration of LiteLLM is refused by name", async () => {
    const { code, err } = await litellm(["--config", file("other.yaml", "a: 1\n")]);
    expect(code).toBe(2);
    expect(err).toContain("other.yaml is no configuration of LiteLLM");
  });
});

describe("values that LiteLLM encrypted:", () => {
  test("are decrypted with its salt key, in both formats", async () => {
    const decrypt = await litellmDecryption(saltKey);
    expect(decrypt(encrypted.model)).toBe("openai/text-embedding-3-small");
    const gcm = "v2:gcm:3QYYtFO4-dqLRdzJJBNDwlw5VVSO3mNt7Xhv9h-ZVVm26wPHLR-f";
    expect(decrypt(gcm)).toBe("azure/embed");
    expect(decrypt("not encrypted")).toBeUndefined();
    expect((await litellmDecryption("another key"))(encrypted.model)).toBeUndefined();
  });
});

describe("LiteLLM's database:", () => {
  const withSchema = testIf(litellmMigrations !== undefined, "postgresql");
  let url = "";

  withSchema("keys, teams and budgets are imported by hash", async () => {
    const server = await sharedPostgres();
    url = await server.createDatabase();
    const name = databaseName(url);
    await server.execute(name, migrations());
    const soon = new Date(Date.now() + 86_400_000).toISOString();
    await server.execute(
      name,
      `INSERT INTO "LiteLLM_ProxyModelTable" (model_id, model_name, litellm_params, model_info, created_by, updated_by)
         VALUES ('m1', 'stored', '${JSON.stringify({ ...encrypted, api_base: otherFake.url, rpm: 100 })}', '{"mode":"embedding"}', 'a', 'a');
       INSERT INTO "LiteLLM_TeamTable" (team_id, team_alias, models, max_budget, budget_duration, updated_at)
         VALUES ('t1', 'search team', ARRAY['stored'], 50, '30d', now());
       INSERT INTO "LiteLLM_BudgetTable" (budget_id, max_budget, budget_duration, created_by, updated_by)
         VALUES ('b1', 2, '1d', 'a', 'a');
       INSERT INTO "LiteLLM_VerificationToken" (token, key_name, key_alias, team_id, models, rpm_limit, budget_id, expires)
         VALUES ('${secretHash("sk-team-key-0123456789")}', 'sk-...6789', 'web', 't1', '{}', 60, 'b1', '${soon}');
       INSERT INTO "LiteLLM_VerificationToken" (token, key_alias, models, max_budget, budget_duration)
         VALUES ('${secretHash("sk-weekly-0123456789")}', 'weekly', ARRAY['stored','gpt-5'], 7, '7d');
       INSERT INTO "LiteLLM_VerificationToken" (token, key_alias, models, blocked)
         VALUES ('${secretHash("sk-blocked-0123456789")}', 'blocked', '{}', true);
       INSERT INTO "LiteLLM_VerificationToken" (token, key_alias, models, expires)
         VALUES ('${secretHash("sk-expired-0123456789")}', 'old', '{}', '2020-01-01')`,
    );
    const env = { LITELLM_SALT_KEY: saltKey };
    const { code, out } = await litellm(["--database", url, "--apply"], env);
    expect(out).toContain("the key is blocked");
    expect(out).toContain("the key expired");
    expect(out).toContain("not served: gpt-5");
    expect(code).toBe(0);
    await until(async () => (await embed("sk-team-key-0123456789", "stored")) === 200);
    expect(await embed("sk-team-key-0123456789", "search")).toBe(404);
    const listed = await vexel(["keys", "list", "--json"], {
      cwd: folder.path,
      env: { VEXEL_DATA: join(folder.path, "data") },
    });
    const keys = JSON.parse(listed.out) as { name: string }[];
    expect(keys.find(({ name }) => name === "web")).toMatchObject({
      project: "search team",
      models: ["stored"],
      limits: { requestsPerMinute: 60 },
      budget: { day: 2 },
      expiresAt: Date.parse(soon),
    });
    expect(keys.find(({ name }) => name === "weekly")).toMatchObject({
      models: ["stored"],
      budget: { month: 7 },
    });
    expect(keys.map(({ name }) => name)).not.toContain("blocked");
    expect(keys.map(({ name }) => name)).not.toContain("old");
  });

  withSchema("a wrong salt key is refused", async () => {
    const env = { LITELLM_SALT_KEY: "sk-another" };
    const { code, err } = await litellm(["--database", url], env);
    expect(code).toBe(2);
    expect(err).toContain("cannot be decrypted with this LITELLM_SALT_KEY");
  });

  test("a database that cannot be reached is named", async () => {
    const { code, err } = await litellm(["--database", "postgres://127.0.0.1:1/none"]);
    expect(code).toBe(2);
    expect(err).toContain("LiteLLM's database cannot be read");
  });
});

testWith("postgresql")("a database without the tables that are only counted is read", async () => {
  const server = await sharedPostgres();
  const url = await server.createDatabase();
  await server.execute(
    databaseName(url),
    `${emptyTables("LiteLLM_VerificationToken")}
     CREATE TABLE "LiteLLM_HealthCheckTable" (id text);
     INSERT INTO "LiteLLM_HealthCheckTable" VALUES ('a');
     CREATE TABLE "LiteLLM_VerificationToken" (token text, key_alias text, models text[], expires timestamp(3),
       blocked boolean, user_id text, team_id text);
     INSERT INTO "LiteLLM_VerificationToken" VALUES ('${secretHash("a")}', 'web', '{}', '2099-01-02 03:04:05')`,
  );
  const source = await readLitellmDatabase(url, undefined);
  expect([...source.otherTables]).toEqual([["LiteLLM_HealthCheckTable", 1]]);
  const models = [
    {
      model_name: "search",
      litellm_params: { model: "openai/text-embedding-3-small" },
      model_info: {},
      where: "config.yaml",
    },
  ];
  const { keys } = planLitellm({ ...source, models }, new Report(), () => undefined, Date.now());
  expect(keys).toMatchObject([
    { name: "web", models: ["search"], expiresAt: Date.parse("2099-01-02T03:04:05Z") },
  ]);
});

testWith("postgresql")("settings and the schema of an address for Prisma are read", async () => {
  const server = await sharedPostgres();
  const url = await server.createDatabase();
  await server.execute(
    databaseName(url),
    `CREATE SCHEMA "of-litellm"; SET search_path = "of-litellm";
     ${emptyTables("LiteLLM_EndUserTable")}
     CREATE TABLE "LiteLLM_EndUserTable" (user_id text, budget_id text, blocked boolean);
     INSERT INTO "LiteLLM_EndUserTable" VALUES ('seen', NULL, false), ('blocked', NULL, true);
     CREATE TABLE "LiteLLM_Config" (param_name text, param_value jsonb);
     INSERT INTO "LiteLLM_Config" VALUES ('router_settings', '{"model_group_alias": {"find": "search"}}'),
       ('environment_variables', '{"PLAIN": "value"}'), ('litellm_settings', '{"max_budget": 9}')`,
  );
  const address = `${url}?schema=of-litellm&connection_limit=5&pgbouncer=true`;
  const source = await readLitellmDatabase(address, undefined);
  expect(source.routerSettings).toEqual({ model_group_alias: { find: "search" } });
  expect(source.environment).toEqual({ PLAIN: "value" });
  expect(source.endUsers.map(({ user_id }) => user_id)).toEqual(["blocked"]);
  const report = new Report();
  planLitellm(source, report, () => undefined, Date.now());
  const lines = report.lines.map(({ subject, field }) => `${subject} ${field}`);
  expect(lines).toContain("all keys litellm_settings.max_budget");
  expect(lines).toContain('end user "blocked" blocked');
});

/** All migrations of LiteLLM, in their order. They run in one transaction, which cannot create an index concurrently. */
function migrations(): string {
  const root = litellmMigrations ?? "";
  return readdirSync(root)
    .toSorted()
    .map((name) => join(root, name, "migration.sql"))
    .filter((path) => existsSync(path))
    .map((path) => readFileSync(path, "utf8"))
    .join("\n")
    .replaceAll(" CONCURRENTLY", "");
}
