/** `vexel config`: entities are stored while a gateway runs, which applies them within a second. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startFake } from "../fake-upstream.ts";
import { type GatewayProcess, startProcess, temporaryFolder } from "../harness.ts";
import { type Ended, vexel } from "../process/process-fixture.ts";
import { until } from "../until.ts";

const fake = startFake();
const folder = temporaryFolder();
const data = join(folder.path, "data");
const key = "sk-test-0123456789abcdef";
const yaml = `
keys: [{ name: test, key: ${key} }]
projects: [{ name: web }]
`;
let gateway: GatewayProcess;
const start = (secrets: Record<string, string> = {}) =>
  startProcess({ folder: folder.path, yaml, env: secrets });
beforeAll(async () => {
  gateway = await start();
});
afterAll(async () => {
  gateway.kill("SIGKILL");
  await gateway.exited;
  fake.close();
  folder[Symbol.dispose]();
});

const env = { VEXEL_DATA: data };
const config = (...args: string[]): Promise<Ended> =>
  vexel(["config", ...args], { cwd: folder.path, env });

async function put(kind: string, id: string, value: object, ...args: string[]): Promise<Ended> {
  const file = join(folder.path, "value.json");
  writeFileSync(file, JSON.stringify(value));
  return config("put", kind, id, "--file", file, ...args);
}

const embed = async (model: string): Promise<number> => {
  const response = await fetch(`${gateway.url}/v1/embeddings`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model, input: "a" }),
  });
  await response.text();
  return response.status;
};

const upstream = () => ({ kind: "openai", baseUrl: fake.url, apiKey: "sk-fake" });
const search = {
  kind: "embedding",
  targets: [{ upstream: "cloud", model: "text-embedding-3-small" }],
};

test("a stored upstream and model serve requests, until the model is deleted", async () => {
  expect(await embed("search")).toBe(404);
  expect(await put("upstream", "cloud", upstream(), "--version", "0")).toMatchObject({
    code: 0,
    out: 'Stored the upstream "cloud" as version 1.\n',
  });
  expect((await put("model", "search", search)).code).toBe(0);
  await until(async () => (await embed("search")) === 200);
  expect(fake.requests.at(-1)?.headers.authorization).toBe("Bearer sk-fake");
  const { code, out } = await config("list");
  expect(code).toBe(0);
  expect(out).toMatch(/^model +search +store +2$/m);
  expect(out).toMatch(/^project +web +yaml: \S*vexel\.yaml line 3$/m);
  expect(out).toMatch(/^model +vexel-sketch +built-in$/m);
  const models = await vexel(["models"], { cwd: folder.path, env });
  expect(models.out).toMatch(/^search +embedding +store +cloud:text-embedding-3-small$/m);
  expect((await config("delete", "model", "search")).code).toBe(0);
  await until(async () => (await embed("search")) === 404);
  expect(gateway.output()).not.toContain("sk-fake");
});

test("stored entities are in force after a restart, and their key file is private", async () => {
  expect((await put("model", "lasting", search)).code).toBe(0);
  expect(statSync(join(data, "secret.key")).mode & 0o777).toBe(0o600);
  gateway.kill("SIGKILL");
  await gateway.exited;
  gateway = await start();
  expect(await embed("lasting")).toBe(200);
});

test("stored entities are changed while vexel.yaml has an error", async () => {
  const path = join(folder.path, "vexel.yaml");
  const good = await Bun.file(path).text();
  writeFileSync(path, "models: [");
  await until(() => gateway.output().includes("config-rejected"));
  // The command validates with a file of its own, because it cannot read the broken one.
  const other = join(folder.path, "other.yaml");
  writeFileSync(other, good);
  const value = join(folder.path, "value.json");
  writeFileSync(value, JSON.stringify(search));
  const args = ["config", "put", "model", "meanwhile", "--file", value];
  expect((await config(...args.slice(1))).err).toContain("cannot be validated, because");
  const stored = await vexel(args, { cwd: folder.path, env: { ...env, VEXEL_CONFIG: other } });
  expect(stored.code).toBe(0);
  await until(async () => (await embed("meanwhile")) === 200);
  writeFileSync(path, good);
});

test("a refused change names the field, and invalid arguments the usage", async () => {
  expect(await put("model", "broken", { ...search, targets: [] })).toEqual({
    code: 1,
    out: "",
    err: "vexel config: targets: must have at least one entry\n",
  });
  expect((await put("project", "web", {})).err).toContain("vexel.yaml line 3 and is read-only");
  expect((await put("upstream", "cloud", upstream(), "--version", "77")).err).toContain(
    'the upstream "cloud" has version 1',
  );
  const invalid = [
    ["put", "model"],
    ["list", "more"],
    ["get", "model", "a", "b"],
    ["delete", "model", "a", "--version", "x"],
    ["sing"],
  ];
  for (const { code, err } of await Promise.all(invalid.map((args) => config(...args)))) {
    expect(code).toBe(2);
    expect(err).toEndWith('Run "vexel config --help" for help.\n');
  }
});

test("an entity is edited with get and put, without showing its secret", async () => {
  const { code, out } = await config("get", "upstream", "cloud");
  expect(code).toBe(0);
  expect(out).not.toContain("sk-fake");
  const value = { ...(JSON.parse(out) as object), limits: { concurrent: 5 } };
  expect((await put("upstream", "cloud", value)).code).toBe(0);
  expect((await config("get", "upstream", "unknown")).code).toBe(1);
  expect((await config("reencrypt")).out).toContain("of 0 entities and 0 webhook endpoints");
  expect(await embed("lasting")).toBe(200);
});

test("stored credentials stay readable through changes of VEXEL_SECRET, and the old secret is not needed after reencrypt", async () => {
  const [first, second] = ["first-secret-0123456789", "second-secret-0123456789"];
  const restart = async (secrets: Record<string, string>): Promise<void> => {
    gateway.kill("SIGKILL");
    await gateway.exited;
    gateway = await start(secrets);
  };
  const reencrypt = async (secrets: Record<string, string>): Promise<string> =>
    (await vexel(["config", "reencrypt"], { cwd: folder.path, env: { ...env, ...secrets } })).out;

  // From the generated key to a secret.
  await restart({ VEXEL_SECRET: first });
  expect(await embed("lasting")).toBe(200);
  expect(await reencrypt({ VEXEL_SECRET: first })).toContain("of 1 entities");
  rmSync(join(data, "secret.key"));
  await restart({ VEXEL_SECRET: first });
  expect(await embed("lasting")).toBe(200);

  // From one secret to the next.
  const both = { VEXEL_SECRET: second, VEXEL_SECRET_PREVIOUS: first };
  await restart(both);
  expect(await embed("lasting")).toBe(200);
  expect(await reencrypt(both)).toContain("of 1 entities");
  await restart({ VEXEL_SECRET: second });
  expect(await embed("lasting")).toBe(200);

  // Without the secret, the gateway serves everything else and says what to do.
  await restart({ VEXEL_SECRET: first });
  expect(await embed("lasting")).toBe(404);
  expect(gateway.output()).toContain("VEXEL_SECRET_PREVIOUS");
});
