/** `vexel import new-api`, from a SQLite database with the columns of new-api's own models. */
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startFake } from "../fake-upstream.ts";
import { type GatewayProcess, startProcess, temporaryFolder } from "../harness.ts";
import { type Ended, vexel } from "../process/process-fixture.ts";
import { testWith } from "../programs.ts";
import { databaseName, sharedPostgres } from "../storage/postgres-server.ts";
import { until } from "../until.ts";

const fake = startFake();
const folder = temporaryFolder();
const data = join(folder.path, "data");
const file = join(folder.path, "one-api.db");
const token = "0123456789abcdefghijklmnopqrstuvwxyz0123456789ab";
let gateway: GatewayProcess;
beforeAll(async () => {
  createDatabase();
  gateway = await startProcess({ folder: folder.path, yaml: "builtInModels: false\n" });
});
afterAll(async () => {
  gateway.kill("SIGKILL");
  await gateway.exited;
  fake.close();
  folder[Symbol.dispose]();
});

/** The columns that gorm creates from model/channel.go, model/token.go, model/option.go and model/user.go. */
function schema(): string {
  const base = fake.url.replace(/\/v1$/, "");
  return `
    CREATE TABLE channels (id integer PRIMARY KEY, type integer DEFAULT 0, key text NOT NULL, openai_organization text,
      test_model text, status integer DEFAULT 1, name text, weight integer DEFAULT 0, created_time bigint,
      base_url text DEFAULT '', other text, models text, "group" varchar(64) DEFAULT 'default', model_mapping text,
      status_code_mapping varchar(1024) DEFAULT '', priority bigint DEFAULT 0, tag text, setting text,
      param_override text, header_override text, channel_info json, settings text);
    CREATE TABLE tokens (id integer PRIMARY KEY, user_id integer, key varchar(128), status integer DEFAULT 1, name text,
      created_time bigint, expired_time bigint DEFAULT -1, remain_quota integer DEFAULT 0, unlimited_quota numeric,
      model_limits_enabled numeric, model_limits text, allow_ips text DEFAULT '', used_quota integer DEFAULT 0,
      "group" text DEFAULT '', auto_groups text, deleted_at datetime);
    CREATE TABLE options (key text PRIMARY KEY, value text);
    CREATE TABLE users (id integer PRIMARY KEY, username text, password text, status integer DEFAULT 1, quota integer,
      "group" varchar(64) DEFAULT 'default', deleted_at datetime);
    INSERT INTO users VALUES (1, 'root', 'x', 1, 5000000, 'default', NULL);
    INSERT INTO options VALUES ('QuotaPerUnit', '250000');
    INSERT INTO channels (id, type, key, name, models, base_url, priority, model_mapping) VALUES
      (1, 1, 'sk-fake', 'main', 'search,gpt-5', '${base}', 10, '{"search":"text-embedding-3-small"}'),
      (2, 1, 'sk-fake', 'spare', 'search', '${base}', 0, '{"search":"text-embedding-3-small"}'),
      (3, 1, 'sk-x', 'one', 'mixed', '', 0, '{"mixed":"text-embedding-3-small"}'),
      (4, 38, 'jina-x', 'two', 'mixed', '', 0, '{"mixed":"jina-embeddings-v3"}'),
      (5, 14, 'sk-ant', 'claude', 'claude-5', '', 0, NULL);
    INSERT INTO channels (id, type, key, name, models, status) VALUES (6, 1, 'sk-y', 'off', 'text-embedding-3-large', 2);
    INSERT INTO tokens (id, user_id, key, name, status, remain_quota, unlimited_quota, model_limits_enabled, model_limits) VALUES
      (1, 1, '${token}', 'web', 1, 500000, 0, 1, 'search,gpt-5'),
      (2, 1, 'disabled', 'disabled', 2, 0, 1, 0, ''),
      (3, 1, 'chat', 'chat', 1, 0, 1, 1, 'gpt-5');
  `;
}

function createDatabase(): void {
  using database = new Database(file);
  database.exec(schema());
}

const newApi = (...args: string[]): Promise<Ended> =>
  vexel(["import", "new-api", ...args], { cwd: folder.path, env: { VEXEL_DATA: data } });
const embed = async (key: string): Promise<number> => {
  const response = await fetch(`${gateway.url}/v1/embeddings`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "search", input: "a" }),
  });
  await response.text();
  return response.status;
};

test("a dry run says what becomes of channels and tokens, and writes nothing", async () => {
  const { code, out } = await newApi("--database", file);
  expect(code).toBe(0);
  expect(out).toContain("not served: gpt-5");
  expect(out).toContain("whose vectors cannot be compared");
  expect(out).toContain("Vexel has no kind for type 14");
  expect(out).toContain("the channel is disabled");
  expect(out).toContain("budget.total: 2 at 250000 per US dollar. Confirm it with");
  expect(out).toContain(
    "Nothing was written. --apply creates 1 upstream, 1 model, 1 project and 1 API key",
  );
  expect(await embed(`sk-${token}`)).toBe(401);
});

