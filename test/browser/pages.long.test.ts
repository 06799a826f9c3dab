/**
 * Every page of the console: accessible in both themes, and as wide as a phone. Each page is opened once for all
 * checks.
 */
import { expect } from "bun:test";
import { until } from "../until.ts";
import { colorRules, seriousFindings } from "./axe.ts";
import { type BrowserTest, browserTest } from "./browser-test.ts";
import { sendBatch, sendRequests } from "./console-gateway.ts";
import { publicPages, signedInPages } from "./router-pages.ts";

const phone = { width: 390, height: 844 };
const desktop = { width: 1280, height: 720 };

/**
 * Elements that are wider than the window are named, so that a failure says what to mend. A chart follows a change of
 * the window some frames later.
 */
const overflows = ({ page }: BrowserTest): Promise<string[]> =>
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

/** Changes the theme as the system does. Pages before the sign-in read it only when they are opened. */
async function showDarkTheme({ page, open }: BrowserTest, path: string): Promise<void> {
  await page.emulateMedia({ colorScheme: "dark" });
  if (publicPages.includes(path)) await open(path);
  const isShown = `document.documentElement.dataset.theme === "dark" && document.getAnimations().length === 0`;
  await until(() => page.evaluate<boolean>(isShown));
}

async function findingsOf(test: BrowserTest, path: string): Promise<string[]> {
  const { page, open, visit } = test;
  await page.setViewportSize(desktop);
  await page.emulateMedia({ colorScheme: "light" });
  const isLoaded = page.url() !== "about:blank" && !publicPages.includes(path);
  await (isLoaded ? visit(path) : open(path));
  const findings = await seriousFindings(page);
  await showDarkTheme(test, path);
  findings.push(...(await seriousFindings(page, colorRules)));
  await page.setViewportSize(phone);
  findings.push(...(await overflows(test)));
  const nameless = await page.locator("td:visible > div:empty").count();
  if (nameless > 0) findings.push(`${nameless} column names without a value on a phone`);
  return findings.map((finding) => `${path}: ${finding}`);
}

/** Opens the pages one after the other, and reports the findings of all of them. */
async function expectNoFindings(test: BrowserTest, paths: readonly string[]): Promise<void> {
  const findings: string[] = [];
  for (const path of paths) findings.push(...(await findingsOf(test, path)));
  expect(findings).toEqual([]);
}

const promise =
  "axe finds nothing serious in the light and the dark theme, and nothing scrolls sideways on a phone";

/** Several tests, so that none of them takes long on a slow machine. */
const groups = 6;
let pages: Promise<readonly string[]> | undefined;
for (let group = 0; group < groups; group++) {
  browserTest(`on every page ${promise} (${group + 1} of ${groups})`, async (test) => {
    pages ??= Promise.all([sendRequests(test), sendBatch(test)]).then(([request, job]) =>
      signedInPages(request, job),
    );
    const paths = (await pages).filter((_, at) => at % groups === group);
    expect(paths.length).toBeGreaterThan(0);
    await expectNoFindings(test, paths);
  });
}

browserTest(
  `on the pages before the sign-in ${promise}`,
  (test) => expectNoFindings(test, publicPages),
  { as: "visitor" },
);

for (const [path, as] of [
  ["/sign-in", "visitor"],
  ["/", "admin"],
] as const) {
  browserTest(
    `the first load of ${path} is at most 200 KB, compressed`,
    async ({ page, open }) => {
      await open(path);
      const bytes = await page.evaluate<number>(
        `performance.getEntriesByType("resource").filter(({ name }) => name.includes("/console/")).reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`,
      );
      expect(bytes).toBeGreaterThan(100_000);
      expect(bytes).toBeLessThanOrEqual(200 * 1024);
    },
    { as },
  );
}
