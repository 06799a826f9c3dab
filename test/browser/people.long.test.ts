/** People: an invitation, the second factor, own tokens, a disabled user, and alert rules, as users do it. */
import { expect } from "bun:test";
import { join } from "node:path";
import type { AlertEntity, AlertValues, ApiKey, Page, User } from "../../contract/admin.ts";
import { createAlertStore } from "../../server/storage/sql/alert-store.ts";
import { createEventStore } from "../../server/storage/sql/event-store.ts";
import { openEventFile } from "../../server/storage/sqlite/event-database.ts";
import { SqliteDatabase } from "../../server/storage/sqlite/sqlite-database.ts";
import { totpCode } from "../admin/totp-code.ts";
import { until } from "../until.ts";
import { seriousFindings } from "./axe.ts";
import { browserTest, choose, chooseAction, settled, signIn } from "./browser-test.ts";
import { adminPassword } from "./console-gateway.ts";

const password = "a password of the user";
/** After a sign-in or a change, the console loads a page. */
const signedOut = /^401 /;

const alertEvent = (id: string, type: string, data: Readonly<Record<string, unknown>>) => ({
  id,
  type,
  at: Date.now(),
  data,
});

browserTest(
  "a user accepts an invitation, sets up a second factor, and signs in with it until an administrator disables the user",
  async ({ page, open, context, url, admin, problems }) => {
    problems.expectFailure(signedOut);
    await open("/users");
    await page.getByRole("button", { name: "Invite user" }).first().click();
    const form = page.getByRole("dialog");
    await form.getByLabel("Username").fill("ines@example.com");
    await form.getByRole("button", { name: "Invite user" }).click();
    const link = page.getByRole("dialog").locator("code");
    await link.waitFor();
    const address = await link.innerText();
    expect(address).toStartWith(`${url}/console/invite#`);

    const browser = context.browser();
    const guest = await browser?.newContext({ baseURL: url });
    if (!guest) throw new Error("the browser has closed");
    const theirs = await guest.newPage();
    theirs.setDefaultTimeout(90_000);
    await theirs.goto(address);
    await theirs.getByText("Welcome, ines@example.com").waitFor();
    await theirs.getByLabel("Password", { exact: true }).fill(password);
    await theirs.getByRole("button", { name: "Set password and sign in" }).click();
    await theirs.getByRole("button", { name: "Sign out" }).waitFor();

    await theirs.goto("/console/account");
    await settled(theirs);
    await theirs.getByRole("button", { name: "Set up" }).click();
    await theirs.getByLabel("Confirm your password").fill(password);
    await theirs.getByRole("button", { name: "Continue" }).click();
    await theirs.getByAltText("QR code for the authenticator app").waitFor();
    const secret = await theirs.getByRole("dialog").locator("code").innerText();
    await theirs.getByLabel("Code from the app").fill(totpCode(secret, Date.now()));
    await theirs.getByRole("button", { name: "Turn on" }).click();
    await theirs.getByText("Your recovery codes").waitFor();
    const recoveryCode = await theirs.getByRole("dialog").getByRole("listitem").first().innerText();
    await theirs.getByRole("button", { name: "I saved them" }).click();
    await theirs.getByText("10 recovery codes left.").waitFor();

    await theirs.getByRole("button", { name: "Sign out" }).click();
    await theirs.getByLabel("Username").fill("ines@example.com");
    await theirs.getByLabel("Password", { exact: true }).fill(password);
    await theirs.getByRole("button", { name: "Sign in" }).click();
    await theirs.getByLabel("Code").fill(recoveryCode);
    await theirs.getByRole("button", { name: "Sign in" }).click();
    await theirs.getByRole("button", { name: "Sign out" }).waitFor();

    await page.getByRole("button", { name: "Close" }).last().click();
    await page.getByRole("button", { name: "Actions for ines@example.com" }).click();
    await page.getByRole("menuitem", { name: "Disable" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Disable" }).click();
    await page.getByText("Disabled").waitFor();
    await theirs.goto("/console/account");
    await theirs.getByText("Sign in to Vexel").waitFor();
    await guest.close();
    await admin("GET", "/users");
  },
);

browserTest(
  "the audit log says what changed in a sentence, finds it by kind and name, and exports the same entries",
  async ({ page, open, admin }) => {
    await admin("POST", "/projects", { name: "audited", budget: { month: 20 } });
    await admin("PUT", "/projects/audited", { budget: { month: 50 } });
    await open("/audit");
    await choose(page.getByLabel("Changes of"), "Projects");
    await page.getByLabel("Subject").fill("audited");
    await page.getByText("changed the monthly budget of audited from $20 to $50").waitFor();
    await page.getByText("created the project audited").waitFor();
    expect(await page.getByRole("row").count()).toBe(3);
    const link = page.getByRole("link", { name: "audited", exact: true }).first();
    expect(await link.getAttribute("href")).toBe("/console/projects/audited");
    const href = await page.getByRole("link", { name: "Export CSV" }).getAttribute("href");
    const csv = await page.evaluate<string>(
      `fetch(${JSON.stringify(href)}).then((response) => response.text())`,
    );
    const [head, ...lines] = csv.trim().split("\r\n");
    expect(head).toBe("at,actor,action,subject,before,after,address");
    expect(lines.map((line) => line.split(",").slice(1, 4).join(" "))).toEqual([
      "admin token project.updated audited",
      "admin token project.created audited",
    ]);
    expect(await seriousFindings(page)).toEqual([]);
    await admin("DELETE", "/projects/audited");
  },
);

browserTest(
  "disabling a user lists the keys that the user created, and moves them to another user",
  async ({ page, open, admin, url }) => {
    const role = { role: "developer", projects: "all", password };
    const { id } = await admin<User>("POST", "/users", { name: "leaver", ...role });
    await admin("POST", "/users", { name: "heir", ...role });
    const session = await fetch(`${url}/admin/api/session`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ name: "leaver", password }),
    });
    const { csrf_token } = (await session.json()) as { csrf_token: string };
    const created = await fetch(`${url}/admin/api/keys`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        cookie: session.headers.get("set-cookie")?.split(";")[0] ?? "",
        "x-csrf-token": csrf_token,
      },
      body: JSON.stringify({ name: "left behind" }),
    });
    expect(created.status).toBe(201);
    await open("/users");
    await page.getByRole("button", { name: "Actions for leaver" }).click();
    await page.getByRole("menuitem", { name: "Disable" }).click();
    const dialog = page.getByRole("dialog");
    const keys = dialog.getByRole("region", { name: /API keys/ });
    await keys.getByText("left behind").waitFor();
    await choose(keys.getByLabel("Move all to"), "heir");
    await keys.getByRole("button", { name: "Move keys" }).click();
    await keys.waitFor({ state: "detached" });
    await dialog.getByRole("button", { name: "Disable" }).click();
    await dialog.waitFor({ state: "detached" });
    expect((await admin<Page<ApiKey>>("GET", `/keys?created_by=${id}`)).data).toEqual([]);
    await open("/keys");
    await page.getByText(/^heir · /).waitFor();
    await choose(page.getByLabel("Keys to review"), "Unused for 90 days");
    await page.getByText(/^heir · /).waitFor({ state: "detached" });
    for (const { id: each } of (await admin<Page<User>>("GET", "/users")).data.filter(({ name }) =>
      ["leaver", "heir"].includes(name),
    ))
      await admin("DELETE", `/users/${each}`);
  },
);

