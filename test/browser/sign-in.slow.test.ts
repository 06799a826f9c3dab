/** Signing in and out of the console in a browser. */
import { expect } from "bun:test";
import { browserTest, setUpAdmin, signIn } from "./browser-test.ts";
import { adminPassword, startConsoleGateway } from "./console-gateway.ts";

browserTest(
  "the one-time link creates the first administrator, and works once",
  async (test) => {
    const { page, problems, setupUrl } = test;
    await setUpAdmin(page, test);
    expect(new URL(page.url()).pathname).not.toContain("sign-in");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in to Vexel" }).waitFor();

    problems.expectFailure(/^40[139] POST \S*\/session\/setup$/);
    await page.goto(setupUrl);
    await page.getByLabel("User name").fill("intruder");
    await page.getByLabel("Password").fill(adminPassword);
    await page.getByRole("button", { name: "Create and sign in" }).click();
    await page.getByRole("alert").waitFor();
    expect(page.url()).toContain("/setup");
  },
  { as: "nobody", start: startConsoleGateway },
);

browserTest(
  "a wrong password is refused, and the right one opens the page that was asked for",
  async ({ page, problems, admin }) => {
    await admin("POST", "/users", { name: "vera", role: "viewer", password: adminPassword });
    problems.expectFailure(/^401 POST \S*\/session$/);
    await page.goto("/console/reference");
    await signIn(page, "vera", "not the password");
    await page.getByRole("alert").waitFor();
    await signIn(page, "vera", adminPassword);
    await page.getByRole("heading", { name: "API reference" }).waitFor();
    expect(new URL(page.url()).pathname).toBe("/console/reference");
    // A viewer has no playground in the menu.
    expect(await page.getByRole("link", { name: "Images playground" }).count()).toBe(0);
  },
  { as: "nobody" },
);

browserTest(
  "after signing out, the session does not open the console again",
  async ({ page, context, open, admin, problems }) => {
    await admin("POST", "/users", { name: "otto", role: "admin", password: adminPassword });
    await page.goto("/console/models");
    await signIn(page, "otto", adminPassword);
    await page.getByRole("heading", { name: "Models" }).waitFor();
    const cookies = await context.cookies(`${new URL(page.url()).origin}/admin/api`);
    expect(cookies.length).toBeGreaterThan(0);
    for (const cookie of cookies)
      expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict" });
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in to Vexel" }).waitFor();
    await context.addCookies(cookies);
    problems.expectFailure(/^401 GET /);
    await open("/models");
    expect(page.url()).toContain("/sign-in");
  },
  { as: "nobody" },
);
