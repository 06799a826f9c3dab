/**
 * Takes screenshots of every page: light, dark, in Chinese, and as wide as a phone.
 * `bun test/browser/take-screenshots.ts FOLDER`. Look at them after a change of the console; docs/images/ keeps those
 * that the documents show.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContextOptions } from "playwright-core";
import { settled, setUpAdmin } from "./browser-test.ts";
import { sharedBrowser } from "./chromium.ts";
import { sendBatch, sendRequests, startConsoleGateway } from "./console-gateway.ts";
import { publicPages, signedInPages } from "./router-pages.ts";

const folder = process.argv[2];
if (!folder) throw new Error("Name the folder for the screenshots.");
const only = process.argv[3];
const desktop = { width: 1280, height: 800 };
const looks: Readonly<Record<string, BrowserContextOptions>> = {
  light: { viewport: desktop, colorScheme: "light" },
  dark: { viewport: desktop, colorScheme: "dark" },
  chinese: { viewport: desktop },
  phone: { viewport: { width: 390, height: 844 }, hasTouch: true, deviceScaleFactor: 2 },
};

const gateway = await startConsoleGateway();
const browser = await sharedBrowser();
const first = await browser.newContext({ baseURL: gateway.url });
await setUpAdmin(await first.newPage(), gateway);
const storageState = await first.storageState();
const pages = [
  ...signedInPages(await sendRequests(gateway), await sendBatch(gateway)),
  ...publicPages,
];
mkdirSync(folder, { recursive: true });
for (const [look, options] of Object.entries(looks)) {
  const context = await browser.newContext({ baseURL: gateway.url, storageState, ...options });
  // The stored choice of the first context is English.
  if (look === "chinese")
    await context.addInitScript(() => localStorage.setItem("vexel.language", "zh"));
  const page = await context.newPage();
  for (const path of pages) {
    if (only !== undefined && !path.includes(only)) continue;
    await page.goto(`/console${path}`);
    await settled(page);
    await page.screenshot({
      path: join(folder, `${path.slice(1).replaceAll("/", "-") || "overview"}-${look}.png`),
      fullPage: true,
    });
  }
  await context.close();
}
await browser.close();
gateway.gateway.kill("SIGTERM");
gateway.fake.close();
process.exit();
