/** The settings of OpenID Connect, and what the claims of an identity allow. */
import { expect, test } from "bun:test";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { accessOf } from "../../server/admin/sign-in/oidc/oidc-access.ts";
import { readOidcSettings } from "../../server/admin/sign-in/oidc/oidc-settings.ts";
import { oidcUser } from "../../server/admin/sign-in/oidc/oidc-users.ts";
import { readSettings } from "../../server/settings.ts";
import { sources, textOf } from "../laws/tree.ts";
import { createAdminFixture } from "./admin-fixture.ts";

const base = {
  VEXEL_OIDC_ISSUER: "https://issuer.example",
  VEXEL_OIDC_CLIENT_ID: "vexel",
  VEXEL_OIDC_DOMAINS: "example.com",
};

/** The first user. */
const ada = {
  id: "user_1",
  name: "ada@example.com",
  role: "admin",
  projects: null,
  createdAt: 0,
  passwordHash: "hash",
  oidcSubject: null,
  projectRoles: {},
  mustChangePassword: false,
  disabledAt: null,
  invite: null,
  totp: null,
  lastSignInAt: null,
} as const;

function settingsOf(variables: Readonly<Record<string, string>> = {}) {
  const settings = readOidcSettings(readSettings({ ...base, ...variables }));
  if (!settings) throw new Error("OpenID Connect is off");
  return settings;
}

test.each([
  [{ VEXEL_OIDC_ISSUER: "http://issuer.example" }, "https://"],
  [{ VEXEL_OIDC_ISSUER: "issuer" }, "must be a URL"],
  [{ VEXEL_OIDC_CLIENT_ID: "" }, "VEXEL_OIDC_CLIENT_ID"],
  [{ VEXEL_OIDC_DOMAINS: "" }, "everybody with an account"],
  [{ VEXEL_OIDC_CLIENT_SECRET: "a", VEXEL_OIDC_CLIENT_SECRET_FILE: "b" }, "not both"],
  [{ VEXEL_OIDC_ROLES: "platform=owner" }, '"platform=owner"'],
  [{ VEXEL_OIDC_ROLES: "platform" }, '"platform="'],
  [{ VEXEL_OIDC_PROJECTS: "platform" }, "VALUE=PROJECT"],
])("%j is refused at the start with the reason", (variables, reason) => {
  expect(() => settingsOf(variables)).toThrow(reason);
});

test("the client secret can be in a file", () => {
  const file = join(mkdtempSync(join(tmpdir(), "vexel-")), "secret");
  writeFileSync(file, "from-a-file\n");
  expect(settingsOf({ VEXEL_OIDC_CLIENT_SECRET_FILE: file }).clientSecret).toBe("from-a-file");
});

test("a required value of a claim must match, also in a nested claim", () => {
  const settings = settingsOf({
    VEXEL_OIDC_DOMAINS: "",
    VEXEL_OIDC_REQUIRED: "vexel",
    VEXEL_OIDC_CLAIM: "realm_access.roles",
  });
  const claims = { email: "a@any.example", email_verified: true };
  expect(accessOf(claims, settings)).toMatchObject({ i18n: { id: "oidc_required_missing" } });
  expect(accessOf({ ...claims, realm_access: { roles: ["vexel"] } }, settings)).toMatchObject({
    email: "a@any.example",
  });
});

test("the highest mapped role applies, and groups of a directory may contain equals signs", () => {
  const settings = settingsOf({
    VEXEL_OIDC_ROLES: "cn=admins=admin, cn=devs=developer",
    VEXEL_OIDC_PROJECTS: "cn=devs=*",
  });
  const claims = { email: "a@example.com", email_verified: true, groups: ["cn=devs", "cn=admins"] };
  expect(accessOf(claims, settings)).toMatchObject({ mappedRole: "admin", mappedProjects: null });
});

test("an e-mail address without email_verified is trusted only with VEXEL_OIDC_TRUST_EMAIL, and never linked to a user", async () => {
  const claims = { email: "ada@example.com" };
  const unverified = { i18n: { id: "oidc_email_unverified" } };
  expect(accessOf(claims, settingsOf())).toMatchObject(unverified);
  const settings = settingsOf({ VEXEL_OIDC_TRUST_EMAIL: "on" });
  expect(accessOf({ ...claims, email_verified: false }, settings)).toMatchObject(unverified);
  const access = accessOf(claims, settings);
  if ("text" in access) throw new Error(access.text);
  const { users } = createAdminFixture();
  await users.create(ada);
  expect(await oidcUser("issuer sub", access, { users, settings, now: () => 0 })).toContain(
    "does not say that the address is verified",
  );
  expect((await users.findById("user_1"))?.oidcSubject).toBeNull();
});

test("while there is no user, only an administrator can sign in, so the one-time link keeps working", async () => {
  const { users } = createAdminFixture();
  const settings = settingsOf({ VEXEL_OIDC_ROLES: "platform=admin" });
  const claims = { email: "ada@example.com", email_verified: true };
  const viewer = accessOf(claims, settings);
  const admin = accessOf({ ...claims, groups: "platform" }, settings);
  if ("text" in viewer || "text" in admin) throw new Error("refused");
  const options = { users, settings, now: () => 0 };
  expect(await oidcUser("issuer sub", viewer, options)).toContain("one-time link");
  expect(await users.isEmpty()).toBe(true);
  expect(await oidcUser("issuer sub", admin, options)).toMatchObject({ change: "created" });
});

test("a new user without mapped projects has none", async () => {
  const { users } = createAdminFixture();
  const settings = settingsOf({ VEXEL_OIDC_ROLE: "developer" });
  await users.create(ada);
  const access = accessOf({ email: "bob@example.com", email_verified: true }, settings);
  if ("text" in access) throw new Error(access.text);
  const found = await oidcUser("issuer bob", access, { users, settings, now: () => 0 });
  expect(found).toMatchObject({ user: { role: "developer", projects: [] } });
});

test("openid-client is imported on first use only, so it does not delay the start", () => {
  const importing = sources()
    .filter((file) => file.startsWith("server/") && textOf(file).includes('"openid-client"'))
    .map((file) => [file, textOf(file).match(/^import (?!type).*"openid-client"/m)]);
  expect(importing).toEqual([["server/admin/sign-in/oidc/oidc-client.ts", null]]);
});
