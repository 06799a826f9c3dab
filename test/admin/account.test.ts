/** The account of a user: invitation, password, sessions, tokens and second factor. */
import { describe, expect, test } from "bun:test";
import { type AdminFixture, password, signedInFixture, TestBrowser } from "./admin-fixture.ts";
import { totpCode } from "./totp-code.ts";

const newPassword = "another long password";

async function withBob(role = "developer") {
  const fixture = await signedInFixture();
  const created = await fixture.browser.call("/users", {
    method: "POST",
    body: { name: "Bob", password, role, projects: "all" },
  });
  const bob = new TestBrowser(fixture);
  await bob.signIn("Bob");
  return { ...fixture, bob, bobId: created.json.id as string };
}

const post = (browser: TestBrowser, path: string, body: object = {}) =>
  browser.call(path, { method: "POST", body });

const patch = (browser: TestBrowser, id: string, body: object) =>
  browser.call(`/users/${id}`, { method: "PATCH", body });

const withToken = (browser: TestBrowser, path: string, token: string, method = "GET") =>
  browser.call(path, { method, headers: { cookie: "", authorization: `Bearer ${token}` } });

const newToken = (browser: TestBrowser, body: object = {}) =>
  post(browser, "/account/tokens", { name: "deploy", expires_in_days: 30, password, ...body });

async function invited(fixture: Pick<AdminFixture, "app"> & { browser: TestBrowser }) {
  const { browser } = fixture;
  const user = await post(browser, "/users", { name: "Eve", role: "viewer" });
  const invite = await post(browser, `/users/${user.json.id}/invite`);
  const token = String(invite.json.url).split("#")[1] ?? "";
  return { user: user.json, token, guest: new TestBrowser(fixture) };
}

/** Turns the second factor of the signed-in user on. */
async function enroll(browser: TestBrowser, now: () => number) {
  const { json } = await post(browser, "/account/totp", { password });
  const body = { enrollment: json.enrollment, code: totpCode(json.secret, now()) };
  const { json: enabled } = await browser.call("/account/totp", { method: "PUT", body });
  return { secret: json.secret as string, codes: enabled.codes as string[] };
}

const signInWithCode = (browser: TestBrowser, name: string, code: string) =>
  post(browser, "/session", { name, password, code });

test("an invited user chooses a password with the link, once, and signs in", async () => {
  const fixture = await signedInFixture();
  const { user, token, guest } = await invited(fixture);
  expect(user).toMatchObject({ status: "invited", sign_in: "password" });
  expect((await post(guest, "/session/invite", { token })).json.name).toBe("Eve");
  const accept = () => post(guest, "/session/invite/accept", { token, password: newPassword });
  expect((await accept()).status).toBe(204);
  expect((await accept()).status).toBe(401);
  expect((await post(guest, "/session/invite", { token })).status).toBe(401);
  expect((await guest.signIn("Eve", newPassword)).json.user.role).toBe("viewer");
});

test("a link that has expired or was replaced is refused, and its token is stored as a hash", async () => {
  const fixture = await signedInFixture();
  const { user, token, guest } = await invited(fixture);
  expect(JSON.stringify(await fixture.users.findById(user.id))).not.toContain(token);
  await post(fixture.browser, `/users/${user.id}/invite`, { expires_in_hours: 1 });
  expect((await post(guest, "/session/invite", { token })).status).toBe(401);
  const next = await post(fixture.browser, `/users/${user.id}/invite`, { expires_in_hours: 1 });
  fixture.clock.now += 3_600_001;
  const body = { token: next.json.url.split("#")[1], password: newPassword };
  expect((await post(guest, "/session/invite/accept", body)).status).toBe(401);
});

test("a new password of an administrator ends the link of the user", async () => {
  const fixture = await signedInFixture();
  const { user, token, guest } = await invited(fixture);
  await patch(fixture.browser, user.id, { password: newPassword });
  expect((await post(guest, "/session/invite", { token })).status).toBe(401);
});

