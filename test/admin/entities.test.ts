/** Upstreams, models, projects and webhooks of the admin API: validated, encrypted, published, audited. */
import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import OpenAI from "openai";
import type { AttentionGroup } from "../../contract/admin.ts";
import { startFake } from "../fake-upstream.ts";
import { until } from "../until.ts";
import {
  adminToken,
  type EntityGateway,
  type EntityGatewayOptions,
  startEntityGateway,
} from "./entities-fixture.ts";

const fake = startFake();
afterAll(() => fake.close());
const gateways: EntityGateway[] = [];
afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.close();
});

async function start(options?: EntityGatewayOptions): Promise<EntityGateway> {
  const gateway = await startEntityGateway(options);
  gateways.push(gateway);
  return gateway;
}

const secret = "sk-live-secret-value-1234";
const upstream = (more: object = {}) => ({
  id: "cloud",
  kind: "openai",
  baseUrl: fake.url,
  apiKey: secret,
  headers: { "x-org": "org-secret-header-value" },
  ...more,
});
const model = (more: object = {}) => ({
  id: "search",
  kind: "embedding",
  targets: [{ upstream: "cloud", model: "text-embedding-3-small" }],
  ...more,
});

test("a queued request is served when the admin API raises its limit, before any other request", async () => {
  const gateway = await start();
  fake.clear();
  await gateway.call("POST /upstreams", upstream({ apiKey: "sk-fake" }));
  const limits = { concurrent: 1 };
  const { json } = await gateway.call("POST /models", model({ limits, cache: false }));
  const key = await gateway.call("POST /keys", { name: "app", models: ["search"] });
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  fake.script({ until: released });
  const embed = (input: string) =>
    fetch(`${gateway.baseURL}/embeddings`, {
      method: "POST",
      headers: { authorization: `Bearer ${key.json.key}` },
      body: JSON.stringify({ model: "search", input }),
    });
  const first = embed("one");
  await fake.arrived(1);
  const queued = embed("two");
  await Bun.sleep(50);
  expect(fake.requests).toHaveLength(1);
  await gateway.call("PUT /models/search", model({ limits: { concurrent: 2 }, cache: false }), {
    "if-match": `"${json.version}"`,
  });
  expect((await queued).status).toBe(200);
  release();
  expect((await first).status).toBe(200);
});

const signingSecret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

test("an upstream, a model and a key that were created serve a request of the official SDK at once", async () => {
  const gateway = await start();
  fake.clear();
  const created = await gateway.call("POST /upstreams", upstream({ apiKey: "sk-fake" }));
  expect([created.status, created.json.version]).toEqual([201, expect.any(Number)]);
  expect(created.headers.get("etag")).toBe(`"${created.json.version}"`);
  expect((await gateway.call("POST /models", model())).status).toBe(201);
  const key = await gateway.call("POST /keys", { name: "app", models: ["search"] });
  const client = new OpenAI({
    baseURL: gateway.baseURL,
    apiKey: String(key.json.key),
    maxRetries: 0,
  });
  const { data } = await client.embeddings.create({ model: "search", input: "hello" });
  expect(data[0]?.embedding).toHaveLength(1536);
  expect(fake.requests).toHaveLength(1);
  await gateway.call(`DELETE /keys/${key.json.id}`);
  const refused = await client.embeddings
    .create({ model: "search", input: "hello" })
    .catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(OpenAI.AuthenticationError);
});

