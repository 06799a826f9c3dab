/** An archived project: its keys are refused with a clear error, and the lists leave it out until it is restored. */
import { afterAll, expect, test } from "bun:test";
import { startFake } from "../fake-upstream.ts";
import { post } from "../harness.ts";
import { adminToken, startEntityGateway } from "./entities-fixture.ts";

const fake = startFake();
const gateway = await startEntityGateway({
  yaml: `
upstreams: [{ id: fake, kind: openai, baseUrl: "${fake.url}", apiKey: sk-fake }]
models: [{ id: embed, kind: embedding, targets: [{ upstream: fake, model: text-embedding-3-small }] }]
projects: [{ name: alpha }, { name: of-file, archived: true }]
keys: [{ name: file-key, key: sk-of-file-0123456789abcdef, project: of-file }]
`,
});
afterAll(async () => {
  await gateway.close();
  fake.close();
});

const value = { budget: { month: 50 }, contact: "sam@example.com" };
const archive = (archived: boolean) => gateway.call("PUT /projects/studio", { ...value, archived });

await gateway.call("POST /projects", { name: "studio", ...value });
const { key } = (await gateway.call("POST /keys", { name: "canvas", project: "studio" })).json;
const embed = async (secret = String(key)) => {
  const body = { model: "embed", input: "a text" };
  const response = await post(`${gateway.baseURL}/embeddings`, body, {
    authorization: `Bearer ${secret}`,
  });
  const json = (await response.json()) as { error?: { code: string; message: string } };
  return { status: response.status, error: json.error };
};
const idsOf = async (path: `/${string}`) =>
  (await gateway.call(`GET ${path}`)).json.data.map(({ id }) => id);

test("the keys of an archived project are refused, and work again when it is restored", async () => {
  expect((await embed()).status).toBe(200);
  expect((await archive(true)).json.value).toEqual({ ...value, archived: true });
  const { status, error } = await embed();
  expect([status, error?.code]).toEqual([401, "invalid_api_key"]);
  expect(error?.message).toMatch(/^The project of the API key sk-.*\*\*\*\*.* is archived\. /);
  await archive(false);
  expect((await embed()).status).toBe(200);
});

test("a project can be archived in the configuration file", async () => {
  expect((await embed("sk-of-file-0123456789abcdef")).status).toBe(401);
});

test("the lists of projects and budgets leave an archived project out, and its page does not", async () => {
  await archive(true);
  expect(await idsOf("/projects")).toEqual(["alpha"]);
  expect(await idsOf("/projects?archived=true")).toEqual(["of-file", "studio"]);
  expect(await idsOf("/budgets")).toEqual([]);
  expect((await gateway.call("GET /projects/studio")).json.value.archived).toBe(true);
  expect(await idsOf("/keys?project=studio")).toHaveLength(1);
});

test("a key cannot be created in an archived project, and a playground cannot be charged to it", async () => {
  await archive(true);
  const { status, json } = await gateway.call("POST /keys", { name: "late", project: "studio" });
  expect([status, json.error.message]).toEqual([
    400,
    'The project "studio" is archived. Restore it first, or choose another project.',
  ]);
  const played = await post(
    `${gateway.url}/admin/api/playground/embeddings`,
    { model: "embed", input: "a text" },
    { authorization: `Bearer ${adminToken}`, "vexel-project": "studio" },
  );
  expect(played.status).toBe(400);
});
