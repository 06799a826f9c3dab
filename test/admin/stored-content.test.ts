/** Prompts, inputs, vectors and images of requests: stored only for models with `storeContent`, until they expire. */
import { afterAll, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { RequestContent, RequestDetail } from "../../contract/admin.ts";
import { createLog } from "../../server/lib/log.ts";
import { SecretBox } from "../../server/storage/encrypt-secret.ts";
import { openObjectStorage } from "../../server/storage/s3/object-storage.ts";
import { openStoredContent } from "../../server/storage/stored-content.ts";
import { png, startCohere } from "../embeddings/multimodal-fixture.ts";
import { adminToken, asOperator } from "../events/webhooks-fixture.ts";
import { startFakeS3 } from "../fake-s3.ts";
import { startFake } from "../fake-upstream.ts";
import { startGateway, temporaryFolder } from "../harness.ts";
import { unlimitedDisk } from "../unlimited-disk.ts";
import { until } from "../until.ts";
import { signInAs } from "./reads-fixture.ts";

const key = "sk-alpha-0123456789abcdef";
const fake = startFake();
const cohere = startCohere();
const gateway = startGateway({
  yaml: `
upstreams:
  - { id: fake, kind: openai, baseUrl: "${fake.url}", apiKey: sk-fake }
  - { id: cohere, kind: cohere, baseUrl: "${cohere.url}", apiKey: sk-fake }
models:
  - { id: both, kind: embedding, targets: [{ upstream: cohere, model: embed-v4.0 }], dimensions: 8, storeContent: { for: 1h } }
  - { id: kept, kind: embedding, targets: [{ upstream: fake, model: text-embedding-3-small }], storeContent: { for: 1h } }
  - { id: plain, kind: embedding, targets: [{ upstream: fake, model: text-embedding-3-small }] }
  - { id: images, kind: image, targets: [{ upstream: fake, model: gpt-image-2 }], storeContent: { for: 7d } }
projects: [{ name: alpha }, { name: beta }]
keys: [{ name: alpha, key: ${key}, project: alpha }]
`,
  settings: { VEXEL_ADMIN_TOKEN: adminToken, VEXEL_CONSOLE: "on" },
});
afterAll(async () => {
  await gateway.close();
  fake.close();
  await cohere[Symbol.asyncDispose]();
});

const admin = (path: string): Promise<Response> => asOperator(gateway.url, `/admin/api${path}`);

async function send(path: string, body: unknown): Promise<string> {
  const response = await gateway.post(path, body, { authorization: `Bearer ${key}` });
  expect(response.status).toBe(200);
  await response.arrayBuffer();
  const id = response.headers.get("x-request-id") ?? "";
  await until(async () => (await admin(`/requests/${id}`)).status === 200);
  return id;
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true })
    .map((name) => join(folder, String(name)))
    .filter((path) => statSync(path).isFile());

const isOnDisk = (text: string): boolean =>
  filesIn(gateway.folder).some((path) => readFileSync(path).includes(text));

test("the content of a request is shown and stored only if its model stores content", async () => {
  const plain = await send("/v1/embeddings", { model: "plain", input: "secret-of-plain" });
  expect(filesIn(gateway.folder).filter((path) => path.includes("/content/"))).toEqual([]);
  expect(isOnDisk("secret-of-plain")).toBe(false);
  expect((await admin(`/requests/${plain}/content`)).status).toBe(404);
  const detail = (await (await admin(`/requests/${plain}`)).json()) as RequestDetail;
  expect(detail.content_expires_at).toBeNull();

  const kept = await send("/v1/embeddings", { model: "kept", input: ["secret-of-kept"] });
  expect(filesIn(gateway.folder).filter((path) => path.includes("/content/"))).toHaveLength(1);
  expect(isOnDisk("secret-of-kept")).toBe(false);
  const { request, response, expires_at } = (await (
    await admin(`/requests/${kept}/content`)
  ).json()) as RequestContent;
  expect(request).toMatchObject({ model: "kept", input: ["secret-of-kept"] });
  expect(JSON.parse(response.body ?? "").data[0].embedding).toBeDefined();
  expect(Math.abs(Date.parse(expires_at) - Date.now() - 3_600_000)).toBeLessThan(60_000);
});

test("the stored content of embedded images has their bytes beside the texts", async () => {
  const image = png(1);
  const id = await send("/v1/embeddings", {
    model: "both",
    input: ["a text", { text: "a boat", image: image.toString("base64") }],
  });
  const content = (await (await admin(`/requests/${id}/content`)).json()) as RequestContent;
  expect(content.request.input).toEqual([
    { content: [{ type: "text", text: "a text" }] },
    { content: [{ type: "text", text: "a boat" }, { type: "image_url" }] },
  ]);
  expect(content.files).toMatchObject([
    { field: "input[1].image", type: "image/png", data: image.toString("base64") },
  ]);
});

test("the stored content of embeddings has the task type and the output type as the client sent them", async () => {
  const fields = { input_type: "query", embedding_type: "ubinary" };
  const id = await send("/v1/embeddings", { model: "kept", input: "a boat", ...fields });
  const { request } = (await (await admin(`/requests/${id}/content`)).json()) as RequestContent;
  expect(request).toMatchObject(fields);
  expect(request).not.toHaveProperty("task_type");
});