describe("secrets", () => {
  test("are in no response, log line, audit entry, error or file", async () => {
    const gateway = await start();
    const texts: string[] = [];
    const call: EntityGateway["call"] = async (...request) => {
      const result = await gateway.call(...request);
      texts.push(result.text);
      return result;
    };
    await call("POST /upstreams", upstream());
    await call("POST /upstreams", upstream());
    await call("POST /upstreams", upstream({ id: "b", apiKey: `${secret} with a space` }));
    await call("POST /upstreams", upstream({ id: "c", apiKey: { nested: secret } }));
    await call("POST /upstreams", upstream({ id: "d", headers: { "x-org": `${secret}\n` } }));
    await call("POST /upstreams", { id: "e", kind: "oci", privateKey: secret, apiKey: secret });
    await call("POST /upstreams", {
      id: "f",
      kind: "vertex",
      serviceAccount: `{"private_key":"${secret}"`,
    });
    await call("PUT /upstreams/cloud", {
      kind: "openai",
      apiKey: `${secret}-2`,
      baseUrl: "nonsense",
    });
    await call("GET /upstreams");
    await call("GET /upstreams/cloud");
    const url = `https://hooks.example/services?token=${secret}`;
    await call("POST /webhooks", { name: "alerts", url, secret: signingSecret });
    await call("GET /webhooks");
    await call("DELETE /upstreams/cloud");
    await call("GET /audit");
    const files = readdirSync(gateway.folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"));
    for (const text of [...texts, gateway.log(), ...files]) {
      for (const hidden of [secret, "org-secret-header-value", signingSecret]) {
        expect(text).not.toContain(hidden);
      }
    }
    expect(texts.join("")).toContain('"apiKey":{"$secret":true,"lastFour":"1234"}');
  });

  test("are kept by a change that sends them back as they were shown", async () => {
    const gateway = await start();
    await gateway.call("POST /upstreams", upstream());
    const { json } = await gateway.call("GET /upstreams/cloud");
    const value = { ...json.value, limits: { concurrent: 3 } };
    expect((await gateway.call("PUT /upstreams/cloud", value)).status).toBe(200);
    expect(gateway.snapshot().upstreams.get("cloud")).toMatchObject({
      apiKey: secret,
      headers: { "x-org": "org-secret-header-value" },
      limits: { concurrent: 3 },
    });
  });

  test("are not sent to another server by a change of the address alone", async () => {
    const gateway = await start();
    await gateway.call("POST /upstreams", upstream());
    const { json } = await gateway.call("GET /upstreams/cloud");
    const moved = { ...json.value, baseUrl: "https://attacker.example/v1" };
    const refused = await gateway.call("PUT /upstreams/cloud", moved);
    expect([refused.status, refused.json.error.param]).toEqual([400, "baseUrl"]);
    expect(refused.json.error.message).toContain("enter the credentials again");
    const known = { ...moved, apiKey: "sk-another-key-000000", headers: {} };
    expect((await gateway.call("PUT /upstreams/cloud", known)).status).toBe(200);
  });
});

test("a change is validated with the whole configuration before it is stored", async () => {
  const gateway = await start();
  const missing = await gateway.call("POST /models", model());
  expect([missing.status, missing.json.error]).toEqual([
    400,
    expect.objectContaining({
      param: "targets[0].upstream",
      message: `Invalid 'targets[0].upstream': there is no upstream "cloud".`,
    }),
  ]);
  await gateway.call("POST /upstreams", upstream());
  const unknown = await gateway.call("POST /models", model({ color: 1 }));
  expect([unknown.status, unknown.json.error.param]).toEqual([400, "color"]);
  expect((await gateway.call("POST /models", model())).status).toBe(201);
  const used = await gateway.call("DELETE /upstreams/cloud");
  expect([used.status, used.json.error]).toEqual([
    409,
    expect.objectContaining({
      code: "in_use",
      message: 'The upstream "cloud" is used by the models search. Change or delete them first.',
      used_by: [{ kind: "model", id: "search", name: "search" }],
    }),
  ]);
  expect(gateway.snapshot().models.has("search")).toBe(true);
  expect((await gateway.call("DELETE /models/search")).status).toBe(204);
  expect((await gateway.call("DELETE /upstreams/cloud")).status).toBe(204);
  expect(gateway.snapshot().upstreams.has("cloud")).toBe(false);
});

test("a change that is based on an older version is refused, and the newer one stays", async () => {
  const gateway = await start();
  const { json } = await gateway.call("POST /projects", { name: "web" });
  const based = { "if-match": `"${json.version}"` };
  const first = await gateway.call("PUT /projects/web", { limits: { concurrent: 1 } }, based);
  expect(first.status).toBe(200);
  const second = await gateway.call("PUT /projects/web", { limits: { concurrent: 2 } }, based);
  expect([second.status, second.json.error.code]).toEqual([412, "version_conflict"]);
  expect(second.json.error.message).toContain("Reload it and repeat your change.");
  expect((await gateway.call("DELETE /projects/web", undefined, based)).status).toBe(412);
  expect(gateway.snapshot().projects?.get("web")?.limits).toEqual({ concurrent: 1 });
  const wrong = await gateway.call("PUT /projects/web", {}, { "if-match": "latest" });
  expect([wrong.status, wrong.json.error.param]).toEqual([400, "if-match"]);
});

test("of two concurrent changes of one version, one is stored and one is refused", async () => {
  const gateway = await start();
  const { json } = await gateway.call("POST /projects", { name: "web" });
  const based = { "if-match": `"${json.version}"` };
  const results = await Promise.all(
    [1, 2].map((concurrent) =>
      gateway.call("PUT /projects/web", { limits: { concurrent } }, based),
    ),
  );
  expect(results.map(({ status }) => status).sort()).toEqual([200, 412]);
});

test("an upstream that is deleted while a model is created for it leaves no model without it", async () => {
  const gateway = await start();
  for (let round = 0; round < 5; round++) {
    await gateway.call("POST /upstreams", upstream());
    const [created, deleted] = await Promise.all([
      gateway.call("POST /models", model()),
      gateway.call("DELETE /upstreams/cloud"),
    ]);
    expect([created.status, deleted.status].sort()).toEqual(
      created.status === 201 ? [201, 409] : [204, 400],
    );
    await gateway.call("DELETE /models/search");
    await gateway.call("DELETE /upstreams/cloud");
  }
});

test("an entity of the file or the environment is shown with its origin and cannot be changed", async () => {
  const gateway = await start({
    yaml: "upstreams:\n  - { id: own, kind: openai, apiKey: sk-in-the-file-0123456789 }\nprojects:\n  - name: web\n",
    env: { MISTRAL_API_KEY: "mistral-key-0123456789" },
  });
  const list = await gateway.call("GET /upstreams");
  const shown = new Map(list.json.data.map((each) => [each.id, each]));
  expect(shown.get("own")).toMatchObject({
    origin: { source: "yaml", location: expect.stringMatching(/vexel\.yaml line 2$/) },
    read_only: true,
    version: null,
    value: { kind: "openai", apiKey: { $secret: true, lastFour: "6789" } },
  });
  expect(shown.get("mistral")).toMatchObject({
    origin: { source: "environment", location: "MISTRAL_API_KEY" },
    read_only: true,
  });
  expect(list.text).not.toContain("sk-in-the-file-0123456789");
  const replaced = await gateway.call("PUT /upstreams/own", { kind: "openai", apiKey: "x" });
  expect([replaced.status, replaced.json.error.code]).toEqual([409, "read_only"]);
  expect(replaced.json.error.message).toMatch(
    /is defined in .*vexel\.yaml line 2\. Change it there/,
  );
  const deleted = await gateway.call("DELETE /upstreams/mistral");
  expect(deleted.json.error.message).toContain("the environment variable MISTRAL_API_KEY");
  const again = await gateway.call("POST /upstreams", upstream({ id: "mistral" }));
  expect([again.status, again.json.error.code]).toEqual([409, "already_exists"]);
  const builtIn = await gateway.call("DELETE /models/vexel-sketch");
  expect([builtIn.status, builtIn.json.error.code]).toEqual([409, "read_only"]);
});

test("a model whose id contains a slash is created, shown, changed and deleted", async () => {
  const gateway = await start();
  await gateway.call("POST /upstreams", upstream());
  await gateway.call("POST /models", model({ id: "BAAI/bge-m3" }));
  const path = "/models/BAAI%2Fbge-m3" as const;
  const shown = await gateway.call(`GET ${path}`);
  expect(shown.json).toMatchObject({ id: "BAAI/bge-m3", definition: { read_only: false } });
  const { id: _, ...value } = model({ description: "new" });
  expect((await gateway.call(`PUT ${path}`, value)).status).toBe(200);
  expect(gateway.snapshot().models.get("BAAI/bge-m3")?.description).toBe("new");
  expect((await gateway.call(`DELETE ${path}`)).status).toBe(204);
});

test("every change is in the audit log with the values before and after", async () => {
  const gateway = await start();
  await gateway.call("POST /projects", { name: "web" });
  await gateway.call("PUT /projects/web", { limits: { concurrent: 1 } });
  await gateway.call("DELETE /projects/web");
  const { json } = await gateway.call("GET /audit");
  expect(
    json.data.map(({ actor, action, subject, before, after }) => [
      actor,
      action,
      subject,
      before,
      after,
    ]),
  ).toEqual([
    ["admin token", "project.deleted", "web", { limits: { concurrent: 1 } }, null],
    ["admin token", "project.updated", "web", {}, { limits: { concurrent: 1 } }],
    ["admin token", "project.created", "web", null, {}],
  ]);
});

test("a webhook is created with a generated name, shown with its deliveries, and moved to another URL", async () => {
  const gateway = await start();
  const url = `${fake.url}/hook?token=1`;
  const created = await gateway.call("POST /webhooks", { url, secret: signingSecret });
  expect([created.status, created.json]).toEqual([
    201,
    expect.objectContaining({
      object: "webhook",
      id: expect.stringMatching(/^wh_/),
      name: expect.stringMatching(/^webhook-/),
      url: `${fake.url}/hook?…`,
      state: "active",
      read_only: false,
    }),
  ]);
  const moved = await gateway.call(`PUT /webhooks/${created.json.id}`, {
    ...created.json.value,
    url: `${fake.url}/other`,
    events: ["budget.*"],
  });
  expect([moved.status, moved.json.name, moved.json.events]).toEqual([
    200,
    created.json.name,
    ["budget.*"],
  ]);
  expect(moved.json.id).not.toBe(created.json.id);
  const { json } = await gateway.call("GET /webhooks");
  expect(json.data).toHaveLength(1);
  expect((await gateway.call(`DELETE /webhooks/${moved.json.id}`)).status).toBe(204);
  expect(gateway.snapshot().webhooks?.size).toBe(0);
});

test("an id or a name that is taken is refused, and the error names the parameter", async () => {
  const gateway = await start();
  const webhook = { name: "alerts", url: `${fake.url}/hook`, secret: signingSecret };
  for (const [path, body, param] of [
    ["POST /upstreams", upstream(), "id"],
    ["POST /projects", { name: "web" }, "name"],
    ["POST /webhooks", webhook, "name"],
  ] as const) {
    expect((await gateway.call(path, body)).status).toBe(201);
    const { status, json } = await gateway.call(path, body);
    expect([path, status, json.error.code, json.error.param]).toEqual([
      path,
      409,
      "already_exists",
      param,
    ]);
  }
});

test("a project that API keys belong to is not deleted", async () => {
  const gateway = await start();
  await gateway.call("POST /projects", { name: "web", limits: { requestsPerMinute: 5 } });
  const key = await gateway.call("POST /keys", { name: "app", project: "web" });
  const { json } = await gateway.call("GET /projects/web");
  expect(json.keys).toBe(1);
  const refused = await gateway.call("DELETE /projects/web");
  expect([refused.status, refused.json.error]).toEqual([
    409,
    expect.objectContaining({
      message: 'The project "web" is used by the API keys app. Change or delete them first.',
      used_by: [{ kind: "key", id: key.json.id, name: "app" }],
    }),
  ]);
  await gateway.call(`DELETE /keys/${key.json.id}`);
  expect((await gateway.call("DELETE /projects/web")).status).toBe(204);
});

test("the members of a project see it and no other project, and lose it when it is deleted", async () => {
  const gateway = await start();
  for (const name of ["web", "mobile"]) await gateway.call("POST /projects", { name });
  const user = await gateway.call("POST /users", {
    name: "Dana",
    password: "correct horse battery",
    role: "developer",
    projects: [],
  });
  const members = { users: [user.json.id] };
  const set = await gateway.call("PUT /projects/web/members", members);
  expect(set.json.members).toEqual([{ id: user.json.id, name: "Dana", role: "developer" }]);
  const response = await fetch(`${gateway.url}/admin/api/session`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name: "Dana", password: "correct horse battery" }),
  });
  const cookie = response.headers.get("set-cookie")?.split(";")[0] ?? "";
  const asDana = { cookie, authorization: "" };
  const visible = async () =>
    (await gateway.call("GET /projects", undefined, asDana)).json.data.map(({ id }) => id);
  expect(await visible()).toEqual(["web"]);
  expect((await gateway.call("GET /projects/mobile", undefined, asDana)).status).toBe(404);
  expect((await gateway.call("GET /upstreams", undefined, asDana)).status).toBe(403);
  await gateway.call("DELETE /projects/web");
  await gateway.call("POST /projects", { name: "web" });
  expect(await visible()).toEqual([]);
  const unknown = await gateway.call("PUT /projects/web/members", { users: ["user_x"] });
  expect([unknown.status, unknown.json.error.param]).toEqual([400, "users"]);
});

