/** The page of a project: what a team spends, with which models and keys, and what fails. */
import { expect } from "bun:test";
import { join } from "node:path";
import type { UsagePage } from "../../contract/admin.ts";
import { SqliteLedgerStore } from "../../server/storage/sqlite/ledger-store.ts";
import { ledgerRow } from "../ledger/ledger-fixture.ts";
import { until } from "../until.ts";
import { seriousFindings } from "./axe.ts";
import { type BrowserTest, browserTest, chooseAction } from "./browser-test.ts";

browserTest(
  "the name of a project leads to its spend, budget, models, outcomes, keys and requests",
  async ({ page, admin, url, open }) => {
    const id = "team-page";
    await admin("POST", "/projects", { name: id, budget: { month: 25 } });
    const { key } = await admin<{ key: string }>("POST", "/keys", { name: "of-team", project: id });
    for (const model of ["text-embedding-3-small", "no-such-model"]) {
      await fetch(`${url}/v1/embeddings`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ model, input: "a red boat" }),
      });
    }
    const usage = () => admin<UsagePage>("GET", `/usage?interval=total&project=${id}`);
    await until(async () => (await usage()).data[0]?.requests === 2);
    await open("/projects");
    await page.getByRole("link", { name: id }).click();
    await page.getByRole("heading", { name: id }).waitFor();
    await page.getByText("/ $25.00").waitFor();
    const models = page.getByRole("region", { name: "Top models" });
    await models.getByRole("link", { name: "text-embedding-3-small" }).waitFor();
    await page.getByRole("region", { name: "API keys" }).getByText("of-team").waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByRole("region", { name: "Outcomes" }).getByRole("link", { name: "404" }).click();
    await page.waitForURL(/\/requests\?.*status=404/);
    expect(page.url()).toContain(`project=${id}`);
    // The id of the model that does not exist is shown, so that the typo is seen.
    await page.getByRole("region", { name: "Requests" }).getByRole("link").first().click();
    await page.getByText("no-such-model").waitFor();
    await page.getByRole("link", { name: id }).last().click();
    await page.getByRole("heading", { name: id }).waitFor();
  },
);

browserTest(
  "a project is archived and restored, and its contact is kept",
  async ({ page, admin, url, open }) => {
    const id = "team-archive";
    await admin("POST", "/projects", { name: id, budget: { month: 25 } });
    const { key } = await admin<{ key: string }>("POST", "/keys", { name: "old", project: id });
    const status = async () =>
      (await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status;
    await open("/projects");
    const row = page.getByRole("row").filter({ hasText: id });
    await chooseAction(row, "Edit");
    const form = page.getByRole("dialog");
    await form.getByLabel("Contact").fill("sam");
    await form.getByRole("button", { name: "Save" }).click();
    await form.getByRole("alert").waitFor();
    await form.getByLabel("Contact").fill("sam@example.com");
    await form.getByRole("button", { name: "Save" }).click();
    await form.waitFor({ state: "detached" });
    await chooseAction(row, "Archive");
    await page.getByRole("dialog").getByRole("button", { name: "Archive" }).click();
    // The rows are hidden from assistive technology while the dialog is open.
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await row.waitFor({ state: "detached" });
    expect(await status()).toBe(401);
    await page.getByRole("button", { name: "Archived projects" }).click();
    await page.getByRole("link", { name: id }).click();
    await page.getByText("Contact: sam@example.com").waitFor();
    await page.getByText("No statements yet").waitFor();
    await open("/projects");
    await page.getByRole("button", { name: "Archived projects" }).click();
    await chooseAction(row, "Restore");
    await until(async () => (await status()) === 200);
    await admin("DELETE", `/projects/${id}`).catch(() => undefined);
  },
);

const downloadStatement = async ({ page, admin, gateway, open }: BrowserTest): Promise<void> => {
  const id = "team-billed";
  await admin("POST", "/projects", { name: id });
  const now = new Date();
  const closed = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 2, 10));
  const store = new SqliteLedgerStore({ folder: join(gateway.folder, "data"), maxBytes: 0 });
  await store.append([ledgerRow(closed.getTime(), { project: id, model: "vectors", cost: 10.25 })]);
  await store.close();
  await open(`/projects/${id}`);
  const statements = page.getByRole("region", { name: "Statements" });
  await statements.getByText("$10.25").waitFor();
  const link = statements.getByRole("link", { name: /^Export CSV of / });
  const csv = await page.evaluate<string>(
    `fetch(${JSON.stringify(await link.getAttribute("href"))}).then((response) => response.text())`,
  );
  expect(csv.split("\r\n")[1]).toEndWith(",vectors,,1,0,10.25,0,10.25");
  expect(await seriousFindings(page)).toEqual([]);
};

browserTest("the statement of a closed month is downloaded as CSV", downloadStatement, {
  context: {},
});
