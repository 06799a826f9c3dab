/**
 * A gateway with two projects, users of every role, and planted secrets and marks, for the laws over all routes
 * of the admin API. The routes come from the OpenAPI document that the gateway itself serves.
 */
import type { CreatedApiKey, Role, Session, User } from "../../../contract/admin.ts";
import { startFake } from "../../fake-upstream.ts";
import { post } from "../../harness.ts";
import { createBatch } from "../create-batch.ts";
import {
  type AdminApiDocument,
  asDocumented,
  type DocumentedOperation,
} from "../documented-responses.ts";
import { startEntityGateway } from "../entities-fixture.ts";

export const password = "planted-password-1234";
/** Values that no response, page or log line may contain. */
export const secrets = {
  adminToken: "planted-admin-token-0123456789",
  encryption: "planted-encryption-secret-0123456789",
  oidcClient: "planted-oidc-secret-0123456789",
  upstreamKey: "planted-upstream-key-0123456789",
  upstreamHeader: "planted-upstream-header-0123456789",
  webhookToken: "planted-webhook-token-0123456789",
  webhookSecret: `whsec_${Buffer.from("planted-webhook-secret-0123456789").toString("base64")}`,
  password,
} as const;

/** Names that occur only in the data of the project `beta`. */
export const betaMark = "mark-of-beta";
export const apiKey = "sk-yaml-0123456789abcdef";

export interface Operation {
  readonly method: string;
  /** Below the gateway's URL, with `{name}` for parameters. */
  readonly path: string;
  readonly role: Role | "anyone";
  readonly scope: "gateway" | "project" | "all-projects";
  readonly hasBody: boolean;
  /** The path with the query parameters that are required. */
  readonly address: string;
  readonly responses: DocumentedOperation["responses"];
}

export const nameOf = ({ method, path }: Operation): string => `${method} ${path}`;

export interface AdminDocument extends AdminApiDocument {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<Record<string, DocumentedOperation & Readonly<Record<string, unknown>>>>
    >
  >;
}

export type LawGateway = Awaited<ReturnType<typeof startLawGateway>>;

export async function startLawGateway() {
  const fake = startFake({ key: secrets.upstreamKey });
  const gateway = await startEntityGateway({
    yaml: yamlFor(fake.url),
    settings: {
      VEXEL_ADMIN_TOKEN: secrets.adminToken,
      VEXEL_TRUSTED_PROXIES: "127.0.0.1",
      VEXEL_SECRET: secrets.encryption,
      VEXEL_OIDC_ISSUER: "https://issuer.invalid",
      VEXEL_OIDC_CLIENT_ID: "vexel",
      VEXEL_OIDC_CLIENT_SECRET: secrets.oidcClient,
      VEXEL_OIDC_DOMAINS: "example.com",
    },
  });
  const token = { authorization: `Bearer ${secrets.adminToken}` };
  const asToken = (path: string, method = "GET", body?: unknown) =>
    send(gateway.url, path, { method, body, headers: token });

  const document = (await (await asToken("/openapi.json")).json()) as AdminDocument;
  const createKey = async (name: string, project: string): Promise<CreatedApiKey> => {
    const response = await asToken("/keys", "POST", { name, project, models: ["*"] });
    if (response.status !== 201) throw new Error(await response.text());
    return (await response.json()) as CreatedApiKey;
  };
  const alphaKey = await createKey("alpha key", "alpha");
  const betaKey = await createKey(`${betaMark}-key`, "beta");
  const createUser = async (
    name: string,
    role: Role,
    projects: readonly string[] | "all",
    project_roles: Readonly<Record<string, Role>> = {},
  ) => {
    const body = { name, role, projects, project_roles, password };
    const response = await asToken("/users", "POST", body);
    if (response.status !== 201) throw new Error(await response.text());
    return new SignedIn(gateway.url, (await response.json()) as User).signIn();
  };
  const users = {
    admin: await createUser("Ada", "admin", "all"),
    developer: await createUser("Dora", "developer", "all"),
    viewer: await createUser("Vic", "viewer", "all"),
    billing: await createUser("Bill", "billing", "all"),
    lead: await createUser("Lea", "lead", "all"),
    alphaDeveloper: await createUser("Alan", "developer", ["alpha"]),
    alphaViewer: await createUser("Aline", "viewer", ["alpha"]),
    alphaBilling: await createUser("Abel", "billing", ["alpha"]),
    /** Sees two projects, and leads one of them. */
    alphaLead: await createUser("Alma", "viewer", ["alpha", "delta"], { alpha: "lead" }),
    betaDeveloper: await createUser(`${betaMark}-developer`, "developer", ["beta"]),
  };
  const embed = async (key: string): Promise<string> => {
    const body = { model: "embed", input: "text" };
    const headers = { authorization: `Bearer ${key}` };
    const response = await post(`${gateway.baseURL}/embeddings`, body, headers);
    if (response.status !== 200) throw new Error(await response.text());
    return response.headers.get("x-request-id") ?? "";
  };
  const batch = await createBatch(gateway.baseURL, betaKey.key, ["text"]);
  const requests = { alpha: await embed(alphaKey.key), beta: await embed(betaKey.key) };
  return {
    url: gateway.url,
    document,
    operations: operationsOf(document),
    users,
    keys: { alpha: alphaKey, beta: betaKey },
    requests,
    jobs: { beta: batch },
    asToken,
    createKey,
    log: gateway.log,
    close: async () => {
      await gateway.close();
      fake.close();
    },
  };
}