test("a change of a key that is based on an older version is refused, and the newer one stays", async () => {
  const gateway = await start();
  const { json } = await gateway.call("POST /keys", { name: "app", models: ["*"] });
  const path = `/keys/${json.id}` as const;
  const shown = await fetch(`${gateway.url}/admin/api${path}`, {
    headers: { authorization: `Bearer ${adminToken}` },
  });
  const etag = shown.headers.get("etag") ?? "";
  expect([shown.status, etag]).toEqual([200, `"${json.version}"`]);
  const put = (name: string, headers = {}) =>
    gateway.call(`PUT ${path}`, { name, models: ["*"] }, headers);
  expect((await put("first", { "if-match": etag })).status).toBe(200);
  const refused = await put("second", { "if-match": etag });
  expect([refused.status, refused.json.error.code]).toEqual([412, "version_conflict"]);
  expect((await gateway.call(`GET ${path}`)).json).toMatchObject({ name: "first" });
  // Without if-match, the present version is replaced.
  expect((await put("third")).status).toBe(200);
  expect((await gateway.call("GET /keys/unknown")).status).toBe(404);
});

test("a key is not revoked by a request that is based on an older version", async () => {
  const gateway = await start();
  const { json } = await gateway.call("POST /keys", { name: "app", models: ["fine"] });
  const etag = `"${json.version}"`;
  const changed = await gateway.call(`PUT /keys/${json.id}`, { name: "app", models: ["*"] });
  const remove = (version: string) =>
    gateway.call(`DELETE /keys/${json.id}`, undefined, { "if-match": version });
  const refused = await remove(etag);
  expect([refused.status, refused.json.error.code]).toEqual([412, "version_conflict"]);
  expect(refused.json.error.message).toContain(
    `has version ${changed.json.version}, but your change is based on version ${json.version}`,
  );
  expect((await gateway.call(`GET /keys/${json.id}`)).json.version).toBe(changed.json.version);
  expect((await remove(`"${changed.json.version}"`)).status).toBe(204);
});

