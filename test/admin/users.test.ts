/** Users and roles of the console. */
import { expect, test } from "bun:test";
import { Passwords } from "../../server/admin/sign-in/passwords.ts";
import { password, signedInFixture, TestBrowser } from "./admin-fixture.ts";

const create = (browser: TestBrowser, name: string, role: string) =>
  browser.call("/users", { method: "POST", body: { name, password, role } });

test("an administrator creates a user, who signs in with the role", async () => {
  const { app, browser } = await signedInFixture();
  const created = await create(browser, "Bob", "viewer");
  expect([created.status, created.json.role]).toEqual([201, "viewer"]);
  const bob = new TestBrowser({ app });
  const session = await bob.signIn("bob");
  expect(session.json.user.role).toBe("viewer");
});

test("a user sees no project unless existing projects are named or all projects are granted explicitly", async () => {
  const { browser } = await signedInFixture();
  const made = async (name: string, more: object) =>
    (
      await browser.call("/users", {
        method: "POST",
        body: { name, password, role: "viewer", ...more },
      })
    ).json;
  expect((await made("None", {})).projects).toEqual([]);
  const all = await made("All", { projects: "all" });
  expect(all.projects).toBe("all");
  expect((await made("Null", { projects: null })).error.param).toBe("projects");
  const limited = { method: "PATCH", body: { projects: ["web"] } };
  expect((await browser.call(`/users/${all.id}`, limited)).json.projects).toEqual(["web"]);
  const message = `Invalid 'projects': project "wbe" does not exist. Create it first, or leave it out.`;
  const refused = { param: "projects", message };
  expect((await made("Typo", { projects: ["web", "wbe"] })).error).toMatchObject(refused);
  const typo = { method: "PATCH", body: { projects: ["wbe"] } };
  expect((await browser.call(`/users/${all.id}`, typo)).json.error).toMatchObject(refused);
});

test("a user name that is taken is refused, and the error names it", async () => {
  const { browser } = await signedInFixture();
  const refused = await create(browser, "ada", "viewer");
  expect([refused.status, refused.json.error.param]).toEqual([400, "name"]);
});

test("the last administrator can neither be deleted nor lose the role", async () => {
  const { browser, users } = await signedInFixture();
  const ada = await users.findByName("Ada");
  const path = `/users/${ada?.id}`;
  expect((await browser.call(path, { method: "DELETE" })).status).toBe(400);
  const demoted = await browser.call(path, { method: "PATCH", body: { role: "viewer" } });
  expect(demoted.status).toBe(400);
  expect((await users.findByName("Ada"))?.role).toBe("admin");
});

test("of two administrators who lose their roles at the same time, one keeps it", async () => {
  const { browser, users } = await signedInFixture();
  const { json: bob } = await create(browser, "Bob", "admin");
  const ada = await users.findByName("Ada");
  const demote = (id: string | undefined) =>
    browser.call(`/users/${id}`, { method: "PATCH", body: { role: "viewer" } });
  const statuses = (await Promise.all([demote(ada?.id), demote(bob.id)])).map(
    ({ status }) => status,
  );
  expect(statuses).toContain(400);
  expect((await users.list()).filter(({ role }) => role === "admin")).toHaveLength(1);
});

test("a new password ends the other sessions of the user", async () => {
  const { app, browser } = await signedInFixture();
  const { json: bob } = await create(browser, "Bob", "viewer");
  const session = new TestBrowser({ app });
  await session.signIn("Bob");
  await browser.call(`/users/${bob.id}`, {
    method: "PATCH",
    body: { password: "another long password" },
  });
  expect((await session.call("/session")).status).toBe(401);
});

test("changes of users are in the audit log with the values before and after", async () => {
  const { browser, auditLog } = await signedInFixture();
  const { json: bob } = await create(browser, "Bob", "viewer");
  await browser.call(`/users/${bob.id}`, { method: "PATCH", body: { role: "developer" } });
  const { entries } = await auditLog.list({ action: "user.updated" }, { limit: 1 });
  expect(entries[0]).toMatchObject({
    actor: "Ada",
    subject: "Bob",
    before: { role: "viewer" },
    after: { role: "developer" },
  });
});

/** Calls `during` once, while a password is hashed or compared. */
class SlowPasswords extends Passwords {
  during: (() => Promise<unknown>) | undefined;

  constructor() {
    super({ memoryCost: 8, timeCost: 1 });
  }

  override async hash(text: string): Promise<string> {
    await this.#runOnce();
    return super.hash(text);
  }

  override async verify(text: string, hash: string | null | undefined): Promise<boolean> {
    await this.#runOnce();
    return super.verify(text, hash);
  }

  async #runOnce(): Promise<void> {
    const { during } = this;
    this.during = undefined;
    await during?.();
  }
}

test("a new password does not restore the role that another request changes at the same time", async () => {
  const passwords = new SlowPasswords();
  const { browser, users } = await signedInFixture(passwords);
  const { json: bob } = await create(browser, "Bob", "admin");
  const patch = (body: object) => browser.call(`/users/${bob.id}`, { method: "PATCH", body });
  passwords.during = () => patch({ role: "viewer", projects: ["web"] });
  const changed = await patch({ password: "another long password" });
  expect([changed.status, changed.json.role]).toEqual([200, "viewer"]);
  expect(await users.findById(bob.id)).toMatchObject({ role: "viewer", projects: ["web"] });
});

test("a sign-in with the old password gets no session if the password changes during the sign-in", async () => {
  const passwords = new SlowPasswords();
  const { app, browser } = await signedInFixture(passwords);
  const { json: bob } = await create(browser, "Bob", "viewer");
  const session = new TestBrowser({ app });
  passwords.during = () =>
    browser.call(`/users/${bob.id}`, {
      method: "PATCH",
      body: { password: "another long password" },
    });
  expect((await session.signIn("Bob")).status).toBe(401);
  expect((await session.call("/session")).status).toBe(401);
  passwords.during = () => browser.call(`/users/${bob.id}`, { method: "DELETE" });
  expect((await session.signIn("Bob", "another long password")).status).toBe(401);
});

test("a user who is removed, demoted or signed out while a body arrives does not complete the change", async () => {
  const { app, browser, users } = await signedInFixture();
  const ends = {
    removed: (id: string) => browser.call(`/users/${id}`, { method: "DELETE" }),
    demoted: (id: string) =>
      browser.call(`/users/${id}`, { method: "PATCH", body: { role: "viewer" } }),
    "signed out": (_: string, bob: TestBrowser) => bob.call("/session", { method: "DELETE" }),
  };
  for (const [how, end] of Object.entries(ends)) {
    const name = `Bob who is ${how}`;
    const { json } = await create(browser, name, "admin");
    const bob = new TestBrowser({ app });
    await bob.signIn(name);
    const { status } = await bob.call("/users", {
      method: "POST",
      body: async () => {
        expect((await end(json.id, bob)).status).toBeLessThan(300);
        return { name: "Ghost", password, role: "admin" };
      },
    });
    expect([how, status]).toEqual([how, 401]);
    expect(await users.findByName("Ghost")).toBeUndefined();
  }
});
