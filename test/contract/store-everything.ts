/** Makes a gateway store every kind of row: for the fixtures of a version (make-fixtures.ts). */
import { totpCode } from "../admin/totp-code.ts";
import type { Fake, RecordedRequest } from "../fake-upstream.ts";
import { type GatewayProcess, testKey } from "../harness.ts";
import { until } from "../until.ts";

type Json = Readonly<Record<string, unknown>>;

interface Options {
  readonly gateway: GatewayProcess;
  readonly fake: Fake;
  readonly adminToken: string;
}

const password = "a long password of the fixtures";

/** Ends while a batch and an image job wait for the upstream, with some lines of the batch done. */
export async function storeEverything(options: Options): Promise<void> {
  await configure(options);
  await useAccount(options);
  await sendRequests(options);
  await storeFiles(options);
  await leaveJobsHalfDone(options);
}

/** The stored configuration: projects, upstreams, models, keys, webhooks and alerts. */
async function configure({ gateway, fake, adminToken }: Options): Promise<void> {
  const admin = client(`${gateway.url}/admin/api`, { authorization: `Bearer ${adminToken}` });
  await admin.post("/projects", { name: "web", budget: { month: 100 } });
  await admin.post("/upstreams", {
    id: "stored",
    kind: "openai",
    baseUrl: fake.url,
    apiKey: "sk-fake",
  });
  const targets = [{ upstream: "stored", model: "text-embedding-3-small" }];
  await admin.post("/models", { id: "stored-model", kind: "embedding", targets });
  await admin.post("/webhooks", {
    url: "https://hooks.example.com/vexel",
    secret: `whsec_${btoa("the webhook of the fixtures, a text of bytes")}`,
    events: ["key.created"],
  });
  await admin.post("/alerts", { name: "errors", metric: "error_rate", above: 5 });
  await admin.post("/keys", {
    name: "app",
    project: "web",
    budget: { month: 10 },
    limits: { requestsPerMinute: 600 },
  });
  const { id } = await admin.post("/keys", { name: "revoked" });
  await admin.send("DELETE", `/keys/${id}`);
}

/** A user with a second factor, a session and a token, and a user who was invited. */
async function useAccount({ gateway, adminToken }: Options): Promise<void> {
  const base = `${gateway.url}/admin/api`;
  const admin = client(base, { authorization: `Bearer ${adminToken}` });
  await admin.post("/users", { name: "Ada", password, role: "admin", projects: "all" });
  const invited = await admin.post("/users", { name: "Eve", role: "viewer" });
  await admin.post(`/users/${invited.id}/invite`, {});
  const ada = client(base, {});
  await ada.post("/session", { name: "Ada", password });
  const { enrollment, secret } = await ada.post("/account/totp", { password });
  const code = totpCode(String(secret), Date.now());
  await ada.send("PUT", "/account/totp", { enrollment, code });
  await ada.post("/account/tokens", { name: "deploy", expires_in_days: 30, password });
}

/** Successful, cached, refused, idempotent and attributed requests. */
export async function sendRequests({ gateway }: Options): Promise<void> {
  const api = client(`${gateway.url}/v1`, { authorization: `Bearer ${testKey}` });
  const embedding = { model: "text-embedding-3-small", input: ["one", "two"], user: "end-user" };
  await api.post("/embeddings", embedding);
  await api.post("/embeddings", embedding);
  await api.send("POST", "/embeddings", { model: "no-such-model", input: "x" }, [404]);
  const image = { model: "gpt-image-2", prompt: "an otter", response_format: "url" };
  await api.post("/images/generations", image);
  const once = client(`${gateway.url}/v1`, {
    authorization: `Bearer ${testKey}`,
    "idempotency-key": "fixture-1",
  });
  await once.post("/images/generations", image);
}