test("a user changes the password, and the other sessions end", async () => {
  const { bob, app } = await withBob();
  const other = new TestBrowser({ app });
  await other.signIn("Bob");
  const change = (current: string, next: string) =>
    post(bob, "/account/password", { current_password: current, new_password: next });
  expect((await change("wrong password", newPassword)).status).toBe(400);
  expect((await change(password, password)).json.error.param).toBe("new_password");
  expect((await change(password, newPassword)).status).toBe(204);
  expect((await other.call("/session")).status).toBe(401);
  expect((await bob.call("/session")).status).toBe(200);
  expect((await other.signIn("Bob", newPassword)).status).toBe(200);
});

test("guesses of the password with a stolen session are throttled", async () => {
  const { bob } = await withBob();
  const guess = () =>
    post(bob, "/account/password", { current_password: "wrong", new_password: newPassword });
  for (let at = 0; at < 5; at++) expect((await guess()).status).toBe(400);
  expect((await guess()).status).toBe(429);
});

test("a user who must change the password can do nothing else before", async () => {
  const { browser, bob, bobId } = await withBob();
  await patch(browser, bobId, { must_change_password: true });
  expect((await bob.signIn("Bob")).json.user.must_change_password).toBe(true);
  const refused = await bob.call("/account/tokens");
  expect([refused.status, refused.json.error.code]).toEqual([403, "password_change_required"]);
  await post(bob, "/account/password", { current_password: password, new_password: newPassword });
  expect((await bob.call("/account/tokens")).status).toBe(200);
  expect((await bob.call("/session")).json.user.must_change_password).toBe(false);
});

test("a user lists the sessions and ends one of them", async () => {
  const { bob, app } = await withBob();
  const phone = new TestBrowser({ app });
  await phone.call("/session", {
    method: "POST",
    body: { name: "Bob", password },
    headers: { "user-agent": "Phone/1.0" },
    address: "192.0.2.7",
  });
  const { data } = (await bob.call("/account/sessions")).json;
  const [other] = data.filter((each: { is_current: boolean }) => !each.is_current);
  expect(data).toHaveLength(2);
  expect(other).toMatchObject({ user_agent: "Phone/1.0", address: "192.0.2.7" });
  expect((await bob.call(`/account/sessions/${other.id}`, { method: "DELETE" })).status).toBe(204);
  expect((await phone.call("/session")).status).toBe(401);
  expect((await bob.call(`/account/sessions/${other.id}`, { method: "DELETE" })).status).toBe(404);
});

test("a token acts with the role of its user, is shown once, expires and is revoked", async () => {
  const { bob, browser, app, bobId, clock } = await withBob("admin");
  const created = await newToken(bob);
  const { token, id } = created.json;
  const script = new TestBrowser({ app });
  expect((await withToken(script, "/users", token)).status).toBe(200);
  const listed = (await bob.call("/account/tokens")).json.data;
  expect(listed[0]).toMatchObject({ name: "deploy", id, hint: token.slice(0, 8) });
  expect(listed[0].last_used_at).not.toBeNull();
  expect(JSON.stringify(listed)).not.toContain(token);
  await patch(browser, bobId, { role: "viewer" });
  expect((await withToken(script, "/users", token)).status).toBe(403);
  await patch(browser, bobId, { role: "admin" });
  clock.now += 30 * 86_400_000;
  expect((await withToken(script, "/users", token)).status).toBe(401);
  await bob.signIn("Bob");
  const second = await newToken(bob, { name: "second", expires_in_days: 1 });
  await bob.call(`/account/tokens/${second.json.id}`, { method: "DELETE" });
  expect((await withToken(script, "/users", second.json.token)).status).toBe(401);
});

test("a token is created only with the password of its user, and guesses are throttled", async () => {
  const { bob } = await withBob();
  const missing = await newToken(bob, { password: undefined });
  expect([missing.status, missing.json.error.param]).toEqual([400, "password"]);
  for (let at = 0; at < 5; at++)
    expect((await newToken(bob, { password: "wrong password" })).status).toBe(400);
  expect((await newToken(bob)).status).toBe(429);
  expect((await bob.call("/account/tokens")).json.data).toEqual([]);
});

