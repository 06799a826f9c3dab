/** Lists in a browser with 300 models, 2,000 keys and 50,000 requests: short rows, and everything is found by a search. */
import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { until } from "../until.ts";
import { browserTest, settled } from "./browser-test.ts";
import { startLargeGateway } from "./large-gateway.ts";

/** Two lines of text and their padding. A third line would need more. */
const maxRowPixels = 56;

const rowHeights = (page: Page): Promise<number[]> =>
  page.evaluate(
    `[...document.querySelectorAll("tbody tr")].map(({ offsetHeight }) => offsetHeight)`,
  );

/** The rows that the search found, when the table shows nothing else. */
async function search(page: Page, field: string, text: string, table: string): Promise<string[]> {
  await page.getByRole("searchbox", { name: field }).fill(text);
  const rows = page.getByRole("region", { name: table, exact: true }).locator("tbody tr");
  await until(async () => {
    const texts = await rows.allInnerTexts();
    return texts.length > 0 && texts.every((each) => each.includes(text));
  });
  return rows.allInnerTexts();
}

browserTest(
  "lists of a large gateway have short rows, fit the width of the page, and are searched and sorted as a whole",
  async ({ page, open, visit, admin }) => {
    const isTooWide = () =>
      page.evaluate<boolean>(
        `[...document.querySelectorAll("section[tabindex]")].some(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)`,
      );
    await open("/");
    for (const path of ["/models", "/requests", "/keys", "/budgets", "/projects", "/usage"]) {
      await visit(path);
      await page.locator("tbody tr").first().waitFor();
      expect({ path, height: Math.max(...(await rowHeights(page))) > maxRowPixels }).toEqual({
        path,
        height: false,
      });
      expect({ path, overflow: await isTooWide() }).toEqual({ path, overflow: false });
    }

    // Sorted by name, the first group is not one of the most expensive ones.
    const usage = page.getByRole("region", { name: "Usage", exact: true });
    await usage.getByRole("button", { name: "Model" }).click();
    await usage.locator("tbody tr").first().getByText("code-search-2").waitFor();

    // Also with every limit and a long name, the menu of a key is on the page.
    const project = "a-project-with-quite-a-long-name-of-its-team";
    await admin("POST", "/projects", { name: project });
    await admin("POST", "/keys", {
      name: "limited-key-with-quite-a-long-name-of-its-application",
      project,
      models: ["text-embedding-*", "product-photo-*"],
      limits: { requestsPerMinute: 600, tokensPerMinute: 1_000_000, concurrent: 20 },
      budget: { day: 5, month: 25 },
    });
    await page.setViewportSize({ width: 1280, height: 900 });
    await visit("/keys");
    expect(await search(page, "Search keys", "limited-key", "API keys")).toHaveLength(1);
    expect(await isTooWide()).toBe(false);
    await page.getByRole("button", { name: /^Actions for limited-key/ }).click();
    await page.keyboard.press("Escape");
    await page.setViewportSize({ width: 1440, height: 900 });

    await visit("/models");
    expect(await search(page, "Search models", "text-embedding-295", "Models")).toHaveLength(1);
    await visit("/keys");
    expect(await search(page, "Search keys", "app-1999", "API keys")).toHaveLength(1);
    // One search finds the budget of a project and the limit of a key.
    await visit("/budgets");
    const field = "Search keys, projects and models";
    expect(await search(page, field, "support-2", "Budgets")).toHaveLength(1);
    expect(await search(page, field, "search-1-app-1600", "Limits")).toHaveLength(1);

    // From an error in the list to the request beside it, to the request's page, and back by the breadcrumbs.
    await visit("/requests?error=rate_limited");
    await page
      .getByRole("region", { name: "Requests", exact: true })
      .getByRole("link")
      .first()
      .click();
    const panel = page.getByRole("complementary", { name: "Request", exact: true });
    await panel.getByRole("link", { name: /page/i }).click();
    await page.waitForURL(/\/requests\/req_/);
    await settled(page);
    // The times of its attempt were not recorded, so the gateway's part of the latency is unknown.
    await page.getByText("1 attempt, timing not recorded.").waitFor();
    expect(await page.getByText("Gateway overhead").count()).toBe(0);
    await page
      .getByRole("navigation", { name: "Breadcrumbs" })
      .getByRole("link", { name: "Requests" })
      .click();
    await page.waitForURL(/\/requests$/);
  },
  { start: () => startLargeGateway(), context: { viewport: { width: 1440, height: 900 } } },
);
