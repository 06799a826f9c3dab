/** Signing in and out of the console in a browser. */
import { expect } from "bun:test";
import { browserTest, signIn } from "./browser-test.ts";
import { adminPassword } from "./console-gateway.ts";

browserTest(
  "a wrong password is refused, and the right one opens the requested page",
  async ({ page, visit, problems, admin }) => {
    await admin("POST", "/users", { name: "vera", role: "viewer", password: adminPassword });
    problems.expectFailure(/^401 POST \S*\/session$/);
    await page.goto("/console/models");
    await signIn(page, "vera", "not the password");
    await page.getByRole("alert").waitFor();
    await signIn(page, "vera", adminPassword);
    await page.getByRole("heading", { name: "Models", exact: true }).waitFor();
    expect(new URL(page.url()).pathname).toBe("/console/models");
    // Without a project, the lists are empty, and the page says why.
    await page.getByText("Your account has no projects").waitFor();
    // A viewer has no playground in the menu.
    expect(await page.getByRole("link", { name: "Images playground" }).count()).toBe(0);
    // Events are for users who see all projects, and upstreams are for administrators.
    expect(await page.getByRole("link", { name: "Events and webhooks" }).count()).toBe(0);
    await visit("/upstreams");
    await page.getByRole("heading", { name: "You don't have access to this page" }).waitFor();
    expect(await page.getByRole("link", { name: "Add upstream" }).count()).toBe(0);
  },
  { as: "visitor" },
);
