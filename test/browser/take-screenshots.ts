/**
 * Takes screenshots of every page of the console: 1440, 1280 and 390 pixels wide, light and dark, in both languages.
 * `npm run screenshots [-- FOLDER [PATH]]`. FOLDER: `screenshots`, which git ignores, unless another one is named. PATH:
 * a part of the paths of the pages. Look at them after a change of the console, beside those of the commit before it.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import sharp from "sharp";
import { root } from "../harness.ts";
import { settled, setUpAdmin } from "./browser-test.ts";
import { sharedBrowser } from "./chromium.ts";
import { sendBatch, sendRequests } from "./console-gateway.ts";
import { startLargeGateway } from "./large-gateway.ts";
import { publicPages, signedInPages } from "./router-pages.ts";

const [folder = join(root, "screenshots"), only = ""] = process.argv.slice(2);
const viewports = [
  { width: 1440, height: 900 },
  { width: 1280, height: 800 },
  { width: 390, height: 844 },
] as const;
const languages = ["en", "zh"] as const;
const themes = ["light", "dark"] as const;
/** A longer page is cut. */
const maxHeight = 2000;

const gateway = await startLargeGateway();
const browser = await sharedBrowser();
const first = await browser.newContext({ baseURL: gateway.url });
await setUpAdmin(await first.newPage(), gateway);
const storageState = await first.storageState();
const [request, job] = [await sendRequests(gateway), await sendBatch(gateway)];
const pages = [...signedInPages(request, job), ...publicPages];
for (const language of languages) {
  mkdirSync(join(folder, language), { recursive: true });
  for (const viewport of viewports)
    for (const theme of themes) await take(language, viewport, theme);
}
await browser.close();
gateway.gateway.kill("SIGTERM");
gateway.fake.close();
process.exit();

async function take(
  language: string,
  viewport: (typeof viewports)[number],
  colorScheme: (typeof themes)[number],
): Promise<void> {
  const options = { baseURL: gateway.url, storageState, viewport, colorScheme };
  const context = await browser.newContext(options);
  await context.addInitScript((chosen) => {
    localStorage.setItem("vexel.language", chosen);
  }, language);
  const page = await context.newPage();
  for (const path of pages.filter((each) => each.includes(only))) {
    await page.goto(`/console${path}`);
    await settled(page);
    // Values that come after the list, such as the spend of keys.
    await page.waitForLoadState("networkidle");
    const height = await page.evaluate<number>("document.documentElement.scrollHeight");
    const screenshot = await page.screenshot({
      fullPage: true,
      clip: { x: 0, y: 0, width: viewport.width, height: Math.min(height, maxHeight) },
    });
    const name = `${nameOf(path)}-${viewport.width}-${colorScheme}.webp`;
    await sharp(screenshot)
      .webp({ quality: 60, effort: 4 })
      .toFile(join(folder, language, name));
  }
  await context.close();
}

/** Without the ids of requests and jobs, so that a file keeps its name. */
function nameOf(path: string): string {
  const name = path.replace(/\/(?:req|batch)_\w+$/, "-one");
  return name.slice(1).replaceAll("/", "-") || "overview";
}
