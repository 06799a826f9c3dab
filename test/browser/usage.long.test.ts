/** The usage page in a browser, with 300 models: groups, tooltips, filters, time zones, and the way to the requests. */
import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { until } from "../until.ts";
import { seriousFindings } from "./axe.ts";
import { browserTest, choose, settled } from "./browser-test.ts";
import { startLargeGateway } from "./large-gateway.ts";

/** Fewer requests and keys than `bench/console.ts` measures with, to start sooner. */
const start = () => startLargeGateway({ requests: 5000, keys: 20 });

/** A time zone without whole hours of UTC at midnight would be approximate: this one has them. */
const context = { timezoneId: "America/New_York" };

/** Moves the pointer to a point of the first chart: shares of its width and height. */
async function pointAt(page: Page, x: number, y: number) {
  const box = await page.locator(".u-over").first().boundingBox();
  if (!box) throw new Error("There is no chart.");
  const [left, top] = [box.x + box.width * x, box.y + box.height * y];
  await page.mouse.move(left - 3, top);
  await page.mouse.move(left, top);
  return { left, top };
}

browserTest(
  "usage is stacked by group, filtered, zoomed, and leads to its requests",
  async ({ page, open }) => {
    await open("/usage?range=month");
    const region = page.getByRole("region", { name: "Usage" });
    await region.getByRole("link", { name: "product-photo-3", exact: true }).waitFor();
    // The largest groups have a color, and all others are one.
    const legend = page.getByRole("list").filter({ hasText: "Other" }).first();
    expect(await legend.getByRole("listitem").count()).toBe(9);
    await page.getByText("America/New_York").waitFor();
    await page.getByText("Top 8 by cost, requests, tokens or images").waitFor();
    await page.getByText("logarithmic scale").waitFor();

    // A name of the legend shows its group alone, also in the sums of the charts, and once more all groups.
    const cost = page.locator("section", {
      has: page.getByRole("heading", { name: "Cost", exact: true }),
    });
    const all = await cost.locator("header p").textContent();
    await legend.getByRole("button", { name: "product-photo-3", exact: true }).click();
    const alone = legend.getByRole("button", { pressed: true });
    expect(await alone.textContent()).toBe("product-photo-3");
    expect(await cost.locator("header p").textContent()).not.toBe(all);
    await alone.click();
    expect(await cost.locator("header p").textContent()).toBe(all);
    expect(await seriousFindings(page)).toEqual([]);

    // The tooltip has the values of a day, and every chart says its sum of this day.
    await pointAt(page, 0.98, 0.95);
    const tooltip = page.locator("[data-chart-tooltip]");
    await tooltip.getByText("Total").waitFor();
    const day = (await tooltip.locator("p").textContent()) ?? "";
    await until(async () => (await page.getByText(day, { exact: true }).count()) >= 5);

    // From a bar to the requests of that day.
    await page.mouse.down();
    await page.mouse.up();
    await page.waitForURL(/\/requests\?from=/);
    await settled(page);
    await page.getByRole("region", { name: "Requests" }).getByRole("link").first().waitFor();
    await page.goBack();
    await settled(page);

    // A part of the chart becomes the time range.
    const { top } = await pointAt(page, 0.5, 0.5);
    await page.mouse.down();
    const box = await page.locator(".u-over").first().boundingBox();
    await page.mouse.move((box?.x ?? 0) + (box?.width ?? 0) * 0.8, top, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(/from=.*to=/);
    await page.getByRole("combobox", { name: "Time range" }).getByText("Custom").waitFor();
    const zoomed = await page.getByLabel("From", { exact: true }).inputValue();
    await choose(page.getByRole("combobox", { name: "Time zone" }), "UTC");
    await page.waitForURL(/zone=utc/);
    await until(
      async () => (await page.getByLabel("From", { exact: true }).inputValue()) !== zoomed,
    );

    // The second dimension, a filter from the values of the time range, and a row to its requests.
    await choose(page.getByRole("combobox", { name: "Group by" }), "Status");
    await region.getByRole("link", { name: "429" }).waitFor();
    await page.getByRole("button", { name: "Add filter" }).click();
    await choose(page.getByRole("combobox", { name: "Filter by" }), "Target");
    await page.getByRole("combobox", { name: "Target" }).click();
    await page
      .getByRole("option", { name: /^us-east/ })
      .first()
      .click();
    await page.keyboard.press("Escape");
    await page.getByText(/^Target: us-east/).waitFor();
    await page.getByRole("button", { name: /^Remove filter/ }).click();
    await page.getByRole("combobox", { name: "Project" }).selectOption("studio-1");
    const csv = page.getByRole("link", { name: "Export CSV" });
    await until(
      async () => (await csv.getAttribute("href"))?.includes("project=studio-1") ?? false,
    );
    expect(await csv.getAttribute("href")).toMatch(/from=.*group_by=status/);
    await region.getByRole("link", { name: "Succeeded" }).click();
    await page.waitForURL(/\/requests\?.*status=ok/);
    expect(page.url()).toContain("project=studio-1");
    await page.getByRole("region", { name: "Requests" }).getByText("studio-1").first().waitFor();
    // Not at the bar above: it may be of an image model, whose requests are never cached.
    await page.getByText("Cached", { exact: true }).first().waitFor();
  },
  { start, context },
);

browserTest(
  "a tile of the overview has its change and its course, and leads to what it counts",
  async ({ page, open }) => {
    await open("/");
    const tile = page.locator("dl > div").filter({ hasText: "Error rate" }).first();
    await tile
      .getByText(/points/)
      .first()
      .waitFor();
    expect(await tile.locator("svg path").last().getAttribute("d")).toMatch(/^M/);
    expect(await seriousFindings(page)).toEqual([]);
    await tile.getByRole("link", { name: "Error rate" }).click();
    await page.waitForURL(/\/requests\?.*status=failed/);
    await page.goBack();
    await page.getByRole("link", { name: "Tokens" }).click();
    await page.waitForURL(/\/usage\?range=day/);
    await settled(page);
  },
  { start },
);