test("the list of models of a key is bounded as a whole", async () => {
  const gateway = await start();
  const post = (models: readonly string[]) => gateway.call("POST /keys", { name: "app", models });
  const long = Array.from({ length: 81 }, (_, at) => `${at}`.padStart(200, "m"));
  const refused = await post(long);
  expect([refused.status, refused.json.error.param]).toEqual([400, "models"]);
  expect((await post(long.slice(1))).status).toBe(201);
});

test("of two rotations of the same version of a key, one creates a successor", async () => {
  const gateway = await start();
  const { json } = await gateway.call("POST /keys", { name: "app", models: ["*"] });
  const rotations = [1, 2].map(() =>
    gateway.call(
      `POST /keys/${json.id}/rotate`,
      { overlapHours: 1 },
      { "if-match": `"${json.version}"` },
    ),
  );
  const statuses = (await Promise.all(rotations)).map(({ status }) => status);
  expect(statuses.sort()).toEqual([201, 412]);
});

test("after a rotation both keys work until the overlap ends; without overlap the old key is refused immediately", async () => {
  const gateway = await start();
  const works = async (key: unknown): Promise<number> => {
    const headers = { authorization: `Bearer ${key}` };
    return (await fetch(`${gateway.baseURL}/models`, { headers })).status;
  };
  const first = await gateway.call("POST /keys", {
    name: "app",
    models: ["*"],
    priority: "batch",
    limits: { concurrent: 2 },
    defaults: { embedding: "all-minilm-l6-v2" },
  });
  const second = await gateway.call(`POST /keys/${first.json.id}/rotate`, { overlapHours: 1 });
  expect([await works(first.json.key), await works(second.json.key)]).toEqual([200, 200]);
  expect(second.json).toMatchObject({
    name: "app",
    priority: "batch",
    limits: { concurrent: 2 },
    defaults: { embedding: "all-minilm-l6-v2", image: null },
  });
  const third = await gateway.call(`POST /keys/${second.json.id}/rotate`, { overlapHours: 0 });
  expect([await works(second.json.key), await works(third.json.key)]).toEqual([401, 200]);
  const { json } = await gateway.call("GET /keys");
  const old = json.data.find(({ id }) => id === first.json.id);
  expect(Date.parse(String(old?.expires_at)) - Date.now()).toBeLessThan(3_600_001);
  const unknown = await gateway.call("POST /keys", { name: "x", project: "nowhere" });
  expect([unknown.status, unknown.json.error.param]).toEqual([400, "project"]);
  const past = await gateway.call("POST /keys", { name: "x", expires: "2020-01-01" });
  expect([past.status, past.json.error.param]).toEqual([400, "expires"]);
});