browserTest("a user creates a token that opens the admin API, and revokes it", async (test) => {
  const { page, open, url, problems } = test;
  problems.expectFailure(/^400 POST \S*\/account\/tokens$/);
  await open("/account");
  await page.getByRole("button", { name: "Create token" }).click();
  const form = page.getByRole("dialog");
  await form.getByLabel("Name").fill("deploy");
  // Without the password there is no token.
  await form.getByRole("button", { name: "Create token" }).click();
  await form.getByRole("alert").waitFor();
  await form.getByLabel("Confirm your password").fill(adminPassword);
  await form.getByRole("button", { name: "Create token" }).click();
  const text = page.getByRole("dialog").locator("code");
  await text.waitFor();
  const headers = { authorization: `Bearer ${await text.innerText()}` };
  const statusOf = async () => (await fetch(`${url}/admin/api/users`, { headers })).status;
  expect(await statusOf()).toBe(200);
  // Escape does not close what is shown once.
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();
  await page.getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByText("No access tokens yet").waitFor();
  expect(await statusOf()).toBe(401);
});

browserTest("an alert rule and a Slack receiver are created, changed and deleted", async (test) => {
  const { page, open, admin } = test;
  await open("/alerts");
  await page.getByRole("button", { name: "Add alert" }).first().click();
  const form = page.getByRole("dialog");
  await form.getByLabel("Name").fill("too many errors");
  await form.getByLabel("Threshold (%)").fill("lots");
  await form.getByRole("button", { name: "Save" }).click();
  await form.getByRole("alert").waitFor();
  await form.getByLabel("Threshold (%)").fill("5");

  // Escape asks before it discards the form, and keeps it.
  await page.keyboard.press("Escape");
  await page.getByText("Discard your changes?").waitFor();
  await page.getByRole("button", { name: "Keep editing" }).click();
  expect(await form.getByLabel("Name").inputValue()).toBe("too many errors");
  await form.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved", { exact: true }).first().waitFor();
  await page.getByText("Error rate > 5% in 15 minutes").waitFor();

  await page.getByRole("button", { name: "Add receiver" }).click();
  await page.getByLabel("Incoming webhook URL").fill("https://hooks.slack.com/services/T0/B0/x");
  await page.getByRole("dialog").getByLabel("Name").fill("ops");
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await page.getByText("https://hooks.slack.com/services/T0/B0/x").waitFor();
  const { data } = (await admin("GET", "/webhooks")) as {
    data: { name: string; format: string }[];
  };
  expect(data.find(({ name }) => name === "ops")?.format).toBe("slack");

  const row = page.getByRole("row", { name: /^too many errors/ });
  await chooseAction(row, "Edit");
  await form.getByRole("combobox", { name: "Receivers" }).click();
  await page.getByRole("option", { name: "ops" }).click();
  await page.keyboard.press("Escape");
  await form.getByRole("button", { name: "Save" }).click();
  await row.getByText("To ops").waitFor();
  const { value } = await admin<AlertEntity>("GET", "/alerts/too%20many%20errors");
  expect(value.receivers).toEqual(["ops"]);

  await chooseAction(row, "Delete");
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("No alerts yet").waitFor();
  await admin("DELETE", "/webhooks/ops");
});