test("the stored content of an edit has its uploads, and that of a stream has its events", async () => {
  const webp = await Bun.file(
    join(import.meta.dir, "../../docs/images/console-images.webp"),
  ).bytes();
  const form = new FormData();
  form.set("model", "images");
  form.set("prompt", "paint it red");
  form.set("stream", "true");
  form.set("image", new File([webp], "boat.webp", { type: "image/webp" }));
  const sent = await fetch(`${gateway.url}/v1/images/edits`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
    body: form,
  });
  const events = await sent.text();
  const id = sent.headers.get("x-request-id") ?? "";
  await until(async () => (await admin(`/requests/${id}/content`)).status === 200);
  const content = (await (await admin(`/requests/${id}/content`)).json()) as RequestContent;
  expect(content.request).toMatchObject({ prompt: "paint it red", stream: true });
  expect(content.files[0]?.data).toBe(Buffer.from(webp).toString("base64"));
  expect(content.response).toMatchObject({ status: 200, body: events, end: "complete" });
});

test("the content of a request is deleted at once, and the audit log says by whom", async () => {
  const id = await send("/v1/embeddings", { model: "kept", input: "secret to delete" });
  const path = `/requests/${id}/content`;
  expect((await admin(path)).status).toBe(200);
  const remove = () => asOperator(gateway.url, `/admin/api${path}`, "DELETE");
  expect((await remove()).status).toBe(204);
  expect((await admin(path)).status).toBe(404);
  expect((await remove()).status).toBe(404);
  const { content_expires_at: expires } = (await (
    await admin(`/requests/${id}`)
  ).json()) as RequestDetail;
  expect(expires).toBeNull();
  const audit = (await (await admin("/audit")).json()) as { data: object[] };
  expect(audit.data[0]).toMatchObject({ action: "request.content_deleted", subject: id });
});

test("only administrators, and developers of the project, can read stored content", async () => {
  const id = await send("/v1/embeddings", { model: "kept", input: "for developers" });
  const statusFor = async (role: string, projects: readonly string[]): Promise<number> => {
    const name = `${role}-${projects.join()}`;
    const asUser = await signInAs({ gateway }, { name, role, projects });
    return (await asUser(`/requests/${id}/content`)).status;
  };
  expect(await statusFor("developer", ["alpha"])).toBe(200);
  expect(await statusFor("viewer", ["alpha"])).toBe(403);
  expect(await statusFor("developer", ["beta"])).toBe(404);
});

const quietLog = createLog({
  level: "error",
  format: "json",
  now: () => new Date(),
  write: () => undefined,
});
const storing = (ms: number | undefined) =>
  new Map([["m", { id: "m", ...(ms !== undefined && { storeContentMs: ms }) }]]);
const secret = "s".repeat(32);

test("with an object store, another replica shows the content, and the disk of the first one keeps nothing", async () => {
  const s3 = startFakeS3();
  using folder = temporaryFolder();
  await using resources = new AsyncDisposableStack();
  const replica = (name: string) => {
    const replicaFolder = join(folder.path, name);
    mkdirSync(replicaFolder);
    const { objects } = openObjectStorage({
      url: s3.url(),
      imagesMaxBytes: 1_000_000,
      env: {},
      log: quietLog,
      emit: () => undefined,
      now: Date.now,
      clock: () => performance.now(),
    });
    return openStoredContent({
      folder: replicaFolder,
      maxBytes: 1_000_000,
      secrets: new SecretBox({ folder: replicaFolder, secret, previous: [] }),
      models: () => storing(60_000),
      disk: unlimitedDisk,
      objects,
      log: quietLog,
      now: Date.now,
      resources,
    });
  };
  const [first, second] = [replica("a"), replica("b")];
  const writer = first.begin("m", "req_1");
  writer.append("text");
  writer.commit();
  await until(() => filesIn(join(folder.path, "a", "content")).length === 0);
  const found = await second.find("m", "req_1");
  expect((await found?.read())?.toString()).toBe("text");
  expect(Math.abs((found?.expiresAt ?? 0) - Date.now() - 60_000)).toBeLessThan(30_000);
  await s3.stop();
});

test("content is deleted when it expires, and when its model stores no content any more", async () => {
  using folder = temporaryFolder();
  let models = storing(60_000);
  let now = Date.now();
  await using resources = new AsyncDisposableStack();
  const content = openStoredContent({
    folder: folder.path,
    maxBytes: 1_000_000,
    secrets: new SecretBox({ folder: folder.path, secret, previous: [] }),
    models: () => models,
    disk: unlimitedDisk,
    objects: undefined,
    log: quietLog,
    now: () => now,
    resources,
  });
  const store = (id: string): void => {
    const writer = content.begin("m", id);
    writer.append("text");
    writer.commit();
  };
  const names = (): number =>
    filesIn(folder.path).filter((path) => path.includes("/content/")).length;
  store("first");
  expect((await (await content.find("m", "first"))?.read())?.toString()).toBe("text");
  now += 61_000;
  expect(await content.find("m", "first")).toBeUndefined();
  await until(() => names() === 0);
  now = Date.now();
  store("second");
  expect(names()).toBe(1);
  models = storing(undefined);
  expect(await content.find("m", "second")).toBeUndefined();
  await until(() => names() === 0);
});