/** A file, an upload with one part, and a webhook endpoint of the key. */
async function storeFiles({ gateway, fake }: Options): Promise<void> {
  const api = client(`${gateway.url}/v1`, { authorization: `Bearer ${testKey}` });
  await uploadFile(gateway, "kept.jsonl", line("kept", "kept"));
  const upload = await api.post("/uploads", {
    purpose: "batch",
    filename: "half.jsonl",
    bytes: 1000,
    mime_type: "application/jsonl",
  });
  const part = new FormData();
  part.append("data", new Blob([line("part", "part")]), "part");
  await form(gateway, `/uploads/${upload.id}/parts`, part);
  await api.post("/webhook_endpoints", {
    name: "jobs",
    url: new URL("/hooks", fake.url).href,
    event_types: ["batch.completed"],
  });
}

/** A completed batch; a batch with done and waiting lines; an image job that waits for the upstream. */
async function leaveJobsHalfDone({ gateway, fake }: Options): Promise<void> {
  const api = client(`${gateway.url}/v1`, { authorization: `Bearer ${testKey}` });
  const startBatch = async (texts: readonly string[]): Promise<Json> => {
    const lines = texts.map((text, at) => line(`line-${at}`, text)).join("");
    const { id } = await uploadFile(gateway, "lines.jsonl", lines);
    return api.post("/batches", {
      input_file_id: id,
      endpoint: "/v1/embeddings",
      completion_window: "24h",
    });
  };
  const statusOf = async (id: unknown) => await api.send("GET", `/batches/${id}`);
  const done = await startBatch(["a", "b"]);
  await until(async () => (await statusOf(done.id)).status === "completed");

  const never = new Promise(() => undefined);
  const isHeld = ({ json }: RecordedRequest): boolean => JSON.stringify(json)?.includes("held");
  fake.script({ until: never }, { times: 1000, when: isHeld });
  // More lines than run at a time, so that some wait for their turn.
  const held = Array.from({ length: 100 }, (_, at) => `held ${at}`);
  const half = await startBatch(["c", "d", ...held]);
  await until(() => fake.requests.some(isHeld));
  const image = { model: "gpt-image-2", prompt: "held image", async: true };
  const job = await api.send("POST", "/images/generations", image, [202]);
  const isImage = ({ path }: RecordedRequest): boolean => path.endsWith("/images/generations");
  await until(() => fake.requests.filter(isHeld).some(isImage));
  console.log(`Half done: batch ${half.id}, image job ${job.id}`);
}

const line = (id: string, input: string): string =>
  `${JSON.stringify({
    custom_id: id,
    method: "POST",
    url: "/v1/embeddings",
    body: { model: "text-embedding-3-small", input },
  })}\n`;

function uploadFile(gateway: GatewayProcess, name: string, text: string): Promise<Json> {
  const body = new FormData();
  body.append("purpose", "batch");
  body.append("file", new Blob([text]), name);
  return form(gateway, "/files", body);
}

async function form(gateway: GatewayProcess, path: string, body: FormData): Promise<Json> {
  const headers = { authorization: `Bearer ${testKey}` };
  const response = await fetch(`${gateway.url}/v1${path}`, { method: "POST", headers, body });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Json;
}

/** Requests with these headers, and with the session that a response has set. */
function client(base: string, headers: Readonly<Record<string, string>>) {
  let session: Record<string, string> = {};
  const send = async (
    method: string,
    path: string,
    body?: Json,
    allowed: readonly number[] = [200, 201, 204],
  ): Promise<Json> => {
    const response = await fetch(base + path, {
      method,
      headers: { "content-type": "application/json", ...session, ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!allowed.includes(response.status))
      throw new Error(`${method} ${path}: ${response.status} ${text}`);
    const json = text === "" ? {} : (JSON.parse(text) as Json);
    const cookies = response.headers.getSetCookie().map((cookie) => cookie.split(";")[0]);
    if (cookies.length > 0) session = { ...session, cookie: cookies.join("; ") };
    if (typeof json.csrf_token === "string")
      session = { ...session, "x-csrf-token": json.csrf_token };
    return json;
  };
  return { send, post: (path: string, body: Json) => send("POST", path, body) };
}