browserTest(
  "a rule shows the value that the gateway measured, its threshold, and its course",
  async ({ page, open, admin, gateway }) => {
    await admin("POST", "/alerts", { name: "measured", metric: "spend", above: 12.5 });
    await open("/alerts");
    const row = page.getByRole("row", { name: /^measured/ });
    await row.getByText("– / $12.50").waitFor();
    const measured = () => admin<AlertEntity>("GET", "/alerts/measured");
    await until(async () => (await measured()).current_value !== null);
    // A chart needs two values, which the gateway has measured after two minutes.
    const db = new SqliteDatabase(openEventFile(join(gateway.folder, "data")));
    const alerts = createAlertStore(db);
    const [stored] = (await alerts.list()).filter(({ name }) => name === "measured");
    const { of = "", points = [] } = stored?.values ?? {};
    const [[at] = [0]] = points;
    if (stored)
      await alerts.put({
        ...stored,
        values: {
          of,
          points: [at - 60_000, at].map((time, index) => [time, [10, 25][index] ?? 0]),
        },
      });
    await db.close();
    expect((await measured()).current_value).toBe(25);
    const { data } = await admin<AlertValues>("GET", "/alerts/measured/values");
    expect(data.map(({ value }) => value)).toEqual([10, 25]);
    await open("/alerts");
    await row.getByText("$25 / $12.50").waitFor();
    await row.locator("svg path").nth(1).waitFor({ state: "attached" });
    expect(await seriousFindings(page)).toEqual([]);
    await admin("DELETE", "/alerts/measured");
  },
);

