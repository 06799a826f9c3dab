/** Takes the screenshots of docs/console.md again: `bun test/browser/take-docs-screenshots.ts`. */
import { join } from "node:path";
import sharp from "sharp";
import { root } from "../harness.ts";
import { chooseModels, settled, setUpAdmin } from "./browser-test.ts";
import { sharedBrowser } from "./chromium.ts";
import { startConsoleGateway } from "./console-gateway.ts";

const gateway = await startConsoleGateway();
const browser = await sharedBrowser();
const context = await browser.newContext({
  baseURL: gateway.url,
  viewport: { width: 1200, height: 860 },
  colorScheme: "light",
});
const page = await context.newPage();
await setUpAdmin(page, gateway);

const open = async (path: string): Promise<void> => {
  await page.goto(`/console${path}`);
  await settled(page);
};

async function save(name: string): Promise<void> {
  const screenshot = await page.screenshot();
  const path = join(root, "docs/images", `console-${name}.webp`);
  await sharp(screenshot).webp({ quality: 80, effort: 6 }).toFile(path);
}

await open("/models");
await save("models");

await open("/playground/embeddings");
await chooseModels(page, "all-minilm-l6-v2");
await page.getByRole("button", { name: "Embed", exact: true }).click();
await page.getByRole("img", { name: /^Map of texts/ }).waitFor();
await save("embeddings");

await open("/playground/images");
await chooseModels(page, "vexel-sketch");
await page.getByLabel("Prompt").fill("a red boat on a calm sea at sunset");
await page.getByRole("button", { name: "Generate" }).click();
await page.getByRole("figure").getByAltText("a red boat on a calm sea at sunset").waitFor();
await page.getByRole("button", { name: "Edit this" }).first().click();
await page.getByLabel("Prompt").fill("a bright moon");
const canvas = page.getByLabel("Paint the area that the model may change");
await canvas.waitFor();
await page.getByRole("button", { name: "Fit" }).click();
const box = await canvas.boundingBox();
if (!box) throw new Error("The canvas is not visible.");
const [x, y] = [box.x + box.width / 2, box.y + box.height * 0.2];
await page.mouse.move(x - 60, y);
await page.mouse.down();
await page.mouse.move(x + 60, y + 15, { steps: 8 });
await page.mouse.up();
await save("images");

await browser.close();
gateway.gateway.kill("SIGTERM");
gateway.fake.close();
process.exit();
