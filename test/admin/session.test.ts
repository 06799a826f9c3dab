/** Sign-in to the console, its sessions, and their protection. */
import { expect, spyOn, test } from "bun:test";
import { createAdminFixture, password, signedInFixture, TestBrowser } from "./admin-fixture.ts";

const hourMs = 60 * 60_000;

test("the one-time link creates the first administrator, once", async () => {
  const fixture = createAdminFixture();
  const browser = new TestBrowser(fixture);
  const options = await browser.call("/session/options");
  expect(options.json).toEqual({ object: "sign_in_options", needs_setup: true, oidc: null });
  const body = { name: "Ada", password, token: fixture.setupToken.value };
  const created = await browser.call("/session/setup", { method: "POST", body });
  expect([created.status, created.json.user.role]).toEqual([200, "admin"]);
  const again = await browser.call("/session/setup", {
    method: "POST",
    body: { ...body, name: "Mallory" },
  });
  expect([again.status, again.json.error.code]).toEqual([401, "invalid_credentials"]);
  expect((await fixture.users.list()).map(({ name }) => name)).toEqual(["Ada"]);
});

test("a wrong one-time link creates no user", async () => {
  const fixture = createAdminFixture();
  const body = { name: "Ada", password, token: "guess" };
  const refused = await new TestBrowser(fixture).call("/session/setup", { method: "POST", body });
  expect(refused.status).toBe(401);
  expect(await fixture.users.isEmpty()).toBe(true);
});

test("a short password is refused with the reason", async () => {
  const fixture = createAdminFixture();
  const body = { name: "Ada", password: "short", token: fixture.setupToken.value };
  const refused = await new TestBrowser(fixture).call("/session/setup", { method: "POST", body });
  expect([refused.status, refused.json.error.param]).toEqual([400, "password"]);
});

test("the session cookie cannot be read by scripts or sent by other sites", async () => {
  const fixture = createAdminFixture();
  const response = await new TestBrowser(fixture).call("/session/setup", {
    method: "POST",
    body: { name: "Ada", password, token: fixture.setupToken.value },
  });
  const cookie = response.headers.get("set-cookie") ?? "";
  expect(cookie).toContain("HttpOnly");
  expect(cookie).toContain("SameSite=Strict");
  expect(cookie).toContain("Path=/admin/api");
});

test("a sign-in replaces a session token that was set before it (session fixation)", async () => {
  const { app } = await signedInFixture();
  const browser = new TestBrowser({ app });
  browser.cookie = "vexel_session=planted";
  await browser.signIn("Ada");
  expect(browser.cookie).not.toContain("planted");
  const planted = new TestBrowser({ app });
  planted.cookie = "vexel_session=planted";
  expect((await planted.call("/session")).status).toBe(401);
});

test("an idle session ends after twelve hours, and one in use after seven days", async () => {
  const { browser, clock } = await signedInFixture();
  for (let day = 0; day < 6; day++) {
    for (let hours = 0; hours < 24; hours += 6) {
      clock.now += 6 * hourMs;
      expect((await browser.call("/session")).status).toBe(200);
    }
  }
  clock.now += 24 * hourMs + 1;
  expect((await browser.call("/session")).status).toBe(401);
  const { browser: idle, clock: idleClock } = await signedInFixture();
  idleClock.now += 12 * hourMs + 1;
  expect((await idle.call("/session")).status).toBe(401);
});

test("the token is rotated every hour, and the old one ends after half a minute", async () => {
  const { app, browser, clock } = await signedInFixture();
  const old = new TestBrowser({ app });
  old.cookie = browser.cookie;
  clock.now += hourMs;
  await browser.call("/session");
  expect(browser.cookie).not.toBe(old.cookie);
  clock.now += 20_000;
  const kept = old.cookie;
  expect((await old.call("/session")).status).toBe(200);
  expect(old.cookie).toBe(kept);
  clock.now += 11_000;
  expect((await old.call("/session")).status).toBe(401);
  expect((await browser.call("/session")).status).toBe(200);
});

test("password guesses are throttled, even if one of them is right", async () => {
  const { app, clock } = await signedInFixture();
  const browser = new TestBrowser({ app });
  for (let attempt = 0; attempt < 5; attempt++) {
    expect((await browser.signIn("Ada", "wrong guess here")).status).toBe(401);
  }
  const refused = await browser.signIn("Ada");
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
  clock.now += 1_001;
  expect((await browser.signIn("Ada")).status).toBe(200);
});

test("sign-ins and refused sign-ins are in the audit log", async () => {
  const { app, auditLog } = await signedInFixture();
  await new TestBrowser({ app }).signIn("Ada", "wrong guess here");
  const { entries } = await auditLog.list({}, { limit: 10 });
  expect(entries.map(({ action, actor, address }) => [action, actor, address])).toEqual([
    ["session.refused", "Ada", "127.0.0.1"],
    ["session.created", "Ada", "127.0.0.1"],
    ["user.created", "Ada", "127.0.0.1"],
  ]);
});

test("guesses by others do not lock a user out of a browser in which the user has signed in before", async () => {
  const { app, browser } = await signedInFixture();
  const stranger = new TestBrowser({ app });
  // The same address, as behind a proxy, and the same name.
  for (let attempt = 0; attempt < 5; attempt++) await stranger.signIn("Ada", "wrong guess here");
  expect((await stranger.signIn("Ada")).status).toBe(429);
  expect((await browser.signIn("Ada")).status).toBe(200);
  // The cookie grants no access by itself, and its own failures are counted.
  for (let attempt = 0; attempt < 5; attempt++) {
    expect((await browser.signIn("Ada", "wrong guess here")).status).toBe(401);
  }
  expect((await browser.signIn("Ada")).status).toBe(429);
});

