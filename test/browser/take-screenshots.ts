/**
 * Takes screenshots of every page: light, dark, and as wide as a phone. `bun test/browser/take-screenshots.ts FOLDER`.
 * Look at them after a change of the console; docs/images/ keeps those that the documents show.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContextOptions } from "playwright-core";
import { settled, setUpAdmin } from "./browser-test.ts";
import { sharedBrowser } from "./chromium.ts";
import { startConsoleGateway, testKey } from "./console-gateway.ts";
import { publicPages, signedInPages } from "./router-pages.ts";

const folder = process.argv[2];
if (!folder) throw new Error("Name the folder for the screenshots.");
const only = process.argv[3];
const desktop = { width: 1280, height: 800 };
const looks: Readonly<Record<string, BrowserContextOptions>> = {
  light: { viewport: desktop, colorScheme: "light" },
  dark: { viewport: desktop, colorScheme: "dark" },
  phone: { viewport: { width: 390, height: 844 }, hasTouch: true, deviceScaleFactor: 2 },
};

const gateway = await startConsoleGateway();
const browser = await sharedBrowser();
const first = await browser.newContext({ baseURL: gateway.url });
await setUpAdmin(await first.newPage(), gateway);
const storageState = await first.storageState();
const headers = { authorization: `Bearer ${testKey}`, "content-type": "application/json" };
for (const body of [
  { model: "text-embedding-3-small", input: ["a red boat", "a green hill"] },
  { model: "all-minilm-l6-v2", input: "a red boat" },
  { model: "no-such-model", input: "a red boat" },
])
  await fetch(`${gateway.url}/v1/embeddings`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
mkdirSync(folder, { recursive: true });
for (const [look, options] of Object.entries(looks)) {
  const context = await browser.newContext({ baseURL: gateway.url, storageState, ...options });
  const page = await context.newPage();
  for (const path of [...signedInPages, ...publicPages]) {
    if (only !== undefined && !path.includes(only)) continue;
    await page.goto(`/console${path}`);
    await settled(page);
    await page.screenshot({
      path: join(folder, `${path.slice(1).replaceAll("/", "-")}-${look}.png`),
      fullPage: true,
    });
  }
  await context.close();
}
await browser.close();
gateway.gateway.kill("SIGTERM");
gateway.fake.close();
process.exit();
