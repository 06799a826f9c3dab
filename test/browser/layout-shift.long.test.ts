/** The parts of a page stay where they are while its data comes. */
import { expect } from "bun:test";
import { browserTest } from "./browser-test.ts";
import { sendBatch, sendRequests } from "./console-gateway.ts";
import { phone } from "./page-findings.ts";
import { publicPages, signedInPages } from "./router-pages.ts";

/**
 * Half of what web.dev calls good. Where nothing was requested, one sentence replaces placeholders of charts, so the parts
 * below move up.
 */
const maxShift = 0.05;
const desktop = { width: 1280, height: 720 };

/** Sums the layout shifts of a page, and keeps what moved. */
const observe = `
  window.shifts = { sum: 0, moved: [] };
  new PerformanceObserver((list) => {
    for (const { value, sources } of list.getEntries()) {
      window.shifts.sum += value;
      window.shifts.moved.push(...sources.map(({ node, previousRect, currentRect }) =>
        [previousRect.y, currentRect.y, node?.outerHTML?.slice(0, 120)].join(" ")));
    }
  }).observe({ type: "layout-shift", buffered: true });`;

interface Shifts {
  readonly sum: number;
  readonly moved: readonly string[];
}

browserTest(
  "no page jumps while its data comes, on a desktop and on a phone",
  async (test) => {
    const { page, open } = test;
    const [request, job] = [await sendRequests(test), await sendBatch(test)];
    await page.addInitScript(observe);
    // As over a slow network: the placeholders are painted.
    await page.route("**/admin/api/**", async (route) => {
      await Bun.sleep(150);
      await route.continue();
    });
    const jumps: unknown[] = [];
    for (const viewport of [desktop, phone]) {
      await page.setViewportSize(viewport);
      for (const path of [...signedInPages(request, job), ...publicPages]) {
        await open(path);
        await page.waitForLoadState("networkidle");
        const { sum, moved } = await page.evaluate<Shifts>("window.shifts");
        if (sum > maxShift)
          jumps.push([viewport.width, path, sum.toFixed(3), ...moved.slice(0, 3)]);
      }
    }
    expect(jumps).toEqual([]);
  },
  // With an init script.
  { context: {} },
);