test("a device cookie of another user or of an old password does not avoid the throttle", async () => {
  const { app, browser, users } = await signedInFixture();
  await browser.call("/users", { method: "POST", body: { name: "Bob", password, role: "viewer" } });
  const bob = new TestBrowser({ app });
  await bob.signIn("Bob");
  for (let attempt = 0; attempt < 5; attempt++) await bob.signIn("Ada", "wrong guess here");
  expect((await bob.signIn("Ada")).status).toBe(429);
  expect((await bob.signIn("Bob")).status).toBe(200);
  const { id } = (await users.findByName("Bob")) ?? { id: "" };
  await browser.call(`/users/${id}`, { method: "PATCH", body: { password: `${password} 2` } });
  for (let attempt = 0; attempt < 5; attempt++) {
    await new TestBrowser({ app }).signIn("Bob", "wrong guess here");
  }
  expect((await bob.signIn("Bob", `${password} 2`)).status).toBe(429);
});

test("one address that tries many names is throttled, also across an IPv6 network", async () => {
  const { app } = await signedInFixture();
  const attempt = (count: number) =>
    new TestBrowser({ app }).call("/session", {
      method: "POST",
      body: { name: `name ${count}`, password: "wrong guess here" },
      address: `2001:db8:1:2::${count}`,
    });
  // 240 at once, and 20 that wait in line.
  for (let count = 1; count <= 260; count++) expect((await attempt(count)).status).toBe(401);
  expect((await attempt(261)).status).toBe(429);
});

test("guesses for other names do not lock out a user behind the same proxy for longer than a second", async () => {
  const { app, clock } = await signedInFixture();
  // With the attempt of the one-time link, 260.
  for (let count = 1; count < 260; count++) {
    const { status } = await new TestBrowser({ app }).signIn(`name ${count}`, "wrong guess here");
    expect(status).toBe(401);
  }
  const refused = await new TestBrowser({ app }).signIn("Ada");
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
  clock.now += 1000;
  expect((await new TestBrowser({ app }).signIn("Ada")).status).toBe(200);
});

test("wrong admin tokens are throttled, and the audit log has their count", async () => {
  const { app, auditLog } = createAdminFixture();
  const users = (token: string, address?: string) =>
    new TestBrowser({ app }).call("/users", {
      headers: { authorization: `Bearer ${token}` },
      ...(address !== undefined && { address }),
    });
  for (let count = 1; count <= 100; count++) {
    expect((await users(`guess-${count}`)).status).toBe(401);
  }
  const refused = await users("guess-101");
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
  expect((await users("guess", "192.0.2.7")).status).toBe(401);
  const { entries } = await auditLog.list({}, { limit: 200 });
  const entry = (attempts: number, address: string) =>
    expect.objectContaining({
      actor: "admin token",
      action: "admin_token.refused",
      after: { attempts },
      address,
    });
  expect(entries).toEqual([
    entry(1, "192.0.2.7"),
    entry(100, "127.0.0.1"),
    entry(10, "127.0.0.1"),
    entry(1, "127.0.0.1"),
  ]);
});

test("the right admin token passes during an attack with wrong ones from the same address", async () => {
  const { app } = createAdminFixture();
  const users = (token: string) =>
    new TestBrowser({ app }).call("/users", { headers: { authorization: `Bearer ${token}` } });
  for (let count = 1; count <= 110; count++) {
    const { status } = await users("guess");
    expect(status).toBe(count <= 100 ? 401 : 429);
    expect((await users("admin-token")).status).toBe(200);
  }
});

test("concurrent guesses are counted before their passwords are compared", async () => {
  const { app } = await signedInFixture();
  const attempts = Array.from({ length: 12 }, () =>
    new TestBrowser({ app }).signIn("Ada", "wrong guess here"),
  );
  const statuses = (await Promise.all(attempts)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 401)).toHaveLength(5);
  expect(statuses.filter((status) => status === 429)).toHaveLength(7);
});

test("sign-out ends every session of the user, and the token that was rotated before", async () => {
  const { app, browser, clock } = await signedInFixture();
  const other = new TestBrowser({ app });
  await other.signIn("Ada");
  const rotated = new TestBrowser({ app });
  rotated.cookie = browser.cookie;
  clock.now += hourMs;
  await browser.call("/session");
  expect((await rotated.call("/session")).status).toBe(200);
  expect((await browser.call("/session", { method: "DELETE" })).status).toBe(200);
  for (const each of [browser, rotated, other]) {
    expect((await each.call("/session")).status).toBe(401);
  }
});

test("a request that fails while the token is due for rotation does not end the session", async () => {
  const { browser, clock } = await signedInFixture();
  clock.now += hourMs;
  expect((await browser.call("/users/unknown", { method: "DELETE" })).status).toBe(404);
  clock.now += 60_000;
  expect((await browser.call("/session")).status).toBe(200);
});

test("a sign-in with an unknown name does the same work as one with a known name", async () => {
  const { app } = await signedInFixture();
  const verified: string[] = [];
  const verify = Bun.password.verify;
  const spy = spyOn(Bun.password, "verify").mockImplementation((password, hash, ...rest) => {
    verified.push(String(hash).split("$").slice(0, 4).join("$"));
    return verify(password, hash, ...rest);
  });
  try {
    await new TestBrowser({ app }).signIn("Ada", "wrong guess here");
    await new TestBrowser({ app }).signIn("Nobody", "wrong guess here");
  } finally {
    spy.mockRestore();
  }
  // One comparison each, with the same cost.
  expect(verified).toHaveLength(2);
  expect(verified[0]).toBe(verified[1] ?? "");
});