browserTest(
  "a rule is silenced with a reason, which the page and the audit log show, until it is ended",
  async ({ page, open, visit, admin }) => {
    await admin("POST", "/alerts", { name: "noisy", metric: "error_rate", above: 5 });
    await open("/alerts");
    const row = page.getByRole("row", { name: /^noisy/ });
    await chooseAction(row, "Silence");
    const form = page.getByRole("dialog", { name: "Silence alert noisy" });
    await choose(form.getByLabel("For"), "8 hours");
    await form.getByRole("button", { name: "Silence" }).click();
    await form.getByRole("alert").waitFor();
    await form.getByLabel("Reason").fill("a planned migration");
    expect(await seriousFindings(page)).toEqual([]);
    await form.getByRole("button", { name: "Silence" }).click();
    await form.waitFor({ state: "hidden" });
    await row.getByText(/^Silenced until /).waitFor();
    await row.getByText(/: a planned migration$/).waitFor();
    const { silence } = await admin<AlertEntity>("GET", "/alerts/noisy");
    expect(Date.parse(silence?.until ?? "") - Date.now()).toBeGreaterThan(7.9 * 3_600_000);

    await chooseAction(row, "End silence");
    await row.getByText(/^Silenced until /).waitFor({ state: "detached" });
    await visit("/audit");
    await page.getByText(/silenced the alert noisy until .* UTC: a planned migration/).waitFor();
    await page.getByText("ended the silence of the alert noisy").waitFor();
    await admin("DELETE", "/alerts/noisy");
  },
);

browserTest("the history of alerts has each change with its value and deliveries", async (test) => {
  const { page, open, visit, gateway } = test;
  const db = new SqliteDatabase(openEventFile(join(gateway.folder, "data")));
  const data = {
    name: "errors of search",
    metric: "error_rate",
    above: 5,
    minutes: 15,
    model: "search",
    project: null,
    upstream: null,
    since: "2026-01-01T00:00:00.000Z",
  };
  await createEventStore(db).recordAll([
    { event: alertEvent("evt_1", "alert.firing", { ...data, value: 12.5 }), webhooks: ["wh_gone"] },
    { event: alertEvent("evt_2", "alert.resolved", { ...data, value: 1 }), webhooks: [] },
  ]);
  await db.close();
  await open("/events");
  const event = page.getByRole("row", { name: /Alert resolved/ }).first();
  expect(await event.getByText("Alert resolved").getAttribute("title")).toBe("alert.resolved");
  const model = event.getByRole("link", { name: "search", exact: true });
  expect(await model.getAttribute("href")).toBe("/console/model/search");
  const alert = event.getByRole("link", { name: "errors of search", exact: true });
  expect(await alert.getAttribute("href")).toBe("/console/alerts");
  expect(await seriousFindings(page)).toEqual([]);
  await visit("/alerts");
  const rows = page.getByRole("region", { name: "History" }).getByRole("row");
  await rows.filter({ hasText: "12.5% / 5%" }).getByText("Firing").waitFor();
  await rows.filter({ hasText: "12.5% / 5%" }).getByText("Pending").waitFor();
  await rows.filter({ hasText: "1% / 5%" }).getByText("Resolved").waitFor();
});

