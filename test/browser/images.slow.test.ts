/** The images playground in a browser. */
import { expect } from "bun:test";
import { seriousFindings } from "./axe.ts";
import { browserTest, choose, chooseModels } from "./browser-test.ts";
import { downloaded, pixelsOf } from "./playground-image.ts";

browserTest("the built-in model generates an image, which stays in the history", async (test) => {
  const { page, open } = test;
  await open("/playground/images");
  await chooseModels(page, "vexel-sketch");
  await page.getByLabel("Prompt").fill("a red boat on a calm sea");
  await choose(page.getByLabel("Size", { exact: true }), "Square · 512 × 512");
  await page.getByText("Estimated cost: $0.00").waitFor();
  await page.getByRole("button", { name: "Generate" }).click();
  await page.getByRole("figure").getByAltText("a red boat on a calm sea").waitFor();
  const { info } = await pixelsOf(await downloaded(test));
  expect([info.width, info.height]).toEqual([512, 512]);

  const history = page.getByRole("tab", { name: "History" });
  await history.getByText("1").waitFor();
  await page.reload();
  await history.click();
  const entry = page.getByRole("listitem").filter({ hasText: "a red boat on a calm sea" });
  await entry.waitFor();
  expect(await entry.textContent()).toContain("Size: Square · 512 × 512");
  expect(await entry.textContent()).toContain("$0.00");
  await entry.getByRole("button", { name: "Reuse settings" }).click();
  expect(await page.getByLabel("Prompt").inputValue()).toBe("a red boat on a calm sea");
  expect(await page.getByLabel("Size", { exact: true }).textContent()).toBe("Square · 512 × 512");
  expect(await seriousFindings(page)).toEqual([]);
  await entry.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("No images yet").waitFor();
});
