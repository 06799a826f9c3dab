/** An admin API with stores in memory, and a browser that keeps its cookies. */
import { Database } from "bun:sqlite";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAdminApi } from "../../server/admin/admin-api.ts";
import { createMayLinkTo } from "../../server/admin/allowed-hosts.ts";
import { createAudit } from "../../server/admin/audit.ts";
import { buildAdminOpenapi } from "../../server/admin/openapi/admin-openapi.ts";
import { accountRoutes } from "../../server/admin/routes/account.ts";
import { accountTokenRoutes } from "../../server/admin/routes/account-tokens.ts";
import { inviteRoutes } from "../../server/admin/routes/invites.ts";
import { sessionRoutes } from "../../server/admin/routes/session.ts";
import { userRoutes } from "../../server/admin/routes/users.ts";
import { Passwords } from "../../server/admin/sign-in/passwords.ts";
import { createSecondFactor } from "../../server/admin/sign-in/second-factor.ts";
import { Sessions } from "../../server/admin/sign-in/sessions.ts";
import { createSetupToken } from "../../server/admin/sign-in/setup-token.ts";
import { SignInThrottle } from "../../server/admin/sign-in/sign-in-throttle.ts";
import { UserTokens } from "../../server/admin/sign-in/user-tokens.ts";
import { toErrorResponse, toGatewayError } from "../../server/request/error-response.ts";
import { SecretBox } from "../../server/storage/encrypt-secret.ts";
import { createAdminTokenStore } from "../../server/storage/sql/admin-token-store.ts";
import { createAuditLog } from "../../server/storage/sql/audit-log.ts";
import { createSessionStore } from "../../server/storage/sql/session-store.ts";
import { createUserStore } from "../../server/storage/sql/user-store.ts";
import { migrate } from "../../server/storage/sqlite/migrate.ts";
import { gatewayMigrations } from "../../server/storage/sqlite/migrations/gateway.ts";
import { SqliteDatabase } from "../../server/storage/sqlite/sqlite-database.ts";
import { type AdminApiDocument, checkResponsesBy } from "./documented-responses.ts";

export const origin = "http://gateway.test";
export const password = "correct horse battery";
/** The lowest cost: most tests are about the session, and `passwords.test.ts` holds the cost in production. */
const cheapPasswords = new Passwords({ memoryCost: 8, timeCost: 1 });

/** `passwords`: a test can delay the hash. */
export function createAdminFixture(passwords: Pick<Passwords, "hash" | "verify"> = cheapPasswords) {
  const file = new Database(":memory:", { strict: true });
  migrate(file, gatewayMigrations, 0);
  const db = new SqliteDatabase(file);
  const clock = { now: Date.UTC(2026, 0, 1) };
  const now = (): number => clock.now;
  const users = createUserStore(db);
  const auditLog = createAuditLog(db);
  const audit = createAudit(auditLog, now);
  const sessions = new Sessions({ sessions: createSessionStore(db), users, now });
  const tokens = new UserTokens({ store: createAdminTokenStore(db), users, now });
  const folder = mkdtempSync(join(tmpdir(), "vexel-admin-"));
  const secrets = new SecretBox({ folder, secret: "a long secret of the tests", previous: [] });
  const setupToken = createSetupToken({ hash: () => "5e7".repeat(21) });
  const dependencies = {
    snapshot: () => ({ projects: new Map([["web", { name: "web" }]]) }),
    users,
    sessions,
    tokens,
    secondFactor: createSecondFactor({ users, secrets, now }),
    passwords,
    throttle: new SignInThrottle({ now, sleep: async () => undefined }),
    setupToken,
    mayLinkTo: createMayLinkTo({ hosts: "gateway.test", publicUrl: "" }),
    sendMessage: undefined,
    audit,
    oidc: undefined,
    now,
  };
  const routes = [
    ...sessionRoutes(dependencies),
    ...accountRoutes(dependencies),
    ...accountTokenRoutes(dependencies),
    ...inviteRoutes(dependencies),
    ...userRoutes(dependencies),
  ];
  const { fetch } = createAdminApi({ ...dependencies, routes, adminToken: "admin-token" });
  const description = { operations: routes, serverUrl: origin, version: "1.0.0" };
  const document = buildAdminOpenapi(description) as unknown as AdminApiDocument;
  const app = { fetch, checkResponse: checkResponsesBy(document) };
  return { app, clock, users, auditLog, setupToken };
}

export type AdminFixture = ReturnType<typeof createAdminFixture>;

interface RequestOptions {
  readonly method?: string;
  /** A function: called when the request reads its body. */
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly address?: string;
}

/** Keeps the session cookie and the CSRF token, as the console does. */
export class TestBrowser {
  readonly #app: AdminFixture["app"];
  readonly #jar = new Map<string, string>();
  csrfToken = "";

  constructor({ app }: Pick<AdminFixture, "app">) {
    this.#app = app;
  }

  /** The cookies as a browser sends them. */
  get cookie(): string {
    return [...this.#jar].map(([name, value]) => `${name}=${value}`).join("; ");
  }

  set cookie(text: string) {
    this.#jar.clear();
    for (const pair of text.split("; ").filter(Boolean)) this.#keep(pair);
  }

  #keep(pair: string): void {
    const at = pair.indexOf("=");
    this.#jar.set(pair.slice(0, at), pair.slice(at + 1));
  }

  async call(
    path: string,
    { method = "GET", body, headers = {}, address = "127.0.0.1" }: RequestOptions = {},
  ) {
    const incoming = {
      publicUrl: `http://${headers.host ?? "gateway.test"}`,
      search: "",
      headers: new Headers({ host: headers.host ?? "gateway.test" }),
      parts: () => {
        throw new Error("The request has no form.");
      },
      json: async () => (typeof body === "function" ? body() : body),
    };
    const request = new Request(`${origin}/admin/api${path}`, {
      method,
      headers: { cookie: this.cookie, "x-csrf-token": this.csrfToken, ...headers },
    });
    const response = await this.#respond(request, { incoming, address });
    for (const set of response.headers.getSetCookie()) this.#keep(set.split(";")[0] ?? "");
    const text = await response.text();
    const json = text === "" ? undefined : JSON.parse(text);
    this.#app.checkResponse({ method, path: `/admin/api${path}`, status: response.status, json });
    if (json?.csrf_token) this.csrfToken = json.csrf_token;
    return { status: response.status, json, headers: response.headers };
  }

  /** As the listener does: an error becomes a response in OpenAI's shape. */
  async #respond(...request: Parameters<AdminFixture["app"]["fetch"]>): Promise<Response> {
    try {
      return await this.#app.fetch(...request);
    } catch (error) {
      const { status, headers, body } = toErrorResponse(toGatewayError(error, undefined));
      return new Response(body, { status, headers });
    }
  }

  signIn(name: string, secret = password) {
    return this.call("/session", { method: "POST", body: { name, password: secret } });
  }
}

/** A fixture whose first administrator, Ada, is signed in. */
export async function signedInFixture(passwords?: Pick<Passwords, "hash" | "verify">) {
  const fixture = createAdminFixture(passwords);
  const browser = new TestBrowser(fixture);
  await browser.call("/session/setup", {
    method: "POST",
    body: { name: "Ada", password, token: fixture.setupToken.value },
  });
  return { ...fixture, browser };
}
