/** The bars of budgets in a browser: what is drawn, in both themes. */
import { expect } from "bun:test";
import type { Page, ShownBudget } from "../../contract/admin.ts";
import { seriousFindings } from "./axe.ts";
import { browserTest, chooseOther } from "./browser-test.ts";
import { showTheme } from "./page-findings.ts";

const shares = [0, 0.5, 0.85, 1];

const budgets: Page<ShownBudget> = {
  object: "list",
  data: shares.map((share) => ({
    object: "budget",
    scope: "key",
    id: `key_${share}`,
    name: `share ${share}`,
    project: null,
    period: "day",
    limit: 10,
    spent: 10 * share,
    reserved: 0,
    left: 10 - 10 * share,
    resets_at: null,
  })),
  next_cursor: null,
};

interface Bar {
  readonly width: number;
  readonly fill: string;
  readonly track: string;
}

browserTest(
  "in both themes an empty budget looks empty, a full one full, and both are distinct from the track",
  async ({ page, open }) => {
    await page.route("**/admin/api/budgets*", (route) => route.fulfill({ json: budgets }));
    await open("/budgets");
    for (const theme of ["light", "dark"] as const) {
      await showTheme(page, theme);
      const bars = await page.evaluate<Bar[]>(`
        [...document.querySelectorAll('meter[aria-label^="share"]')].map((meter) => {
          const track = meter.nextElementSibling;
          const fill = track.firstElementChild;
          return {
            width: fill.getBoundingClientRect().width / track.getBoundingClientRect().width,
            fill: getComputedStyle(fill).backgroundColor,
            track: getComputedStyle(track).backgroundColor,
          };
        })`);
      expect(bars).toHaveLength(shares.length);
      for (const [at, { width, fill, track }] of bars.entries()) {
        expect(width).toBeCloseTo(shares[at] ?? 0, 1);
        expect(contrast(fill, track)).toBeGreaterThan(3);
      }
      expect(bars[0]?.width).toBe(0);
      // What is nearly or completely used has another color.
      expect(new Set(bars.map(({ fill }) => fill)).size).toBe(3);
    }
  },
);

browserTest("the budget and the limit of one end user are found", async ({ page, open, admin }) => {
  await admin("POST", "/projects", {
    name: "helpdesk",
    perEndUser: { budget: { day: 3 }, limits: { requestsPerMinute: 7 } },
  });
  await open("/budgets");
  await page.getByRole("combobox", { name: "Project" }).selectOption("helpdesk");
  await chooseOther(page.getByRole("combobox", { name: "End user" }), "ada");
  await page.getByRole("region", { name: "Budgets" }).getByText("$3.00").first().waitFor();
  await page.getByRole("region", { name: "Limits" }).getByText("requests per minute").waitFor();
  expect(await seriousFindings(page)).toEqual([]);
  await page.getByRole("button", { name: "Show all" }).click();
  await page.getByRole("combobox", { name: "Project" }).selectOption("All projects");
  await page.getByRole("region", { name: "Limits" }).getByText("studio").first().waitFor();
});

/** The contrast ratio of two colors `rgb(r, g, b)`, by WCAG 2. */
function contrast(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = (color.match(/[\d.]+/g) ?? []).map((channel) => {
    const value = Number(channel) / 255;
    return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