describe("the tokens of a user end", () => {
  test.each<[string, (setup: Awaited<ReturnType<typeof withBob>>) => Promise<unknown>]>([
    [
      "when the user changes the password",
      ({ bob }) =>
        post(bob, "/account/password", { current_password: password, new_password: newPassword }),
    ],
    [
      "when an administrator sets a password",
      ({ browser, bobId }) => patch(browser, bobId, { password: newPassword }),
    ],
    [
      "when an invitation is accepted",
      async ({ app, browser, bobId }) => {
        const invite = await post(browser, `/users/${bobId}/invite`);
        const body = { token: invite.json.url.split("#")[1], password: newPassword };
        return post(new TestBrowser({ app }), "/session/invite/accept", body);
      },
    ],
  ])("%s", async (_, change) => {
    const setup = await withBob("admin");
    const { token } = (await newToken(setup.bob)).json;
    const script = new TestBrowser(setup);
    expect((await withToken(script, "/users", token)).status).toBe(200);
    await change(setup);
    expect((await withToken(script, "/users", token)).status).toBe(401);
    const other = new TestBrowser(setup);
    await other.signIn("Bob", newPassword);
    expect((await other.call("/account/tokens")).json.data).toEqual([]);
  });
});

test("a token of a user who must change the password opens nothing", async () => {
  const { browser, bob, bobId, app } = await withBob("admin");
  const { token } = (await newToken(bob)).json;
  await patch(browser, bobId, { must_change_password: true });
  const refused = await withToken(new TestBrowser({ app }), "/users", token);
  expect([refused.status, refused.json.error.code]).toEqual([403, "password_change_required"]);
});

test("an invitation leads only to a host that is known as an address of the gateway", async () => {
  const { browser } = await signedInFixture();
  const { json: user } = await post(browser, "/users", { name: "Eve", role: "viewer" });
  const inviteUnder = (host: string) =>
    browser.call(`/users/${user.id}/invite`, { method: "POST", body: {}, headers: { host } });
  const refused = await inviteUnder("evil.example");
  expect([refused.status, refused.json.error.message]).toEqual([
    400,
    expect.stringContaining("Set VEXEL_PUBLIC_URL"),
  ]);
  for (const host of ["gateway.test:8080", "localhost:8080", "192.0.2.1"])
    expect((await inviteUnder(host)).json.url).toStartWith(`http://${host}/console/invite#`);
});

test("a token cannot create tokens or change the account", async () => {
  const { bob, app } = await withBob();
  const { json } = await newToken(bob);
  const headers = { cookie: "", authorization: `Bearer ${json.token}` };
  const script = new TestBrowser({ app });
  const refused = await script.call("/account/tokens", {
    method: "POST",
    body: { name: "another", expires_in_days: 1 },
    headers,
  });
  expect(refused.json.error.code).toBe("permission_denied");
  expect((await withToken(script, "/account", json.token)).status).toBe(403);
});

test("changes by a token name the user and the token in the audit log", async () => {
  const { bob, app, auditLog } = await withBob("admin");
  const { json } = await newToken(bob);
  await new TestBrowser({ app }).call("/users", {
    method: "POST",
    body: { name: "Carol", password, role: "viewer" },
    headers: { cookie: "", authorization: `Bearer ${json.token}` },
  });
  const { entries } = await auditLog.list({ action: "user.created" }, { limit: 1 });
  expect(entries[0]).toMatchObject({ actor: "Bob (token deploy)", subject: "Carol" });
});

test("the sessions and tokens of a disabled user end at once, and the user cannot sign in", async () => {
  const { browser, bob, bobId, app } = await withBob("admin");
  const { json } = await newToken(bob);
  const disabled = await patch(browser, bobId, { disabled: true });
  expect(disabled.json.status).toBe("disabled");
  const script = new TestBrowser({ app });
  expect((await bob.call("/session")).status).toBe(401);
  expect((await withToken(script, "/users", json.token)).status).toBe(401);
  const refused = await bob.signIn("Bob");
  expect([refused.status, refused.json.error.message]).toEqual([
    401,
    expect.stringContaining("disabled"),
  ]);
  // A stranger does not learn that the user exists.
  const guess = await bob.signIn("Bob", "a wrong password");
  expect(guess.json.error.message).toBe("The username or password is wrong.");
  await patch(browser, bobId, { disabled: false });
  expect((await bob.signIn("Bob")).status).toBe(200);
  expect((await withToken(script, "/users", json.token)).status).toBe(401);
});

test("the last administrator cannot be disabled", async () => {
  const { browser, users } = await signedInFixture();
  const ada = await users.findByName("Ada");
  expect((await patch(browser, ada?.id ?? "", { disabled: true })).status).toBe(400);
});

