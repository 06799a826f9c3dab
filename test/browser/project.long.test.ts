/** The page of a project: what a team spends, with which models and keys, and what fails. */
import { expect } from "bun:test";
import type { UsagePage } from "../../contract/admin.ts";
import { until } from "../until.ts";
import { seriousFindings } from "./axe.ts";
import { browserTest } from "./browser-test.ts";

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
    await page.getByRole("link", { name: id }).click();
    await page.getByRole("heading", { name: id }).waitFor();
  },
);