test("a changed key is in force at once with its new settings, and the audit log has both", async () => {
  const gateway = await start();
  const { json: created } = await gateway.call("POST /keys", { name: "app", models: ["*"] });
  const modelCount = async (): Promise<number> => {
    const headers = { authorization: `Bearer ${created.key}` };
    const response = await fetch(`${gateway.baseURL}/models`, { headers });
    return ((await response.json()) as { data: unknown[] }).data.length;
  };
  expect(await modelCount()).toBeGreaterThan(1);
  const change = {
    name: "renamed",
    models: ["all-minilm-l6-v2"],
    limits: { concurrent: 3 },
    budget: { month: 5 },
    expires: "2999-01-01",
  };
  const changed = await gateway.call(`PUT /keys/${created.id}`, change);
  expect(changed.status).toBe(200);
  expect(changed.json).toMatchObject({
    id: created.id,
    hint: created.hint,
    created_at: created.created_at,
    name: "renamed",
    models: ["all-minilm-l6-v2"],
    limits: { concurrent: 3 },
    budget: { month: 5 },
    expires_at: "2999-01-01T00:00:00.000Z",
  });
  expect(await modelCount()).toBe(1);
  const { json: log } = await gateway.call("GET /audit?action=key.updated");
  expect(log.data[0]).toMatchObject({
    action: "key.updated",
    subject: "renamed",
    before: { name: "app", limits: null },
    after: { name: "renamed" },
  });
  expect(JSON.stringify(log)).not.toContain(created.key);
  const unknown = await gateway.call("PUT /keys/key_x", { name: "x" });
  expect(unknown.status).toBe(404);
});

