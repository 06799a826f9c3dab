/** The catalog in a browser. */
import { expect } from "bun:test";
import { until } from "../until.ts";
import { browserTest, choose } from "./browser-test.ts";

browserTest(
  "the catalog is sorted and searched, and a model shows its keys and its targets, and its id, which is copied to the clipboard",
  async (test) => {
    const { page, open, context, url } = test;
    await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: url });
    await open("/models");
    const ids = () => page.getByRole("row").getByRole("link").allTextContents();
    const sort = page.getByRole("columnheader", { name: "Model" }).getByRole("button");
    for (const [order, compare] of [
      ["ascending", (a: string, b: string) => a.localeCompare(b, "en", { numeric: true })],
      ["descending", (a: string, b: string) => b.localeCompare(a, "en", { numeric: true })],
    ] as const) {
      await sort.click();
      await page.locator(`[aria-sort=${order}]`).waitFor();
      await until(async () => {
        const shown = await ids();
        return shown.length > 2 && shown.join() === shown.toSorted(compare).join();
      });
    }
    await page.getByLabel("Search models").fill("minilm");
    await until(async () => (await page.getByRole("row").count()) === 2);
    await choose(page.getByLabel("Type"), "Image");
    await page.getByText("No models match").waitFor();
    await choose(page.getByLabel("Type"), "All types");
    await page.getByRole("link", { name: "all-minilm-l6-v2" }).click();
    await page.getByRole("heading", { name: "all-minilm-l6-v2" }).waitFor();
    const breadcrumbs = page.getByRole("navigation", { name: "Breadcrumbs" });
    expect(await breadcrumbs.innerText()).toMatch(/^Models\s*\/\s*all-minilm-l6-v2$/);
    await page.getByRole("region", { name: "Keys with access" }).getByText("search-app").waitFor();
    // Other tests with this gateway may have used the model.
    await page
      .getByRole("region", { name: "Targets" })
      .getByText(/not used yet|healthy/i)
      .waitFor();
    // Whether the model works comes before who may use it.
    const headings = await page.getByRole("heading", { level: 2 }).allTextContents();
    expect(headings.indexOf("Targets")).toBeLessThan(headings.indexOf("Keys with access"));
    expect(headings).toContain("Targets");
    await page.getByRole("button", { name: "Copy model ID" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    expect(await page.evaluate<string>("navigator.clipboard.readText()")).toBe("all-minilm-l6-v2");

    await page.getByRole("link", { name: "Open in playground" }).click();
    await page.getByRole("heading", { name: "Embeddings playground" }).waitFor();
    expect(await page.getByRole("combobox", { name: "Models" }).textContent()).toBe(
      "all-minilm-l6-v2",
    );
    await page.goBack();
    await page.getByRole("navigation", { name: "Breadcrumbs" }).getByRole("link").click();
    await page.getByLabel("Search models").waitFor();
  },
);
