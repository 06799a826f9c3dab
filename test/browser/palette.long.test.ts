/** The command palette, which goes anywhere from the keyboard. */
import { expect } from "bun:test";
import type { UsagePage } from "../../contract/admin.ts";
import { until } from "../until.ts";
import { seriousFindings } from "./axe.ts";
import { browserTest } from "./browser-test.ts";
import { sendRequests } from "./console-gateway.ts";

browserTest("Ctrl+K finds pages, models, projects, keys, request ids and actions", async (test) => {
  const { page, open, admin } = test;
  await admin("POST", "/keys", { name: "palette-key" });
  const request = await sendRequests(test);
  await open("/settings");
  const palette = page.getByRole("dialog", { name: "Go to a page or run an action" });
  const go = async (text: string, option: string | RegExp, address: RegExp) => {
    await page.keyboard.press("Control+k");
    await palette.waitFor();
    await page.keyboard.type(text);
    await palette.getByRole("option", { name: option }).waitFor();
    await page.keyboard.press("Enter");
    await palette.waitFor({ state: "detached" });
    await page.waitForURL(address);
  };
  await go("upstre", "Upstreams", /\/upstreams$/);
  await go("ada-002", "text-embedding-ada-002", /\/model\/text-embedding-ada-002$/);
  await go("studi", /^studio/, /\/projects\/studio$/);
  await go("palette-k", "palette-key", /\/keys\/key_/);
  await go(request, `Open request ${request}`, new RegExp(`/requests/${request}$`));
  await go("watch", "Watch requests live", /\/requests\?live=true$/);

  await page.getByRole("button", { name: /^Search/ }).click();
  await palette.getByRole("option", { name: "Overview" }).waitFor();
  expect(await seriousFindings(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await palette.waitFor({ state: "detached" });
});

browserTest(
  "the overview has the projects that spend most with their budget and errors, and leads to their pages",
  async ({ page, open, admin, url }) => {
    const project = "first-seen";
    await admin("POST", "/projects", { name: project, budget: { month: 12 } });
    const { key } = await admin<{ key: string }>("POST", "/keys", { name: project, project });
    // The projects that spend most are shown.
    await fetch(`${url}/v1/images/generations`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "image-model", prompt: "a red boat" }),
    });
    const usage = () => admin<UsagePage>("GET", `/usage?interval=total&project=${project}`);
    await until(async () => ((await usage()).data[0]?.charged ?? 0) > 0);
    await open("/");
    const projects = page.getByRole("region", { name: "Projects" });
    const row = projects.getByRole("row", { name: /first-seen/ });
    // It is below the charts, and loaded when the user scrolls there.
    await until(async () => {
      await page.mouse.wheel(0, 2000);
      return row.getByText("/ $12.00").isVisible();
    });
    await row.getByRole("link", { name: project }).click();
    await page.waitForURL(/\/projects\/first-seen$/);
  },
);