test("a rotated key is valid for as long as the old one was, counted from the rotation", async () => {
  const gateway = await start();
  const expires = new Date(Date.now() + 60 * 60_000).toISOString();
  const first = await gateway.call("POST /keys", { name: "app", expires });
  const second = await gateway.call(`POST /keys/${first.json.id}/rotate`, {});
  expect(Date.parse(String(second.json.expires_at))).toBeGreaterThan(Date.parse(expires));
});

test("a rejected vexel.yaml needs attention until it is valid again, whatever else changes", async () => {
  const gateway = await start();
  const rejected = async () => {
    const { json } = await gateway.call("GET /overview");
    const groups = json.attention as AttentionGroup[];
    return groups.find(({ type }) => type === "config_rejected")?.items ?? [];
  };
  const isRejected = async () => (await rejected()).length > 0;
  expect(await isRejected()).toBe(false);
  const valid = readFileSync(gateway.yamlPath, "utf8");
  writeFileSync(gateway.yamlPath, "models: 7\n");
  await until(isRejected);
  expect((await gateway.call("POST /upstreams", upstream())).status).toBe(201);
  // Longer than an overview is reused.
  await Bun.sleep(2100);
  expect(await rejected()).toEqual([
    expect.objectContaining({
      subject: "vexel.yaml",
      detail: expect.stringContaining("The previous configuration stays in force."),
    }),
  ]);
  writeFileSync(gateway.yamlPath, valid);
  await until(async () => !(await isRejected()));
});
