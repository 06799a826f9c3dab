/** A gateway with two projects, and users who see one of them or all. */
import { adminToken, asOperator } from "../events/webhooks-fixture.ts";
import { type Fake, startFake } from "../fake-upstream.ts";
import { startGateway, type TestGateway } from "../harness.ts";
import { asDocumented } from "./documented-responses.ts";

const password = "correct horse battery";

export const keys = {
  alpha: "sk-alpha-0123456789abcdef",
  beta: "sk-beta-0123456789abcdef",
  none: "sk-none-0123456789abcdef",
} as const;
type KeyName = keyof typeof keys;

const yaml = (url: string, more: string): string => `
upstreams:
  - { id: fake, kind: openai, baseUrl: "${url}", apiKey: sk-fake }
models:
  - { id: vectors, kind: embedding, targets: [{ upstream: fake, model: text-embedding-3-small }], limits: { requestsPerMinute: 1000 } }
  - { id: other, kind: embedding, targets: [{ upstream: fake, model: text-embedding-3-large }] }
projects:
  - { name: alpha, budget: { month: 0.0005 }, limits: { requestsPerMinute: 600 } }
  - { name: beta, budget: { day: 5 } }
keys:
  - { name: =alpha, key: ${keys.alpha}, project: alpha, budget: { total: 10 }, limits: { concurrent: 7 } }
  - { name: beta-key, key: ${keys.beta}, project: beta }
  - { name: none-key, key: ${keys.none} }
${more}`;

interface ReadsSetup {
  readonly gateway: TestGateway;
  readonly fake: Fake;
  embed(key: KeyName, body?: Readonly<Record<string, unknown>>): Promise<Response>;
  /** With the admin token. */
  admin<T>(path: string): Promise<T>;
  close(): Promise<void>;
}

export function startReads({ more = "", settings = {} } = {}): ReadsSetup {
  const fake = startFake();
  const gateway = startGateway({
    yaml: yaml(fake.url, more),
    settings: { VEXEL_ADMIN_TOKEN: adminToken, VEXEL_CONSOLE: "on", ...settings },
  });
  return {
    gateway,
    fake,
    embed: (key, body = {}) =>
      gateway.post(
        "/v1/embeddings",
        { model: "vectors", input: "a text", ...body },
        { authorization: `Bearer ${keys[key]}` },
      ),
    admin: async <T>(path: string) => {
      const response = await asOperator(gateway.url, `/admin/api${path}`);
      const text = await response.text();
      if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text}`);
      return JSON.parse(text) as T;
    },
    close: async () => {
      await gateway.close();
      fake.close();
    },
  };
}

/** Creates a user and signs in. Returns a function that sends requests with the session. */
export async function signInAs(
  { gateway }: Pick<ReadsSetup, "gateway">,
  user: {
    readonly name: string;
    readonly role: string;
    readonly projects: readonly string[] | "all";
  },
) {
  const api = `${gateway.url}/admin/api`;
  const created = await asOperator(api, "/users", "POST", { ...user, password });
  if (created.status !== 201) throw new Error(await created.text());
  const session = await fetch(`${api}/session`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name: user.name, password }),
  });
  if (session.status !== 200) throw new Error(await session.text());
  const cookie = session.headers
    .getSetCookie()
    .map((each) => each.split(";")[0])
    .join("; ");
  return async (path: string): Promise<Response> =>
    asDocumented(await fetch(`${api}${path}`, { headers: { cookie } }), "GET", adminToken);
}
