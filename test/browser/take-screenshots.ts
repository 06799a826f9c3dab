/**
 * Takes screenshots of every page of the console: as wide as a desktop and as a phone, light and dark.
 * `npm run screenshots [-- FOLDER [PATH [LANGUAGE]]]`. FOLDER: `docs/images/console`, unless another one is named. PATH:
 * a part of the paths of the pages. LANGUAGE: `zh` for Chinese. Look at them after a change of the console.
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

const [folder = join(root, "docs/images/console"), only = "", language] = process.argv.slice(2);
const widths = { "1440": { width: 1440, height: 900 }, "390": { width: 390, height: 844 } };
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
mkdirSync(folder, { recursive: true });
for (const [width, viewport] of Object.entries(widths)) {
  for (const colorScheme of themes) {
    const context = await browser.newContext({
      baseURL: gateway.url,
      storageState,
      viewport,
      colorScheme,
    });
    if (language !== undefined)
      await context.addInitScript((chosen) => {
        localStorage.setItem("vexel.language", chosen);
      }, language);
    const page = await context.newPage();
    for (const path of pages.filter((each) => each.includes(only))) {
      await page.goto(`/console${path}`);
      await settled(page);
      // Values that come after the list, such as the spend of keys.
      await page.waitForLoadState("networkidle");
      // The ids of requests and jobs are left out, so that a file keeps its name.
      const name = path
        .replace(/\/(?:req|batch)_\w+$/, "-one")
        .slice(1)
        .replaceAll("/", "-");
      const height = await page.evaluate<number>("document.documentElement.scrollHeight");
      const screenshot = await page.screenshot({
        fullPage: true,
        clip: { x: 0, y: 0, width: viewport.width, height: Math.min(height, maxHeight) },
      });
      await sharp(screenshot)
        .webp({ quality: 60, effort: 6 })
        .toFile(join(folder, `${name || "overview"}-${width}-${colorScheme}.webp`));
    }
    await context.close();
  }
}
await browser.close();
gateway.gateway.kill("SIGTERM");
gateway.fake.close();
process.exit();
