/** Jobs in a browser: one is canceled, one fails, and one is created from a file. */
import { expect } from "bun:test";
import type { Page, ShownJob, ShownRequest } from "../../contract/admin.ts";
import { createBatch } from "../admin/create-batch.ts";
import { until } from "../until.ts";
import { seriousFindings } from "./axe.ts";
import { browserTest, choose } from "./browser-test.ts";
import { startConsoleGateway, testKey } from "./console-gateway.ts";

browserTest("a job is canceled", async ({ page, open, url, fake }) => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  fake.script({ until: released }, { times: 1 });
  const id = await createBatch(`${url}/v1`, testKey, ["to be canceled"], "text-embedding-3-small");
  await open(`/jobs/${id}`);
  await page.getByRole("button", { name: "Cancel job" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Cancel job" }).click();
  await dialog.waitFor({ state: "detached" });
  await page.getByText("Canceling", { exact: true }).waitFor();
  // A line in flight is finished.
  release();
  await page.getByText("Canceled", { exact: true }).waitFor();
});

browserTest(
  "a batch whose lines failed is not shown as a success, and links to the requests that failed",
  async ({ page, open, url }) => {
    // An empty text fails its line.
    const id = await createBatch(`${url}/v1`, testKey, ["", "a text"], "text-embedding-3-small");
    await open(`/jobs/${id}`);
    await page.getByText("Completed with errors").waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByRole("link", { name: "Invalid input" }).click();
    await page.waitForURL(/\/requests\?.*error=/);
    await page.getByRole("row").nth(1).waitFor();
  },
);

browserTest(
  "requests of a line that is tried again are marked as retries, and link to their job",
  async ({ page, open, url, fake, admin }) => {
    fake.script({ fail: "rate-limit" }, { times: 1000 });
    const id = await createBatch(`${url}/v1`, testKey, ["tried again"], "text-embedding-3-small");
    const requests = () => admin<Page<ShownRequest>>("GET", "/requests");
    await until(async () => (await requests()).data.length >= 2);
    fake.clear();
    await open("/requests");
    const main = page.getByRole("main");
    await main.getByRole("link", { name: "Batch, line 1", exact: true }).first().waitFor();
    const retry = main.getByRole("link", { name: "Batch, retry of line 1" }).first();
    await retry.waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    const [latest] = (await requests()).data;
    await open(`/requests/${latest?.id}`);
    await retry.click();
    await page.waitForURL(new RegExp(`/jobs/${id}$`));
    await page.getByText("Completed").waitFor();
  },
  { start: startConsoleGateway },
);

browserTest(
  "a file of texts is embedded from the browser, after its lines and price were shown",
  async ({ page, open, admin }) => {
    await open("/jobs");
    await page.getByRole("button", { name: "Embed a file" }).click();
    const dialog = page.getByRole("dialog");
    await choose(dialog.getByLabel("Model"), "text-embedding-3-small");
    await choose(dialog.getByLabel("API key"), "search-app");
    const buffer = Buffer.from("a first text\n\na second text\r\n");
    await dialog
      .getByLabel("File")
      .setInputFiles({ name: "texts.txt", mimeType: "text/plain", buffer });
    expect(await seriousFindings(page)).toEqual([]);
    await dialog.getByLabel("Name").fill("my texts");
    await dialog.getByRole("button", { name: "Show lines and price" }).click();
    // Nothing has started: the lines, the price, and where they run.
    await dialog.getByText("2 lines", { exact: true }).waitFor();
    await dialog.getByText(/^Immediate requests: \$/).waitFor();
    await choose(dialog.getByLabel("Execution"), "Immediate requests");
    expect(await seriousFindings(page)).toEqual([]);
    const jobs = () => admin<Page<ShownJob>>("GET", "/jobs");
    expect((await jobs()).data.some((job) => job.name === "my texts")).toBe(false);
    await dialog.getByRole("button", { name: "Start" }).click();
    await page.waitForURL(/\/jobs\/batch_/);
    await page.getByRole("heading", { level: 1, name: "my texts" }).waitFor();
    // The list, which also has completed jobs, stays until the page of the job is loaded.
    await page.getByRole("definition").filter({ hasText: "search-app" }).waitFor();
    await page.getByText("Completed").waitFor();
    await page.getByText("2 / 2").waitFor();
  },
);
