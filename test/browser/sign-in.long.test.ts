/** Passwords that must be changed, sessions that end, links to other sites, lost connections and OpenID Connect in a browser. */
import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { clientId, clientSecret, type Issuer, startIssuer } from "../admin/oidc-issuer.ts";
import { until } from "../until.ts";
import { browserTest, settled, signIn } from "./browser-test.ts";
import { adminPassword, startConsoleGateway } from "./console-gateway.ts";

/** Signs in over the page whose session has ended. */
async function signInAgain(page: Page, name: string): Promise<void> {
  const heading = page.getByRole("heading", { name: "Your session has ended" });
  await heading.waitFor();
  await signIn(page, name, adminPassword);
  await heading.waitFor({ state: "detached" });
}

browserTest(
  "a session that ends leaves the page and what was typed, and goes on after a sign-in over it",
  async ({ page, context, visit, admin, problems }) => {
    for (const name of ["sven", "tara"])
      await admin("POST", "/users", { name, role: "developer", password: adminPassword });
    await page.goto("/console/models");
    await signIn(page, "sven", adminPassword);
    await page.getByRole("heading", { name: "Models" }).waitFor();
    await context.clearCookies();
    problems.expectFailure(/^401 GET /);
    await page.getByRole("link", { name: "API keys" }).click();
    await signInAgain(page, "sven");
    await page.getByRole("heading", { name: "API keys" }).waitFor();
    await settled(page);

    // A change is refused, and sent again by the user.
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("kept");
    await context.clearCookies();
    problems.expectFailure(/^401 POST \S*\/keys$/);
    await page.getByRole("dialog").getByRole("button", { name: "Create" }).click();
    expect(await page.getByLabel("Username").inputValue()).toBe("sven");
    await signInAgain(page, "sven");
    expect(await page.getByRole("dialog").getByLabel("Name").inputValue()).toBe("kept");
    await page
      .getByRole("dialog")
      .getByRole("button", { name: "Cancel" })
      .or(page.getByRole("dialog").getByRole("button", { name: "Close" }))
      .first()
      .click();
    await page.getByRole("button", { name: "Discard" }).click();

    // The stream of the live tail connects again when the server ends it.
    await visit("/requests");
    await page.getByRole("button", { name: "Watch live" }).click();
    await page.getByText("Waiting for requests").waitFor();
    await page.getByRole("button", { name: "Add filter" }).click();
    await page.getByRole("combobox", { name: "Status" }).click();
    // The filters request their options, so the session ends when they are shown.
    await settled(page);
    await context.clearCookies();
    await page.getByRole("option", { name: "5xx" }).click();
    await signInAgain(page, "sven");
    await page.getByRole("heading", { name: "Requests" }).waitFor();

    // Another user gets nothing of the page.
    await visit("/keys");
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("of sven");
    await context.clearCookies();
    await page.getByRole("dialog").getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { name: "Your session has ended" }).waitFor();
    await signIn(page, "tara", adminPassword);
    await page.getByRole("heading", { name: "Overview", exact: true }).waitFor();
    await page.getByRole("link", { name: "tara" }).waitFor();
    expect(await page.getByRole("dialog").count()).toBe(0);
  },
  { as: "visitor" },
);

browserTest(
  "a link to the sign-in page leads to no other site",
  async ({ page, context, url, admin, problems }) => {
    await admin("POST", "/users", { name: "nora", role: "viewer", password: adminPassword });
    const requested: string[] = [];
    await context.route(
      ({ hostname }) => hostname === "evil.example",
      (route) => {
        requested.push(route.request().url());
        return route.abort();
      },
    );
    problems.expectFailure(/^401 GET /);
    const links = [
      // test/console/sign-in-search.test.ts has all forms.
      ...["https://evil.example", "/\t/evil.example"].map(
        (next) => `next=${encodeURIComponent(next)}`,
      ),
      "next=/keys&next=https://evil.example",
    ];
    for (const link of links) {
      await page.goto(`/console/sign-in?${link}`);
      await signIn(page, "nora", adminPassword);
      // The link that names the sign-in page shows it again, without its own `next`.
      if (link.includes("sign-in")) {
        await page.waitForURL(`${url}/console/sign-in`);
        await signIn(page, "nora", adminPassword);
      }
      await page.getByRole("button", { name: "Sign out" }).waitFor();
      expect(page.url()).toStartWith(`${url}/console`);
      await context.clearCookies();
    }
    expect(requested).toEqual([]);
  },
  { as: "visitor" },
);

