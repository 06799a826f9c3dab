/** Sign-in with OpenID Connect against a real issuer process. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { AuditEntry, Page, Session, SignedOut, User } from "../../contract/admin.ts";
import { adminToken, asOperator } from "../events/webhooks-fixture.ts";
import { startGateway, type TestGateway } from "../harness.ts";
import { CookieBrowser, clientId, clientSecret, type Issuer, startIssuer } from "./oidc-issuer.ts";

const password = "correct horse battery";
let issuer: Issuer;
let gateway: TestGateway;

beforeAll(async () => {
  issuer = await startIssuer();
  gateway = startGateway({
    yaml: "keys: []\nprojects: [{ name: old }]\n",
    settings: {
      VEXEL_CONSOLE: "on",
      VEXEL_ADMIN_TOKEN: adminToken,
      VEXEL_OIDC_ISSUER: issuer.url,
      VEXEL_OIDC_CLIENT_ID: clientId,
      VEXEL_OIDC_CLIENT_SECRET: clientSecret,
      VEXEL_OIDC_NAME: "Example Inc.",
      VEXEL_OIDC_SCOPES: "openid email groups",
      VEXEL_OIDC_DOMAINS: "example.com",
      VEXEL_OIDC_ROLES: "platform=admin,apps=developer",
      VEXEL_OIDC_PROJECTS: "apps=search,ml=images",
    },
  });
  await issuer.register(gateway.url);
  await account("root", { groups: ["platform"] });
  await signIn("root");
});
afterAll(async () => {
  await gateway.close();
  issuer.close();
});

const account = (id: string, claims: Readonly<Record<string, unknown>> = {}) =>
  issuer.setAccount(id, { email: `${id}@example.com`, email_verified: true, ...claims });

const isConsole = (url: string): boolean => url.startsWith(`${gateway.url}/console`);

/** The browser, and the page of the console at which the sign-in ends. */
async function signIn(login: string, search = "") {
  const browser = new CookieBrowser();
  const start = `${gateway.url}/admin/api/session/oidc${search}`;
  const page = (await browser.follow(start, isConsole, login)).slice(gateway.url.length);
  return { browser, page };
}

const asAdmin = async <Body>(path: string, method = "GET", body?: object): Promise<Body> =>
  (await asOperator(gateway.url, `/admin/api${path}`, method, body)).json() as Promise<Body>;

const sessionOf = async (browser: CookieBrowser): Promise<Session> =>
  (await (await browser.fetch(`${gateway.url}/admin/api/session`)).json()) as Session;

const users = async (): Promise<readonly User[]> => (await asAdmin<Page<User>>("/users")).data;

test("a user with an allowed address signs in, with the role and the projects of the groups", async () => {
  await account("dora", { groups: ["apps", "ml", "unmapped"] });
  const { browser, page } = await signIn("dora");
  expect(page).toBe("/console/");
  const { user } = await sessionOf(browser);
  expect(user).toMatchObject({
    name: "dora@example.com",
    role: "developer",
    projects: ["images", "search"],
  });
});

test("a link to the sign-in with an issuer leads to no other site", async () => {
  await account("nora", { groups: ["ml"] });
  for (const next of ["https://evil.example", "//evil.example", "/\\evil.example"]) {
    const { page } = await signIn("nora", `?next=${encodeURIComponent(next)}`);
    expect(page).toBe("/console/");
  }
});

test("role and projects follow the groups at the next sign-in", async () => {
  await account("eve", { groups: ["platform"] });
  expect((await sessionOf((await signIn("eve")).browser)).user).toMatchObject({
    role: "admin",
    projects: null,
  });
  await account("eve", { groups: ["ml"] });
  expect((await sessionOf((await signIn("eve")).browser)).user).toMatchObject({
    role: "viewer",
    projects: ["images"],
  });
});

test("the sign-in page shows the name of the issuer", async () => {
  const options = await (await fetch(`${gateway.url}/admin/api/session/options`)).json();
  expect(options).toMatchObject({ oidc: { name: "Example Inc." } });
});

