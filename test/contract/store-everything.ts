/** Makes a gateway store every kind of row: for the fixtures of a version (make-fixtures.ts). */
import { totpCode } from "../admin/totp-code.ts";
import type { Fake, RecordedRequest } from "../fake-upstream.ts";
import { type GatewayProcess, testKey } from "../harness.ts";
import { until } from "../until.ts";

type Json = Readonly<Record<string, unknown>>;

/** What clients and users know of it: `known.json` of a fixture. */
export interface Known {
  /** The API key that is stored. That of vexel.yaml is `testKey`. */
  readonly appKey: string;
  readonly password: string;
  /** The secret of Ada's second factor. */
  readonly totpSecret: string;
  readonly sessionCookie: string;
  /** Ada's token of the admin API. */
  readonly adaToken: string;
  /** The path of a stored image, signed. The signature covers the time at which it expires. */
  readonly imageLink: string;
  readonly imageRequest: Json;
  readonly idempotencyKey: string;
  /** The response to it. */
  readonly idempotentBody: string;
  /** The signing secret of the webhook endpoint of the key. */
  readonly endpointSecret: string;
  readonly keptFile: string;
  readonly keptText: string;
  readonly upload: string;
  readonly uploadPart: string;
  readonly uploadBytes: number;
  readonly doneBatch: string;
  /** No line of it is settled. */
  readonly heldBatch: string;
  /** Two of its four lines are settled, and the third waits for the upstream. */
  readonly imageBatch: string;
  readonly imageJob: string;
}

interface Options {
  readonly gateway: GatewayProcess;
  readonly fake: Fake;
  readonly adminToken: string;
}

const password = "a long password of the fixtures";
export const webhookSecret = `whsec_${btoa("the webhook of the fixtures, a text of bytes")}`;
export const heldLines = 100;
export const statement = {
  project: "web",
  month: "2026-01",
  requests: 2,
  unpriced: 1,
  cost: 0.25,
  estimatedCost: 0.125,
};
export const statementCsv = "start,key,model,tag,requests\r\n2026-01,app,stored-model,,2\r\n";

/** Ends while two batches and an image job wait for the upstream, with some lines of a batch done. */
export async function storeEverything(options: Options): Promise<Known> {
  return {
    ...(await configure(options)),
    ...(await useAccount(options)),
    ...(await sendRequests(options)),
    ...(await storeFiles(options)),
    ...(await leaveJobsHalfDone(options)),
  };
}

/** The stored configuration: projects, upstreams, models, keys, webhooks and alerts. */
async function configure({ gateway, fake, adminToken }: Options): Promise<Pick<Known, "appKey">> {
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
    secret: webhookSecret,
    events: ["key.created"],
  });
  await admin.post("/alerts", { name: "errors", metric: "error_rate", above: 5 });
  const { key: appKey } = await admin.post("/keys", {
    name: "app",
    project: "web",
    budget: { month: 10 },
    limits: { requestsPerMinute: 600 },
  });
  const { id } = await admin.post("/keys", { name: "revoked" });
  await admin.send("DELETE", `/keys/${id}`);
  return { appKey: String(appKey) };
}

/** A user with a second factor, a session and a token, and a user who was invited. */
async function useAccount({
  gateway,
  adminToken,
}: Options): Promise<Pick<Known, "password" | "totpSecret" | "sessionCookie" | "adaToken">> {
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
  const { token } = await ada.post("/account/tokens", {
    name: "deploy",
    expires_in_days: 30,
    password,
  });
  const { cookie = "" } = ada.session();
  return {
    password,
    totpSecret: String(secret),
    sessionCookie: cookie,
    adaToken: String(token),
  };
}

/** Successful, cached, refused, idempotent and attributed requests. */
export async function sendRequests({
  gateway,
}: Options): Promise<
  Pick<Known, "imageLink" | "imageRequest" | "idempotencyKey" | "idempotentBody">
> {
  const api = client(`${gateway.url}/v1`, { authorization: `Bearer ${testKey}` });
  const embedding = { model: "text-embedding-3-small", input: ["one", "two"], user: "end-user" };
  await api.post("/embeddings", embedding);
  await api.post("/embeddings", embedding);
  await api.send("POST", "/embeddings", { model: "no-such-model", input: "x" }, [404]);
  const image = { model: "gpt-image-2", prompt: "an otter", response_format: "url" };
  const { data } = await api.post("/images/generations", image);
  const [{ url = "" } = {}] = data as { url?: string }[];
  const { pathname, search } = new URL(url);
  const once = client(`${gateway.url}/v1`, {
    authorization: `Bearer ${testKey}`,
    "idempotency-key": "fixture-1",
  });
  const body = await once.post("/images/generations", image);
  return {
    imageLink: pathname + search,
    imageRequest: image,
    idempotencyKey: "fixture-1",
    idempotentBody: JSON.stringify(body),
  };
}