browserTest(
  "a session that ends while the user must choose a new password asks for a sign-in, and goes on",
  async ({ page, admin, problems }) => {
    problems.expectFailure(signedOut);
    const name = "must-change";
    const user = { name, role: "viewer", projects: "all", password, must_change_password: true };
    const { id } = await admin<User>("POST", "/users", user);
    await page.goto("/console/new-password");
    await signIn(page, name, password);
    await page.getByText("Choose a new password").waitFor();
    // A change of the user ends the session.
    await admin("PATCH", `/users/${id}`, { name });
    const next = "another password of the user";
    await page.getByLabel("Current password").fill(password);
    await page.getByLabel("New password", { exact: true }).fill(next);
    await page.getByRole("button", { name: "Change password" }).click();
    const dialog = page.getByRole("dialog", { name: "Your session has ended" });
    await dialog.getByLabel("Password").fill(password);
    await dialog.getByRole("button", { name: "Sign in", exact: true }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Change password" }).click();
    await page.getByRole("button", { name: "Sign out" }).waitFor();
    await admin("DELETE", `/users/${id}`);
  },
  { as: "visitor" },
);

browserTest("a delete of an upstream that a model uses lists the model", async (test) => {
  const { page, open, admin, problems } = test;
  problems.expectFailure(/^409 DELETE .*\/upstreams\//);
  await admin("POST", "/upstreams", { id: "used-up", kind: "openai", apiKey: "sk-x" });
  const targets = [{ upstream: "used-up", model: "text-embedding-3-small" }];
  await admin("POST", "/models", { id: "uses-it", kind: "embedding", targets });
  await open("/upstreams");
  const row = page.getByRole("row").filter({ hasText: "used-up" });
  await chooseAction(row, "Delete");
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Delete" }).click();
  await dialog.getByRole("link", { name: "uses-it" }).waitFor();
  await admin("DELETE", "/models/uses-it");
  await admin("DELETE", "/upstreams/used-up");
});

browserTest(
  "a delete of a model that a key and an alert rule name lists both, and can go on",
  async ({ page, open, admin, problems }) => {
    problems.expectFailure(/^409 DELETE .*\/models\//);
    await admin("POST", "/upstreams", { id: "of-named", kind: "openai", apiKey: "sk-x" });
    const targets = [{ upstream: "of-named", model: "text-embedding-3-small" }];
    await admin("POST", "/models", { id: "named", kind: "embedding", targets });
    const key = await admin<ApiKey>("POST", "/keys", { name: "names it", models: ["named"] });
    const rule = { metric: "spend", above: 5, model: "named" };
    await admin("POST", "/alerts", { name: "spend of named", ...rule });
    await open("/model/named");
    await page.getByRole("button", { name: "Delete" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await dialog.getByRole("link", { name: "names it" }).waitFor();
    await dialog.getByRole("link", { name: "spend of named" }).waitFor();
    await dialog.getByRole("button", { name: "Delete anyway" }).click();
    await page.waitForURL(/\/models$/);
    await admin("DELETE", `/keys/${key.id}`);
    await admin("DELETE", "/alerts/spend%20of%20named");
    await admin("DELETE", "/upstreams/of-named");
  },
);

browserTest("settings are found by words, and the source of each value is shown", async (test) => {
  const { page, open } = test;
  await open("/settings");
  await page.getByLabel("Search settings").fill("address listen");
  const shown = page.getByRole("listitem").filter({ hasText: "HOST" }).first();
  await shown.getByText("default").waitFor();
  expect(await page.getByText("VEXEL_TLS_CERT").count()).toBe(0);
  await page.getByLabel("Search settings").fill("");
  await page.getByLabel("Changed only").check();
  await page.getByText("VEXEL_DATA", { exact: true }).waitFor();
  expect(await page.getByText("VEXEL_TLS_CERT").count()).toBe(0);
});

browserTest(
  "a page without requests of its own says that the gateway does not respond",
  async (test) => {
    const { page, context, open, problems } = test;
    problems.expectFailure(/.*/);
    await open("/users");
    // The machine is online, and the gateway is not: the browser has no event for it.
    await context.route("**/healthz", (route) => route.abort("connectionrefused"));
    await page.getByText("No connection to the gateway").waitFor();
    await context.unroute("**/healthz");
    await page.getByText("No connection to the gateway").waitFor({ state: "detached" });
  },
);