/** Slack's webhook URLs have the credential in the path. */
export const webhookPath = "/services/T000/planted-webhook-path";

const yamlFor = (url: string): string => `
upstreams:
  - id: fake
    kind: openai
    baseUrl: "${url}"
    apiKey: ${secrets.upstreamKey}
    headers: { x-extra: ${secrets.upstreamHeader} }
models:
  - { id: embed, kind: embedding, targets: [{ upstream: fake, model: text-embedding-3-small }] }
projects:
  - { name: alpha }
  - { name: delta }
  - { name: beta, budget: { month: 12345.678 } }
keys:
  - { name: yaml, key: ${apiKey} }
  - { name: ${betaMark}-yaml, key: sk-beta-0123456789abcdef, project: beta }
webhooks:
  - { url: "http://127.0.0.1:9${webhookPath}?token=${secrets.webhookToken}", secret: "${secrets.webhookSecret}" }
`;

function operationsOf({ paths }: AdminDocument): readonly Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      role: operation["x-role"] as Operation["role"],
      scope: operation["x-scope"] as Operation["scope"],
      hasBody: operation.requestBody !== undefined,
      address: `${path}${requiredQuery(path, operation)}`,
      responses: operation.responses,
    })),
  );
}

/** Values of the query parameters that routes require. */
const queryValues: Readonly<Record<string, string>> = {
  model: "embed",
  endpoint: "/v1/embeddings",
  key_id: "unknown-id",
  ids: "unknown-id",
  kind: "embedding",
  upstream: "unknown-id",
};

function requiredQuery(path: string, { parameters = [] }: Record<string, unknown>): string {
  const required = (parameters as { name: string; in: string; required: boolean }[]).filter(
    (each) => each.in === "query" && each.required,
  );
  const query = required.map(({ name }) => {
    const value = queryValues[name];
    if (value === undefined) throw new Error(`Add a value of the parameter ${name} for ${path}.`);
    return `${name}=${value}`;
  });
  return query.length === 0 ? "" : `?${query.join("&")}`;
}

export interface SendOptions {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** `path`: below /admin/api, or a whole path of the document. */
export async function send(
  url: string,
  path: string,
  { method = "GET", body, headers = {} }: SendOptions,
): Promise<Response> {
  const whole = path.startsWith("/admin/api") ? path : `/admin/api${path}`;
  const isChange = method !== "GET";
  const response = await fetch(`${url}${whole}`, {
    method,
    headers: { ...(isChange && { "content-type": "application/json" }), ...headers },
    redirect: "manual",
    ...(isChange && body !== undefined && { body: JSON.stringify(body) }),
  });
  return asDocumented(response, method, secrets.adminToken);
}

/** A user's browser. */
class SignedIn {
  readonly #url: string;
  readonly user: User;
  cookie = "";
  csrfToken = "";

  constructor(url: string, user: User) {
    this.#url = url;
    this.user = user;
  }

  async signIn(): Promise<this> {
    const body = { name: this.user.name, password };
    const response = await send(this.#url, "/session", { method: "POST", body });
    this.cookie = response.headers
      .getSetCookie()
      .map((each) => each.split(";")[0] ?? "")
      .join("; ");
    this.csrfToken = ((await response.json()) as Session).csrf_token;
    return this;
  }

  send(path: string, { headers = {}, ...options }: SendOptions = {}): Promise<Response> {
    const own = { cookie: this.cookie, "x-csrf-token": this.csrfToken };
    return send(this.#url, path, { ...options, headers: { ...own, ...headers } });
  }
}

/** The path with a value for each parameter. */
export const withParameters = (path: string, value = "unknown-id"): string =>
  path.replace(/\{\w+\}/g, value);

const streamMs = 300;

/** The body. Of an endless stream of events, what arrives within a short time. */
export async function textOf(response: Response): Promise<string> {
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
  if (!isStream || !response.body) return response.text();
  const reader = response.body.getReader();
  const timer = setTimeout(() => void reader.cancel(), streamMs);
  const chunks: Uint8Array[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
  }
  clearTimeout(timer);
  return Buffer.concat(chunks).toString();
}

export const codeOf = async (response: Response): Promise<string | undefined> => {
  const text = await textOf(response);
  return text.startsWith("{")
    ? (JSON.parse(text) as { error?: { code?: string } }).error?.code
    : undefined;
};
