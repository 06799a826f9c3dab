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
    await dialog.getByText("2 changed, 1 refused").waitFor();
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
    await dialog.getByText("1 unchanged").waitFor();
  },
);

browserTest(
  "projects and members are imported from CSV after a dry run, line by line, and once",
  async ({ page, admin, open }) => {
    await admin("POST", "/projects", { name: "csv-old", budget: { month: 5, day: 1 } });
    await admin("POST", "/users", { name: "csv-sam", role: "viewer" });
    const file = [
      "name,contact,monthly_budget,requests_per_minute,members",
      "csv-old,,25,,csv-sam:developer",
      "csv-new,team@example.com,50,600,csv-ada@example.com:lead; csv-sam",
      "csv-bad,,a lot,,",
      "search,,7,,",
      "csv-late,,1,,csv-ada@example.com:billing",
    ].join("\n");
    await open("/projects");
    await page.getByRole("button", { name: "Import CSV" }).click();
    const dialog = page.getByRole("dialog");
    const choose = (text: string) =>
      dialog.getByLabel("CSV file").setInputFiles({
        name: "projects.csv",
        mimeType: "text/csv",
        buffer: Buffer.from(text),
      });
    await choose("team;budget\na;5");
    await dialog.getByRole("alert").getByText("The first line must name the columns").waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await choose(file);
    await dialog.getByText("2 created, 1 changed, 2 refused").waitFor();
    await dialog.getByText("monthly budget $25.00, member csv-sam as Developer").waitFor();
    await dialog.getByText(/new user csv-ada@example.com as /).waitFor();
    await dialog.getByText("The monthly budget is no amount").waitFor();
    await dialog.getByText(/^The project is defined in .*vexel\.yaml/).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    // Nothing is changed by the dry run.
    const projects = async () =>
      (await admin<Page<ProjectEntity>>("GET", "/projects")).data.filter(({ id }) =>
        id.startsWith("csv-"),
      );
    expect((await projects()).map(({ id }) => id)).toEqual(["csv-old"]);

    await dialog.getByRole("button", { name: "Apply 3 lines" }).click();
    await dialog.getByRole("button", { name: "Close" }).nth(1).waitFor();
    await dialog.getByText("2 created, 1 changed, 2 refused").waitFor();
    const [late, created, old] = (await projects()).toSorted((a, b) => (a.id < b.id ? -1 : 1));
    expect(created).toMatchObject({
      value: {
        contact: "team@example.com",
        budget: { month: 50 },
        limits: { requestsPerMinute: 600 },
      },
    });
    const membersOf = (project: ProjectEntity | undefined) =>
      project?.members.map(({ name, role }) => `${name} ${role}`).sort();
    expect(membersOf(created)).toEqual(["csv-ada@example.com lead", "csv-sam viewer"]);
    expect(membersOf(late)).toEqual(["csv-ada@example.com billing"]);
    expect(old?.value.budget).toMatchObject({ month: 25, day: 1 });
    expect(membersOf(old)).toEqual(["csv-sam developer"]);
    const entries = await admin<Page<AuditEntry>>("GET", "/audit?limit=50");
    const recorded = entries.data.map(({ action, subject }) => `${action} ${subject}`);
    expect(recorded).toEqual(
      expect.arrayContaining([
        "project.updated csv-old",
        "project.created csv-new",
        "user.created csv-ada@example.com",
        "project.members_updated csv-late",
      ]),
    );

    // The same file again changes nothing.
    await dialog.getByRole("button", { name: "Close" }).last().click();
    await page.getByRole("button", { name: "Import CSV" }).click();
    await choose(file);
    await dialog.getByText("3 unchanged, 2 refused").waitFor();
    expect(await dialog.getByRole("button", { name: /^Apply/ }).isDisabled()).toBe(true);
  },
);