/** A file, an upload with one part, and a webhook endpoint of the key. */
async function storeFiles({
  gateway,
  fake,
}: Options): Promise<
  Pick<Known, "endpointSecret" | "keptFile" | "keptText" | "upload" | "uploadPart" | "uploadBytes">
> {
  const api = client(`${gateway.url}/v1`, { authorization: `Bearer ${testKey}` });
  const keptText = line("kept", "kept");
  const kept = await uploadFile(gateway, "kept.jsonl", keptText);
  const uploadBytes = 1000;
  const upload = await api.post("/uploads", {
    purpose: "batch",
    filename: "half.jsonl",
    bytes: uploadBytes,
    mime_type: "application/jsonl",
  });
  const part = new FormData();
  part.append("data", new Blob([line("part", "part")]), "part");
  const { id: uploadPart } = await form(gateway, `/uploads/${upload.id}/parts`, part);
  const endpoint = await api.post("/webhook_endpoints", {
    name: "jobs",
    url: new URL("/hooks", fake.url).href,
    event_types: ["batch.completed"],
  });
  return {
    endpointSecret: String(endpoint.signing_secret),
    keptFile: String(kept.id),
    keptText,
    upload: String(upload.id),
    uploadPart: String(uploadPart),
    uploadBytes,
  };
}

/** A completed batch; a batch of texts and one of images that wait for the upstream; an image job that waits for it. */
async function leaveJobsHalfDone({
  gateway,
  fake,
}: Options): Promise<Pick<Known, "doneBatch" | "heldBatch" | "imageBatch" | "imageJob">> {
  const api = client(`${gateway.url}/v1`, { authorization: `Bearer ${testKey}` });
  const startBatch = async (lines: readonly string[], endpoint = embeddings): Promise<Json> => {
    const { id } = await uploadFile(gateway, "lines.jsonl", lines.join(""));
    return api.post("/batches", { input_file_id: id, endpoint, completion_window: "24h" });
  };
  const batch = async (id: unknown) =>
    (await api.send("GET", `/batches/${id}`)) as {
      readonly status: string;
      readonly request_counts: { readonly completed: number };
    };
  const done = await startBatch([line("line-0", "a"), line("line-1", "b")]);
  await until(async () => (await batch(done.id)).status === "completed");

  const never = new Promise(() => undefined);
  const isHeld = ({ json }: RecordedRequest): boolean => JSON.stringify(json)?.includes("held");
  fake.script({ until: never }, { times: 1000, when: isHeld });
  const texts = Array.from({ length: heldLines }, (_, at) => line(`line-${at}`, `held ${at}`));
  const held = await startBatch(texts);
  await until(() => fake.requests.some(isHeld));

  const isHeldImage = (request: RecordedRequest): boolean =>
    isHeld(request) && request.path.endsWith("/images/generations");
  const heldImages = () => fake.requests.filter(isHeldImage).length;
  const prompts = ["first", "second", "held third", "fourth"];
  const images = await startBatch(
    prompts.map((prompt) => imageLine(prompt)),
    generations,
  );
  await until(
    async () => heldImages() === 1 && (await batch(images.id)).request_counts.completed === 2,
  );
  const image = { model: "gpt-image-2", prompt: "held image", async: true };
  const job = await api.send("POST", "/images/generations", image, [202]);
  await until(() => heldImages() === 2);
  return {
    doneBatch: String(done.id),
    heldBatch: String(held.id),
    imageBatch: String(images.id),
    imageJob: String(job.id),
  };
}

const embeddings = "/v1/embeddings";
const generations = "/v1/images/generations";

const imageLine = (prompt: string): string =>
  `${JSON.stringify({
    custom_id: prompt,
    method: "POST",
    url: generations,
    body: { model: "gpt-image-2", prompt },
  })}\n`;

const line = (id: string, input: string): string =>
  `${JSON.stringify({
    custom_id: id,
    method: "POST",
    url: embeddings,
    body: { model: "text-embedding-3-small", input, dimensions: 4 },
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
export function client(base: string, headers: Readonly<Record<string, string>>) {
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
  return {
    send,
    post: (path: string, body: Json) => send("POST", path, body),
    /** The headers of the session. */
    session: () => session,
  };
}