test.each([
  ["of another domain", { email: "mallory@evil.example" }, "evil.example"],
  ["that is not verified", { email_verified: false }, "not verified"],
  [
    "of which the issuer does not say that it is verified",
    { email_verified: undefined },
    "not verified",
  ],
  ["of a domain that ends like an allowed one", { email: "m@notexample.com" }, "notexample.com"],
])(
  "an address %s is refused, and the audit log has the reason",
  async (_, claims, reason) => {
    await account("mallory", claims);
    const { browser, page } = await signIn("mallory");
    expect(page).toBe("/console/sign-in?oidc=refused");
    expect((await browser.fetch(`${gateway.url}/admin/api/session`)).status).toBe(401);
    const { data } = await asAdmin<Page<AuditEntry>>("/audit?action=session.refused&limit=1");
    expect(JSON.stringify(data[0]?.after)).toContain(reason);
    expect((await users()).some(({ name }) => name.startsWith("mallory"))).toBe(false);
  },
  30_000,
);

test("an address of one source is not verified by the other", async () => {
  const own = { email: "mallory@example.com", email_verified: true };
  // The issuer signs the verified address, and its user info has an address that the person typed in.
  await issuer.setAccount("mallory", { email: "root@example.com" }, own);
  const { browser, page } = await signIn("mallory");
  expect(page).toBe("/console/");
  expect((await sessionOf(browser)).user.name).toBe("mallory@example.com");
  await issuer.setAccount("trudy", { email_verified: true }, { email: "root@example.com" });
  expect((await signIn("trudy")).page).toBe("/console/sign-in?oidc=refused");
});

test("an identity is linked to the user whose name is the verified address, once", async () => {
  const created = await asAdmin<User>("/users", "POST", {
    name: "Link@example.com",
    password,
    role: "viewer",
    projects: ["old"],
  });
  await account("link", { groups: ["apps"] });
  const linked = await sessionOf((await signIn("link")).browser);
  expect(linked.user).toMatchObject({ id: created.id, role: "developer", projects: ["search"] });
  // Another person at the issuer who gets the same address later is not the same user.
  await issuer.setAccount("other", { email: "link@example.com", email_verified: true });
  expect((await signIn("other")).page).toBe("/console/sign-in?oidc=refused");
});

test("a user is found by the subject, also after the address has changed", async () => {
  await account("renamed");
  const first = await sessionOf((await signIn("renamed")).browser);
  await account("renamed", { email: "new-name@example.com" });
  const second = await sessionOf((await signIn("renamed")).browser);
  expect(second.user.id).toBe(first.user.id);
});

test("a callback with another state, or without the cookie of this browser, is refused", async () => {
  await account("victim");
  const browser = new CookieBrowser();
  const isCallback = (url: string): boolean => url.includes("/oidc/callback?");
  const start = `${gateway.url}/admin/api/session/oidc`;
  const callback = await browser.follow(start, isCallback, "victim");
  const thief = new CookieBrowser();
  const stolen = await thief.fetch(callback);
  expect(stolen.headers.get("location")).toBe("/console/sign-in?oidc=expired");
  const forged = new URL(callback);
  forged.searchParams.set("state", "forged");
  expect((await browser.fetch(forged.href)).headers.get("location")).toBe(
    "/console/sign-in?oidc=failed",
  );
  // The failed attempt has ended this sign-in: the code cannot be used any more.
  expect((await browser.fetch(callback)).headers.get("location")).toBe(
    "/console/sign-in?oidc=expired",
  );
  expect((await browser.fetch(`${gateway.url}/admin/api/session`)).status).toBe(401);
});

test("an authorization code works once", async () => {
  await account("once");
  const browser = new CookieBrowser();
  const start = `${gateway.url}/admin/api/session/oidc`;
  const callback = await browser.follow(start, (url) => url.includes("/oidc/callback?"), "once");
  const pending = browser.cookies(gateway.url).get("vexel_oidc") ?? "";
  expect((await browser.fetch(callback)).headers.get("location")).toBe("/console/");
  const again = await fetch(callback, {
    headers: { cookie: `vexel_oidc=${pending}` },
    redirect: "manual",
  });
  expect(again.headers.get("location")).toBe("/console/sign-in?oidc=failed");
  expect(again.headers.get("set-cookie")).not.toContain("vexel_session=");
});