test("a client of new-api keeps its key, its models and its quota", async () => {
  const { code } = await newApi("--database", file, "--apply", "--quota-per-dollar", "100000");
  expect(code).toBe(0);
  await until(async () => (await embed(`sk-${token}`)) === 200);
  const { out } = await vexel(["keys", "list", "--json"], {
    cwd: folder.path,
    env: { VEXEL_DATA: data },
  });
  const keys = JSON.parse(out) as { name: string }[];
  expect(keys.find(({ name }) => name === "web")).toMatchObject({
    models: ["search"],
    budget: { total: 5 },
    project: "root",
  });
  const again = await newApi("--database", file, "--apply");
  expect(again.out).not.toContain("created");
});

testWith("postgresql")("a PostgreSQL database gives the same plan", async () => {
  const server = await sharedPostgres();
  const url = await server.createDatabase();
  const types: Readonly<Record<string, string>> = { numeric: "boolean", datetime: "timestamptz" };
  const tables = schema().replaceAll(/\b(numeric|datetime)\b/g, (type) => types[type] ?? type);
  const rows = tables.replaceAll(
    /(\(\d, 1, '[^']*', '\w+', \d, \d+), (\d), (\d),/g,
    (_, before, a, b) => `${before}, ${a === "1"}, ${b === "1"},`,
  );
  await server.execute(databaseName(url), rows);
  const [stored, direct] = [
    await newApi("--database", `${url}?TimeZone=Asia/Shanghai`),
    await newApi("--database", file),
  ];
  expect(stored).toEqual(direct);
});

test("an export of the tables gives the same plan, and a MySQL address names the export", async () => {
  using database = new Database(file, { readonly: true });
  const tables = ["channels", "tokens", "options", "users"].map((table) => [
    table,
    database.query(`SELECT * FROM ${table}`).all(),
  ]);
  const path = join(folder.path, "export.json");
  writeFileSync(path, JSON.stringify(Object.fromEntries(tables)));
  const [exported, direct] = [await newApi("--export", path), await newApi("--database", file)];
  expect(exported.out).toBe(direct.out);
  const { code, err } = await newApi("--database", "mysql://root@127.0.0.1/newapi");
  expect(code).toBe(2);
  expect(err).toContain("use --export");
});

test("a quota of one dollar that is not a number is refused, unless the user names it", async () => {
  const path = join(folder.path, "quota.json");
  const options = [{ key: "QuotaPerUnit", value: "abc" }];
  writeFileSync(
    path,
    JSON.stringify({ channels: [{ id: 1, type: 1, key: "sk-x", models: "", group: "" }], options }),
  );
  const { code, err } = await newApi("--export", path);
  expect(code).toBe(2);
  expect(err).toContain("QuotaPerUnit is not a number above 0");
  expect((await newApi("--export", path, "--quota-per-dollar", "500000")).code).toBe(0);
  expect((await newApi("--export", path, "--quota-per-dollar", "Infinity")).code).toBe(2);
});

test("an export with tokens and without users is refused", async () => {
  const path = join(folder.path, "users.json");
  writeFileSync(path, JSON.stringify({ tokens: [{ id: 1, user_id: 1, key: "x" }] }));
  const { code, err } = await newApi("--export", path);
  expect(code).toBe(2);
  expect(err).toContain("Export the table users too");
});

test("the keys of a channel are read from the BLOB that GORM writes, and disabled ones are left out", async () => {
  const path = join(folder.path, "blob.db");
  const info = { is_multi_key: true, multi_key_size: 3, multi_key_status_list: { 1: 2 } };
  {
    using database = new Database(path);
    database.exec(schema());
    database
      .query(
        `INSERT INTO channels (id, type, key, name, models, base_url, channel_info)
         VALUES (9, 1, ?, 'multi', 'text-embedding-3-large', ?, ?)`,
      )
      .run(
        "sk-one\nsk-two\nsk-three",
        fake.url.replace(/\/v1$/, ""),
        new TextEncoder().encode(JSON.stringify(info)),
      );
  }
  const { out } = await newApi("--database", path, "--details");
  expect(out).toContain("1 models at openai-compatible, 2 credentials");
  expect(out).toContain("1 of 3 keys are disabled");
});

test("a database of another program, half a database, or an older table is refused in one sentence", async () => {
  const path = join(folder.path, "other.db");
  const refusal = async (sql: string): Promise<string> => {
    rmSync(path, { force: true });
    using database = new Database(path);
    database.exec(sql);
    const { code, err } = await newApi("--database", path, "--apply");
    expect(code).toBe(2);
    expect(err.trim().split("\n")).toHaveLength(1);
    return err;
  };
  expect(await refusal("CREATE TABLE a (b)")).toContain("no such table: channels");
  const older = schema().replace(
    "model_limits_enabled numeric, model_limits text,",
    "models text,",
  );
  const rows = older.slice(0, older.indexOf("INSERT INTO tokens"));
  const token = "INSERT INTO tokens (id, user_id, key, name) VALUES (1, 1, 'k', 'web')";
  expect(await refusal(`${rows}${token}`)).toContain(
    "does not have the column model_limits_enabled",
  );
  const whole = readFileSync(file);
  writeFileSync(path, whole.subarray(0, whole.length / 2));
  const half = await newApi("--database", path, "--apply");
  expect(half).toMatchObject({ code: 2, out: "" });
  expect(half.err).toContain("new-api's database cannot be read");
});
