/** Options of keys created on the command line: the same as in vexel.yaml, in force at once. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { startFake } from "../fake-upstream.ts";
import { configFor, type GatewayProcess, startProcess, temporaryFolder } from "../harness.ts";
import { imageModel } from "../http/gateway-fixture.ts";
import { type Ended, vexel } from "../process/process-fixture.ts";
import { until } from "../until.ts";

const folder = temporaryFolder();
const data = join(folder.path, "data");
const fake = startFake();
let gateway: GatewayProcess;
beforeAll(async () => {
  const yaml = `${configFor(fake.url)}\nprojects: [{ name: web, budget: { total: 0 } }]\n`;
  gateway = await startProcess({ folder: folder.path, yaml });
});
afterAll(async () => {
  await gateway.close();
  fake.close();
  folder[Symbol.dispose]();
});

const keys = (...args: string[]): Promise<Ended> =>
  vexel(["keys", ...args], { cwd: folder.path, env: { VEXEL_DATA: data } });

/** Creates a key, and waits until the gateway accepts it. */
async function create(...args: string[]): Promise<string> {
  const { code, out, err } = await keys("create", ...args);
  expect({ code, err: code === 0 ? "" : err }).toEqual({ code: 0, err: "" });
  const key = out.trim();
  const headers = { authorization: `Bearer ${key}` };
  await until(async () => (await fetch(`${gateway.url}/v1/models`, { headers })).status === 200);
  return key;
}

async function generate(key: string, more: object = {}) {
  const response = await fetch(`${gateway.url}/v1/images/generations`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: imageModel, prompt: "an otter", ...more }),
  });
  const { error } = (await response.json()) as { error?: { code: string; message: string } };
  return { status: response.status, ...error };
}

test("a budget of the key or of its project applies at once", async () => {
  const small = await create("--name", "small", "--budget-month", "0.0001");
  expect(await generate(small)).toMatchObject({
    status: 429,
    code: "insufficient_quota",
    message: expect.stringContaining('the monthly budget of the key "small" is $0.0001;'),
  });
  const large = await create("--name", "large", "--budget-day", "5", "--budget-total", "100");
  expect((await generate(large)).status).toBe(200);
  const member = await create("--name", "member", "--project", "web");
  expect(await generate(member)).toMatchObject({ status: 429, code: "insufficient_quota" });
});

test("the policy for unsupported parameters can be set per key", async () => {
  const lenient = await create("--name", "lenient", "--parameters", "drop");
  const usual = await create("--name", "usual");
  expect((await generate(usual, { style: "vivid" })).status).toBe(400);
  expect((await generate(lenient, { style: "vivid" })).status).toBe(200);
});

test("a project that does not exist is refused and, if the configuration cannot be read, causes a warning of the gateway", async () => {
  const args = ["keys", "create", "--name", "astray", "--project", "wbe"];
  const env = { VEXEL_DATA: data };
  const refused = await vexel(args, { cwd: folder.path, env });
  expect([refused.code, refused.out]).toEqual([2, ""]);
  expect(refused.err).toContain("did you mean web?");
  const elsewhere = { ...env, VEXEL_CONFIG: join(folder.path, "missing.yaml") };
  expect((await vexel(args, { cwd: folder.path, env: elsewhere })).code).toBe(0);
  const message = 'the key \\"astray\\" belongs to the project \\"wbe\\", which does not exist';
  await until(() => gateway.output().includes(message));
});

test("a request without a model uses the default models of its key", async () => {
  const key = await create(
    "--name",
    "old-client",
    "--models",
    "text-embedding-*,dall-e-*",
    "--default-embedding",
    "text-embedding-ada-002",
    "--default-image",
    "dall-e-3",
  );
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const embedded = await fetch(`${gateway.url}/v1/embeddings`, {
    method: "POST",
    headers,
    body: JSON.stringify({ input: "a" }),
  });
  expect(await embedded.json()).toMatchObject({ model: "text-embedding-ada-002" });
  expect(await generate(key, { model: undefined })).toEqual({ status: 200 });
  const generations = fake.requests.filter(({ path }) => path.endsWith("/generations"));
  expect(generations.at(-1)?.json).toMatchObject({ model: "dall-e-3" });
});

test("a default model that does not exist causes a warning", async () => {
  await create("--name", "mistyped", "--default-image", "dalle3");
  const message = 'the key \\"mistyped\\" has the default image model \\"dalle3\\"';
  await until(() => gateway.output().includes(message));
});

test("keys list shows every option", async () => {
  const all = ["--budget-day", "5", "--budget-total", "100", "--unknown-price", "refuse"];
  const defaults = ["--default-embedding", "embedding-model", "--default-image", "image-model"];
  const more = ["--parameters", "drop", "--expires", "2099-01-31"];
  await create("--name", "full", ...all, ...defaults, ...more);
  const { out } = await keys("list");
  const row = out.split("\n").find((line) => line.includes(" full "));
  expect(row).toContain("$5 per day, $100 in total, known prices only");
  expect(row).toContain(" embedding-model, image-model ");
  expect(row).toMatch(/ drop +\S+ +2099-01-31T00:00$/);
  const listed = JSON.parse((await keys("list", "--json")).out) as { name: string }[];
  expect(listed.find(({ name }) => name === "full")).toMatchObject({
    budget: { day: 5, total: 100, unknownPrice: "refuse" },
    defaults: { embedding: "embedding-model", image: "image-model" },
    parameters: "drop",
  });
});

test.each<[string, readonly string[]]>([
  ["--budget-month must be US dollars", ["create", "--budget-month", "much"]],
  ["--budget-day must be US dollars", ["create", "--budget-day", ""]],
  ["--budget-total must be US dollars", ["create", "--budget-total=-1"]],
  ["--unknown-price must be allow or refuse", ["create", "--unknown-price", "maybe"]],
  ["--unknown-price must be allow or refuse", ["create", "--unknown-price", ""]],
  ["--parameters must be one of adapt, strict, drop, pass", ["create", "--parameters", "lax"]],
  ["--default-image must be a model id", ["create", "--default-image", "dall e"]],
  [
    "add it to --models",
    ["create", "--name", "n", "--models", "text-*", "--default-image", "dall-e-3"],
  ],
  ['are options of "create"', ["list", "--budget-day", "5"]],
])("%s: %p", async (message, args) => {
  const { code, out, err } = await keys(...args);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toContain(message);
});
