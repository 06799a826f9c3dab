/** Findings of the checks that every page of the console must pass. */
import type { Page } from "playwright-core";
import { until } from "../until.ts";
import { colorRules, seriousFindings } from "./axe.ts";
import type { BrowserTest } from "./browser-test.ts";
import { publicPages } from "./router-pages.ts";

export const phone = { width: 390, height: 844 };
const desktop = { width: 1280, height: 720 };

/**
 * Elements that are wider than the window are named, so that a failure says what to mend. A chart follows a change of
 * the window some frames later.
 */
export const overflows = (page: Page): Promise<string[]> =>
  page.evaluate(`(async () => {
    const root = document.documentElement;
    for (let frame = 0; frame < 60; frame++) {
      if (root.scrollWidth <= root.clientWidth) return [];
      await new Promise(requestAnimationFrame);
    }
    const wide = [...document.querySelectorAll("body *")].filter(
      (element) => element.getBoundingClientRect().right > root.clientWidth + 1,
    );
    return wide.slice(0, 5).map((element) => element.outerHTML.slice(0, 200));
  })()`);

/** Changes the theme as the system does. */
export async function showTheme(page: Page, theme: "light" | "dark"): Promise<void> {
  await page.emulateMedia({ colorScheme: theme });
  const isShown = `document.documentElement.dataset.theme === "${theme}" && document.getAnimations().length === 0`;
  await until(() => page.evaluate<boolean>(isShown));
}

/** Checks a page in both themes and on a phone. The page is opened once for all checks. */
export async function findingsOf(test: BrowserTest, path: string): Promise<string[]> {
  const { page, open, visit } = test;
  await page.setViewportSize(desktop);
  await page.emulateMedia({ colorScheme: "light" });
  // A page that is open already would not be shown again.
  const isLoaded =
    page.url().includes("/console/") &&
    !page.url().endsWith(`/console${path}`) &&
    !publicPages.includes(path);
  await (isLoaded ? visit(path) : open(path));
  const findings = await seriousFindings(page);
  await showTheme(page, "dark");
  findings.push(...(await seriousFindings(page, colorRules)));
  await page.setViewportSize(phone);
  findings.push(...(await overflows(page)));
  const nameless = await page.locator("td:visible > div:empty").count();
  if (nameless > 0) findings.push(`${nameless} column names without a value on a phone`);
  return findings.map((finding) => `${path}: ${finding}`);
}
