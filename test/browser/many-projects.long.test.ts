/** Changes of many projects at once in a browser: budgets and limits. */
import { expect } from "bun:test";
import type { AuditEntry, Page, ProjectEntity } from "../../contract/admin.ts";
import { seriousFindings } from "./axe.ts";
import { browserTest } from "./browser-test.ts";

browserTest(
  "budgets and limits of the chosen projects are set by one form, with the outcome of each",
  async ({ page, admin, open, problems }) => {
    // A project of the configuration file.
    problems.expectFailure(/^409 PUT \S*\/admin\/api\/projects\/search/);
    const limits = { requestsPerMinute: 60, concurrent: 4 };
    await admin("POST", "/projects", { name: "many-a", limits, budget: { month: 5, day: 1 } });
    await admin("POST", "/projects", { name: "many-b" });
    await admin("POST", "/projects", { name: "many-c" });
    await open("/projects");
    await page.getByRole("button", { name: /^Choose all \d+$/ }).click();
    await page.getByLabel("Choose many-c").waitFor();
    expect(await page.getByLabel("Choose many-c").isChecked()).toBe(true);
    await page.getByRole("button", { name: "Clear choice" }).click();
    for (const name of ["many-a", "many-b", "search"])
      await page.getByLabel(`Choose ${name}`).check();
    await page.getByRole("button", { name: "Set budgets and limits (3)" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Set", exact: true }).click();
    await dialog.getByText("Fill in at least one field.").waitFor();
    await dialog.getByLabel("Monthly budget").fill("20");
    await dialog.getByLabel("Requests per minute").fill("600");
    expect(await seriousFindings(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Set", exact: true }).click();
    await dialog.getByText("2 changed, 0 unchanged, 1 refused").waitFor();
    await dialog
      .getByRole("listitem")
      .filter({ hasText: "search" })
      .getByText(/vexel\.yaml/)
      .waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Close" }).last().click();
    await dialog.waitFor({ state: "detached" });

    const storedValue = async (id: string) =>
      (await admin<ProjectEntity>("GET", `/projects/${id}`)).value;
    // Only the fields that were filled in.
    expect(await storedValue("many-a")).toMatchObject({
      limits: { requestsPerMinute: 600, concurrent: 4 },
      budget: { month: 20, day: 1 },
    });
    expect(await storedValue("many-b")).toMatchObject({
      limits: { requestsPerMinute: 600 },
      budget: { month: 20 },
    });
    expect(await storedValue("many-c")).toEqual({});
    const entries = await admin<Page<AuditEntry>>("GET", "/audit?action=project.updated");
    expect(entries.data.map(({ subject }) => subject)).toEqual(
      expect.arrayContaining(["many-a", "many-b"]),
    );

    // The one that was refused stays chosen. One with these values already is not changed again.
    expect(await page.getByLabel("Choose search").isChecked()).toBe(true);
    expect(await page.getByLabel("Choose many-a").isChecked()).toBe(false);
    await page.getByLabel("Choose search").uncheck();
    await page.getByLabel("Choose many-b").check();
    await page.getByRole("button", { name: "Set budgets and limits (1)" }).click();
    await dialog.getByLabel("Monthly budget").fill("20");
    await dialog.getByRole("button", { name: "Set", exact: true }).click();
    await dialog.getByText("0 changed, 1 unchanged, 0 refused").waitFor();
  },
);