browserTest(
  "the overview says that the connection is lost, and goes on by itself when it is back",
  async ({ page, open, problems }) => {
    problems.expectFailure(/^failed GET \S*\/overview/);
    await page.clock.install();
    await open("/");
    const banner = page.getByText(/Connection lost. Showing data from/);
    const nextRefresh = (isShown: boolean) =>
      until(async () => {
        await page.clock.runFor(1_000);
        return (await banner.isVisible()) === isShown;
      });
    await page.route("**/admin/api/overview*", (route) => route.abort());
    await nextRefresh(true);
    await page.getByText("Needs attention").waitFor();
    await page.unroute("**/admin/api/overview*");
    await nextRefresh(false);
  },
  // The clock stays in its tab.
  { context: {} },
);

let issuer: Issuer;

browserTest(
  "a user signs in at the issuer (OpenID Connect) and has the role of the groups in the console",
  async ({ page, context, url, problems }) => {
    // The login page of the issuer has a font of another host.
    problems.expectFailure(/fonts\.googleapis\.com/);
    try {
      await issuer.register(url);
      await issuer.setAccount("dora", {
        email: "dora@example.com",
        email_verified: true,
        groups: ["platform"],
      });
      await page.goto("/console/models");
      await page.getByRole("link", { name: "Example Inc." }).click();
      await page.locator('input[name="login"]').fill("dora");
      await page.locator('input[name="password"]').fill("any");
      await page.getByRole("button", { name: /sign.?in/i }).click();
      await page.getByRole("button", { name: /continue/i }).click();
      await page.waitForURL(`${url}/console/**`);
      await page.getByRole("button", { name: "Sign out" }).waitFor();
      await page.getByText("dora@example.com").first().waitFor();
      // The groups give the role of an administrator.
      await page.getByRole("link", { name: "Users" }).waitFor();

      // A session that ends: the user signs in at the issuer in another window, and goes on.
      await page.getByRole("link", { name: "API keys" }).click();
      await page.getByRole("button", { name: "Create key" }).click();
      await page.getByRole("dialog").getByLabel("Name").fill("kept");
      problems.expectFailure(/^401 /);
      await context.clearCookies();
      await page.getByRole("dialog").getByRole("button", { name: "Create" }).click();
      const [popup] = await Promise.all([
        context.waitForEvent("page"),
        page.getByRole("button", { name: "Example Inc." }).click(),
      ]);
      await popup.locator('input[name="login"]').fill("dora");
      await popup.locator('input[name="password"]').fill("any");
      await popup.getByRole("button", { name: /sign.?in/i }).click();
      await popup.getByRole("button", { name: /continue/i }).click();
      const heading = page.getByRole("heading", { name: "Your session has ended" });
      await heading.waitFor({ state: "detached" });
      expect(await page.getByRole("dialog").getByLabel("Name").inputValue()).toBe("kept");
      await until(() => popup.isClosed());
    } finally {
      issuer.close();
    }
  },
  {
    as: "visitor",
    start: async () => {
      issuer = await startIssuer();
      return startConsoleGateway({
        VEXEL_OIDC_ISSUER: issuer.url,
        VEXEL_OIDC_CLIENT_ID: clientId,
        VEXEL_OIDC_CLIENT_SECRET: clientSecret,
        VEXEL_OIDC_NAME: "Example Inc.",
        VEXEL_OIDC_SCOPES: "openid email groups",
        VEXEL_OIDC_DOMAINS: "example.com",
        VEXEL_OIDC_ROLES: "platform=admin",
      });
    },
  },
);

browserTest(
  "a user who must change the password does so before anything else",
  async (test) => {
    const { page, admin, problems } = test;
    // After a sign-in or a change, the console loads a page.
    problems.expectFailure(/^401 /);
    const must_change_password = true;
    await admin("POST", "/users", {
      name: "otto",
      role: "viewer",
      password: adminPassword,
      must_change_password,
    });
    await page.goto("/console/sign-in");
    await signIn(page, "otto", adminPassword);
    await page.getByText("Choose a new password").waitFor();
    await page.getByLabel("Current password").fill(adminPassword);
    const chosen = page.getByLabel("New password");
    await chosen.fill("a password of the user");
    expect(await chosen.getAttribute("type")).toBe("password");
    await page.getByRole("button", { name: "Show password" }).click();
    expect(await chosen.getAttribute("type")).toBe("text");
    await page.getByRole("button", { name: "Change password" }).click();
    await page.getByRole("button", { name: "Sign out" }).waitFor();
  },
  { as: "visitor" },
);