test("with a second factor, the password alone does not sign in, and a code signs in once", async () => {
  const { bob, app, clock } = await withBob();
  const { secret } = await enroll(bob, () => clock.now);
  const next = new TestBrowser({ app });
  const refused = await next.signIn("Bob");
  expect([refused.status, refused.json.error.code]).toEqual([401, "second_factor_required"]);
  expect((await next.call("/session")).status).toBe(401);
  clock.now += 30_000;
  expect((await signInWithCode(next, "Bob", "000000")).json.error.param).toBe("code");
  const code = totpCode(secret, clock.now);
  expect((await signInWithCode(next, "Bob", code)).status).toBe(200);
  expect((await signInWithCode(new TestBrowser({ app }), "Bob", code)).status).toBe(401);
});

test("a recovery code signs in once, and new codes replace the old ones", async () => {
  const { bob, app, clock } = await withBob();
  const { codes } = await enroll(bob, () => clock.now);
  const [first = "", second = ""] = codes;
  const next = new TestBrowser({ app });
  expect((await signInWithCode(next, "Bob", first.toLowerCase())).status).toBe(200);
  expect((await signInWithCode(next, "Bob", first)).status).toBe(401);
  expect((await next.signIn("Bob")).status).toBe(401);
  const session = new TestBrowser({ app });
  await signInWithCode(session, "Bob", second);
  expect((await session.call("/account")).json.recovery_codes_left).toBe(8);
  const { json } = await post(session, "/account/recovery-codes", { password });
  expect(json.codes).toHaveLength(10);
  expect((await signInWithCode(next, "Bob", codes[2] ?? "")).status).toBe(401);
  expect((await signInWithCode(next, "Bob", json.codes[0])).status).toBe(200);
});

test("guessed codes are throttled like passwords, also between attempts without a code", async () => {
  const { bob, app, clock } = await withBob();
  await enroll(bob, () => clock.now);
  const attacker = new TestBrowser({ app });
  const statuses: number[] = [];
  for (let at = 0; at < 3; at++) {
    statuses.push((await attacker.signIn("Bob")).status);
    statuses.push((await signInWithCode(attacker, "Bob", "000000")).status);
  }
  expect(statuses).toEqual([401, 401, 401, 401, 401, 429]);
});

test("a link for a new password does not replace the second factor", async () => {
  const { browser, bob, bobId, app, clock } = await withBob();
  await enroll(bob, () => clock.now);
  const invite = await post(browser, `/users/${bobId}/invite`);
  const token = String(invite.json.url).split("#")[1];
  const guest = new TestBrowser({ app });
  await post(guest, "/session/invite/accept", { token, password: newPassword });
  const refused = await guest.signIn("Bob", newPassword);
  expect(refused.json.error.code).toBe("second_factor_required");
});

test("a user turns the second factor off with the password, and an administrator without it", async () => {
  const { browser, bob, bobId, clock } = await withBob();
  await enroll(bob, () => clock.now);
  expect((await post(bob, "/account/totp/disable", { password: "wrong" })).status).toBe(400);
  expect((await post(bob, "/account/totp/disable", { password })).status).toBe(204);
  expect((await bob.signIn("Bob")).status).toBe(200);
  await enroll(bob, () => clock.now);
  const { json } = await patch(browser, bobId, { two_factor: false });
  expect(json.two_factor).toBe(false);
  expect((await bob.signIn("Bob")).status).toBe(200);
});

test("a second factor is not turned on with a wrong code, an old secret or that of another user", async () => {
  const { browser, bob, clock } = await withBob();
  const { json } = await post(bob, "/account/totp", { password });
  const enable = (by: TestBrowser, body: object) =>
    by.call("/account/totp", { method: "PUT", body });
  const { enrollment, secret } = json;
  const code = () => totpCode(secret, clock.now);
  expect((await enable(bob, { enrollment, code: "000000" })).json.error.param).toBe("code");
  const foreign = await enable(browser, { enrollment, code: code() });
  expect(foreign.json.error.param).toBe("enrollment");
  clock.now += 16 * 60_000;
  expect((await enable(bob, { enrollment, code: code() })).json.error.param).toBe("enrollment");
  expect((await bob.call("/account")).json.user.two_factor).toBe(false);
});
