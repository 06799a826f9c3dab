/** Jobs in a browser: a batch of a client is followed to its end, and its results are downloaded. */
import { expect } from "bun:test";
import type { ShownJob } from "../../contract/admin.ts";
import { createBatch } from "../admin/create-batch.ts";
import { until } from "../until.ts";
import { seriousFindings } from "./axe.ts";
import { browserTest, chooseAction } from "./browser-test.ts";
import { testKey } from "./console-gateway.ts";

browserTest(
  "a batch is seen running and completed without a reload, and its results are downloaded",
  async ({ page, open, url, fake, admin }) => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    fake.script({ until: released }, { times: 1 });
    const texts = ["a job about boats", "a job about hills"];
    const id = await createBatch(`${url}/v1`, testKey, texts, "text-embedding-3-small");
    const statusOf = async () => (await admin<ShownJob>("GET", `/jobs/${id}`)).status;
    await until(async () => (await statusOf()) === "in_progress");
    await open("/jobs");
    const row = page.getByRole("row").filter({ has: page.locator(`a[href$="/jobs/${id}"]`) });
    await row.getByText("running").waitFor();
    await row.getByText("0 / 2").waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await chooseAction(row, "Pause");
    await row.getByText("paused").waitFor();
    await chooseAction(row, "Resume");
    await row.getByText("running").waitFor();
    release();
    await row.getByText("Completed").waitFor();
    await row.getByText("2 / 2").waitFor();
    await row.getByRole("link", { name: "Batch" }).click();
    await page.getByText(/lines\/s/).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Download results" }).click(),
    ]);
    const output = await Bun.file(await download.path()).text();
    expect(output.trim().split("\n")).toHaveLength(2);
    expect(await seriousFindings(page)).toEqual([]);
  },
);