test("the request to the issuer has PKCE, state and nonce, and the cookie is for the callback only", async () => {
  const response = await fetch(`${gateway.url}/admin/api/session/oidc`, { redirect: "manual" });
  expect(response.status).toBe(303);
  const { searchParams } = new URL(response.headers.get("location") ?? "");
  expect(searchParams.get("code_challenge_method")).toBe("S256");
  for (const name of ["code_challenge", "state", "nonce"]) {
    expect(searchParams.get(name)?.length).toBeGreaterThan(20);
  }
  const cookie = response.headers.get("set-cookie") ?? "";
  expect(cookie).toContain("HttpOnly");
  expect(cookie).toContain("SameSite=Lax");
  expect(cookie).toContain("Path=/admin/api/session/oidc");
});

test("sign-out ends the session here, and redirects to the sign-out of the issuer", async () => {
  await account("leaver");
  const { browser } = await signIn("leaver");
  const { csrf_token } = await sessionOf(browser);
  const response = await browser.fetch(`${gateway.url}/admin/api/session`, {
    method: "DELETE",
    headers: { "x-csrf-token": csrf_token },
  });
  const { continue_at } = (await response.json()) as SignedOut;
  expect(continue_at).toStartWith(`${issuer.url}/session/end?`);
  expect(continue_at).toContain(encodeURIComponent(`${gateway.url}/console/sign-in`));
  expect((await browser.fetch(`${gateway.url}/admin/api/session`)).status).toBe(401);
});

test("a user of the issuer cannot sign in with a password", async () => {
  await account("nopassword");
  await signIn("nopassword");
  const response = await fetch(`${gateway.url}/admin/api/session`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name: "nopassword@example.com", password: "" }),
  });
  expect(response.status).toBe(401);
});

test("the client secret is in no response and not in the log", async () => {
  const { data } = await asAdmin<Page<{ name: string; value: string }>>("/settings");
  const shown = data.find(({ name }) => name === "VEXEL_OIDC_CLIENT_SECRET");
  expect(shown?.value).toBe("********");
  expect(JSON.stringify(data)).not.toContain(clientSecret);
  expect(gateway.log()).not.toContain(clientSecret);
});

test("failed sign-ins of others from the same address do not throttle a sign-in with OpenID Connect", async () => {
  await account("patient");
  const body = JSON.stringify({ name: "Eve", password: "wrong guess here", token: "guess" });
  const attempts = Array.from({ length: 300 }, () =>
    fetch(`${gateway.url}/admin/api/session/setup`, { method: "POST", body }),
  );
  await Promise.any(attempts.map(async (attempt) => expect((await attempt).status).toBe(429)));
  expect((await signIn("patient")).page).toBe("/console/");
  await Promise.all(attempts);
});

test("a test sign-in shows what a person would get, and changes nothing", async () => {
  await account("tess", { groups: ["apps"] });
  const before = (await users()).length;
  const { browser, page } = await signIn("tess", "?test=true");
  expect(page).toStartWith("/console/sign-in-settings#");
  const unsigned = await browser.fetch(`${gateway.url}/admin/api/session`);
  expect(unsigned.status).toBe(401);
  const result = page.split("#")[1];
  expect(await asAdmin<object>("/oidc/test", "POST", { result })).toEqual({
    object: "oidc_test",
    problem: null,
    email: "tess@example.com",
    values: ["apps"],
    role: "developer",
    projects: ["search"],
    is_new: true,
  });
  expect(await users()).toHaveLength(before);
});

test("a test sign-in says why a person is refused, and a changed result is not shown", async () => {
  await account("mallory", { email: "mallory@elsewhere.example" });
  const { page } = await signIn("mallory", "?test=true");
  const result = page.split("#")[1] ?? "";
  expect(await asAdmin<object>("/oidc/test", "POST", { result })).toMatchObject({
    problem: "The email domain elsewhere.example is not in VEXEL_OIDC_DOMAINS.",
    role: null,
  });
  const changed = `${result.slice(0, -4)}AAAA`;
  expect(await asAdmin<object>("/oidc/test", "POST", { result: changed })).toMatchObject({
    error: { param: "result" },
  });
});

test("administrators see what is configured, and that the issuer responds", async () => {
  expect(await asAdmin<object>("/oidc")).toMatchObject({
    redirect_uri: `${gateway.url}/admin/api/session/oidc/callback`,
    configured: {
      client_id: clientId,
      has_client_secret: true,
      domains: ["example.com"],
      roles: [
        { value: "platform", role: "admin" },
        { value: "apps", role: "developer" },
      ],
    },
    missing: [],
    issuer_problem: null,
  });
});
