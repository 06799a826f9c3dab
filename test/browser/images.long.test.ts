/** The images playground in a browser: masks, the viewer, options, partial images and failures. */
import { expect } from "bun:test";
import sharp from "sharp";
import type { ShownModel } from "../../contract/admin.ts";
import { until } from "../until.ts";
import { seriousFindings } from "./axe.ts";
import { browserTest, choose, chooseModels, chooseOther } from "./browser-test.ts";
import { downloaded, pixelsOf } from "./playground-image.ts";

browserTest(
  "an edit with a painted mask changes nothing outside the painted area",
  async (test) => {
    const { page, open } = test;
    const [size, brush] = [512, 60];
    const original = await sharp({
      create: { width: size, height: size, channels: 3, background: "#3366cc" },
    })
      .png()
      .toBuffer();
    await open("/playground/images");
    await page
      .getByLabel("Reference images", { exact: true })
      .and(page.locator("input"))
      .setInputFiles({ name: "blue.png", mimeType: "image/png", buffer: original });
    const canvas = page.getByLabel("Paint the area that the model may change");
    await canvas.waitFor();
    await chooseModels(page, "vexel-sketch");
    await page.getByLabel("Brush size", { exact: true }).fill(String(brush));
    const box = await canvas.boundingBox();
    if (!box) throw new Error("The canvas is not visible.");
    // A stroke through the middle of the image, which is shown whole and centered.
    const [x, y, scale] = [box.x + box.width / 2, box.y + box.height / 2, box.height / size];
    const reach = 100 * scale;
    await page.mouse.move(x - reach, y);
    await page.mouse.down();
    await page.mouse.move(x + reach, y, { steps: 5 });
    await page.mouse.up();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByRole("button", { name: "Redo" }).click();
    await page.keyboard.press("Control+z");
    await page.getByRole("button", { name: "Undo", disabled: true }).waitFor();
    await page.keyboard.press("Control+Shift+Z");
    await page.getByRole("button", { name: "Undo", disabled: false }).waitFor();
    // The wheel zooms and does not scroll the page, and the pan tool does not paint.
    const scrolls = await page.evaluate<boolean>(
      `document.querySelector("canvas[aria-label]").dispatchEvent(new WheelEvent("wheel", { deltaY: 9, cancelable: true }))`,
    );
    expect(scrolls).toBe(false);
    await page.getByRole("button", { name: "Pan" }).click();
    await canvas.hover();
    await page.mouse.down();
    await canvas.hover({ position: { x: 20, y: 20 } });
    await page.mouse.up();
    const [mask] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download mask" }).click(),
    ]);
    expect(mask.suggestedFilename()).toBe("mask.png");
    await page.getByLabel("Prompt").fill("a red sun");
    await page.getByRole("button", { name: "Edit", exact: true }).click();
    await page.getByRole("figure").getByAltText("a red sun").waitFor();

    const before = await pixelsOf(original);
    const after = await pixelsOf(await downloaded(test));
    expect([after.info.width, after.info.height]).toEqual([size, size]);
    // One pixel of tolerance for the round ends of the stroke on a scaled canvas.
    const isPainted = (column: number, row: number): boolean => {
      const center = Math.min(Math.max(column, size / 2 - 100), size / 2 + 100);
      return Math.hypot(column - center, row - size / 2) <= brush / 2 + 3;
    };
    let [changedInside, changedOutside] = [0, 0];
    for (let at = 0; at < size * size; at++) {
      const isSame = [0, 1, 2].every(
        (channel) => before.data[at * 4 + channel] === after.data[at * 4 + channel],
      );
      if (isSame) continue;
      if (isPainted(at % size, Math.floor(at / size))) changedInside++;
      else changedOutside++;
    }
    expect(changedOutside).toBe(0);
    expect(changedInside).toBeGreaterThan(1000);
  },
);

browserTest(
  "on a touch screen one finger paints the mask, and two fingers zoom without painting",
  async ({ page, open, context }) => {
    const blue = { width: 512, height: 512, channels: 3, background: "#0000ff" } as const;
    await open("/playground/images");
    await page
      .getByLabel("Reference images", { exact: true })
      .and(page.locator("input"))
      .setInputFiles({
        name: "blue.png",
        mimeType: "image/png",
        buffer: await sharp({ create: blue }).png().toBuffer(),
      });
    const canvas = page.getByLabel("Paint the area that the model may change");
    await canvas.scrollIntoViewIfNeeded();
    const box = await canvas.boundingBox();
    if (!box) throw new Error("The canvas is not visible.");
    const session = await context.newCDPSession(page);
    const touch = (type: "touchStart" | "touchMove" | "touchEnd", ...offsets: readonly number[]) =>
      session.send("Input.dispatchTouchEvent", {
        type,
        touchPoints: offsets.map((offset, id) => ({
          x: box.x + box.width / 2 + offset,
          y: box.y + box.height / 2,
          id,
        })),
      });
    const pixelAt = (x: string, y: string) =>
      page.evaluate<number[]>(`(() => {
        const canvas = document.querySelector("canvas[aria-label]");
        return [...canvas.getContext("2d").getImageData(${x}, ${y}, 1, 1).data];
      })()`);
    /** Of the pixel in the middle: the image has no red, and paint has. */
    const red = async (): Promise<number> =>
      (await pixelAt("canvas.width / 2", "canvas.height / 2"))[0] ?? 0;
    await touch("touchStart", -40);
    await touch("touchMove", 0);
    await touch("touchMove", 40);
    await touch("touchEnd");
    await until(async () => (await red()) > 50);
    await page.getByRole("button", { name: "Undo" }).click();
    await until(async () => (await red()) === 0);

    await touch("touchStart", -20);
    await touch("touchStart", -20, 20);
    await touch("touchMove", -60, 60);
    await touch("touchEnd");
    expect(await red()).toBe(0);
    expect(await page.getByRole("button", { name: "Undo" }).isDisabled()).toBe(true);
    // Three times as large: the corner of the canvas, beside the image before, shows the image.
    const corner = await pixelAt("2", "2");
    expect(corner.slice(0, 3)).toEqual([0, 0, 255]);
  },
  { context: { hasTouch: true, isMobile: true, viewport: { width: 600, height: 900 } } },
);

browserTest(
  "an image is viewed in full size, compared with another, used as a reference and edited",
  async (test) => {
    const { page, open } = test;
    await open("/playground/images?model=gpt-image-2");
    await page.getByLabel("Prompt").fill("a lighthouse");
    await choose(page.getByLabel("Images", { exact: true }), "2");
    await page.getByLabel("Prompt").press("Control+Enter");
    const images = page.getByRole("figure");
    await images.nth(1).waitFor();

    await images.first().getByRole("button", { name: "a lighthouse" }).click();
    const lightbox = page.getByRole("dialog");
    await lightbox.getByRole("heading", { name: "Image 1 of 2" }).waitFor();
    await page.keyboard.press("ArrowRight");
    await lightbox.getByRole("heading", { name: "Image 2 of 2" }).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await lightbox.waitFor({ state: "detached" });

    await images.first().getByRole("button", { name: "Compare" }).click();
    await page.getByText("Choose another image to compare.").waitFor();
    await images.nth(1).getByRole("button", { name: "Compare" }).click();
    await page.getByRole("dialog", { name: "Compare images" }).waitFor();
    expect(await page.getByRole("dialog").getByAltText("a lighthouse").count()).toBe(2);
    await page.keyboard.press("Escape");

    await images.first().getByRole("button", { name: "Use as reference" }).click();
    await page.getByAltText("Reference image 1").waitFor();
    // The results stay in view, unless the image is to be edited.
    await images.nth(1).getByRole("button", { name: "Edit this" }).click();
    const canvas = page.getByLabel("Paint the area that the model may change");
    await canvas.waitFor();
    const { y = -1, height = 0 } = (await canvas.boundingBox()) ?? {};
    expect(y).toBeGreaterThanOrEqual(0);
    expect(y + height).toBeLessThanOrEqual(page.viewportSize()?.height ?? 0);
    expect(await page.getByAltText(/^Reference image/).count()).toBe(1);
  },
);

browserTest(
  "only options that a selected model supports are offered, and the others are named",
  async (test) => {
    const { page, open } = test;
    await open("/playground/images");
    await chooseModels(page, "dall-e-3");
    await page.getByLabel("Style").waitFor({ state: "attached" });
    expect(await page.getByLabel("Background").count()).toBe(0);
    await page.getByText(/^dall-e-3 does not support .*Background/).waitFor();
    await chooseModels(page, "dall-e-3", "gpt-image-2");
    await page.getByText(/^gpt-image-2 does not support .*Style/).waitFor();
    // Five options are in view, and the others folded.
    expect(await page.getByLabel("Moderation").isVisible()).toBe(false);
    await page.getByText("Advanced").click();
    await page.getByLabel("Moderation").waitFor();
    // With several models, too, known values are a list. The API's name of an option is a tooltip.
    await page.getByTitle("quality", { exact: true }).getByText("Quality").waitFor();
    await choose(page.getByLabel("Quality"), "High");
    await choose(page.getByLabel("Quality"), "Default");
    // A model that would refuse the request says so before the click.
    await chooseOther(page.getByLabel("Size", { exact: true }), "9x9");
    await page.getByText("dall-e-3 would reject this request").waitFor();
    // A model that cannot edit says so, as soon as there is a reference image.
    const image = await sharp({
      create: { width: 64, height: 64, channels: 3, background: "#333" },
    })
      .png()
      .toBuffer();
    await page
      .getByLabel("Reference images", { exact: true })
      .and(page.locator("input"))
      .setInputFiles({ name: "a.png", mimeType: "image/png", buffer: image });
    await page.getByRole("combobox", { name: "Models" }).click();
    const refusing = page.getByRole("option", { name: "dall-e-3" });
    await refusing.getByText("cannot edit images").waitFor();
    expect(await refusing.getAttribute("aria-disabled")).toBe("true");
  },
);

browserTest("partial images are shown while the image is generated", async (test) => {
  const { page, open, fake } = test;
  await open("/playground/images");
  await chooseModels(page, "gpt-image-2");
  await page.getByLabel("Prompt").fill("a lighthouse");
  await page.getByText("Advanced").click();
  await choose(page.getByLabel("Previews"), "2");
  // Observed in the page: on a busy machine the test may look only after the last image has replaced it.
  await page.evaluate(`new MutationObserver(() => {
    if (document.querySelector('img[alt="Partial image"]')) document.body.dataset.sawPartial = "yes";
  }).observe(document.body, { childList: true, subtree: true })`);
  fake.script({ eventDelayMs: 600 });
  await page.getByRole("button", { name: "Generate" }).click();
  await page.getByRole("figure").getByAltText("a lighthouse").waitFor();
  expect(await page.locator("body").getAttribute("data-saw-partial")).toBe("yes");
  expect(await page.getByAltText("Partial image").count()).toBe(0);
});

browserTest("a failed image request links to its record", async (test) => {
  const { page, open, problems, fake } = test;
  problems.expectFailure(/^400 POST \S*\/playground\/images\/generations$/);
  await open("/playground/images?model=gpt-image-2");
  const error = { message: "The prompt is refused.", type: "invalid_request_error" };
  fake.script({ response: { status: 400, body: JSON.stringify({ error }) } });
  await page.getByLabel("Prompt").fill("a refused prompt");
  await page.getByRole("button", { name: "Generate" }).click();
  // In a new tab: the prompt stays.
  const [record] = await Promise.all([
    page.waitForEvent("popup"),
    page.getByRole("alert").getByRole("link", { name: "View request" }).click(),
  ]);
  await record.getByRole("heading", { name: "Request", exact: true }).waitFor();
  await record.getByText("The prompt is refused.").first().waitFor();
});

browserTest(
  "a run stays where it was when the next one is generated, and its settings are used again",
  async ({ page, open }) => {
    await open("/playground/images");
    await chooseModels(page, "gpt-image-2", "vexel-sketch");
    const generate = async (prompt: string): Promise<void> => {
      await page.getByLabel("Prompt").fill(prompt);
      await page.getByRole("button", { name: "Generate" }).click();
      await page.getByRole("figure").getByAltText(prompt).nth(1).waitFor();
    };
    await choose(page.getByLabel("Quality"), "High");
    await generate("a lighthouse");
    await chooseModels(page, "vexel-sketch", "gpt-image-2");
    await choose(page.getByLabel("Quality"), "Default");
    await generate("a red boat");
    const runs = page.getByRole("region", { name: "Run of gpt-image-2, vexel-sketch" });
    expect(await runs.count()).toBe(2);
    expect(await runs.first().getByAltText("a lighthouse").count()).toBe(2);
    expect(await runs.nth(1).getByAltText("a red boat").count()).toBe(2);
    expect(await seriousFindings(page)).toEqual([]);

    await chooseModels(page, "gpt-image-2");
    await runs.first().getByRole("button", { name: "Reuse settings" }).click();
    expect(await page.getByLabel("Prompt").inputValue()).toBe("a lighthouse");
    expect(await page.getByLabel("Quality").textContent()).toBe("High");
    await page.getByRole("button", { name: "Remove vexel-sketch" }).waitFor();

    // The image of a run is the source of the next edit, whose result is below it.
    await runs.first().getByRole("button", { name: "Edit this" }).first().click();
    await page.getByLabel("Paint the area that the model may change").waitFor();
    await page.getByLabel("Prompt").fill("at night");
    await page.getByRole("button", { name: "Edit", exact: true }).click();
    await page.getByRole("figure").getByAltText("at night").first().waitFor();
    await page.getByRole("figure").getByAltText("a lighthouse").first().waitFor();
  },
);

browserTest(
  "a model that its vendor is about to shut down says so, with the date, before it is used",
  async ({ page, open, admin }) => {
    const { data } = await admin<{ data: ShownModel[] }>("GET", "/models");
    const ending = data.find(({ kind, ends_on: end }) => kind === "image" && end !== null);
    if (!ending?.ends_on) throw new Error("No image model of the catalog has a shutdown date.");
    await page.clock.setFixedTime(Date.parse(ending.ends_on) - 30 * 86_400_000);
    await open(`/playground/images?model=${ending.id}`);
    await page.getByText(new RegExp(`^${ending.id} shuts down on .*\\d{4}`)).waitFor();
    await page.clock.setFixedTime(Date.parse(ending.ends_on) - 120 * 86_400_000);
    await page.reload();
    await page.getByLabel("Prompt").waitFor();
    expect(await page.getByText("shuts down on").count()).toBe(0);
  },
  // With a clock of its own.
  { context: {} },
);

browserTest(
  "the images of a model that stores content are in the gallery of the project, until they are deleted",
  async ({ page, open, admin, problems }) => {
    const id = "stored-images";
    const targets = [{ upstream: "fake", model: "gpt-image-2" }];
    const model = { id, kind: "image", targets, storeContent: { for: "1h" } };
    await admin("POST", "/models", model);
    await open(`/playground/images?model=${id}`);
    await page.getByLabel("Prompt").fill("a stored lighthouse");
    await choose(page.getByLabel("Images", { exact: true }), "2");
    await page.getByRole("button", { name: "Generate" }).click();
    await page.getByRole("figure").nth(1).waitFor();
    await until(async () => {
      const { data } = await admin<{ data: unknown[] }>("GET", `/requests?model=${id}`);
      return data.length > 0;
    });
    // Not from the history of this browser.
    await page.evaluate(`indexedDB.deleteDatabase("vexel")`);
    await open("/playground/images");
    await page.getByRole("tab", { name: "Project gallery" }).click();
    const images = page.getByRole("listitem").filter({ hasText: "a stored lighthouse" });
    await images.nth(1).waitFor();
    expect(await images.first().textContent()).toMatch(/stored-images.*\$\d/);
    expect(await seriousFindings(page)).toEqual([]);
    await images.first().getByRole("button", { name: "Reuse settings" }).click();
    expect(await page.getByLabel("Prompt").inputValue()).toBe("a stored lighthouse");

    problems.expectFailure(/^404 GET \S*\/content$/);
    await images.first().getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("No images yet").waitFor();
    const { data } = await admin<{ data: { id: string }[] }>("GET", `/requests?model=${id}`);
    const gone = await admin("GET", `/requests/${data[0]?.id}/content`).catch(String);
    expect(String(gone)).toContain("404");
    await admin("DELETE", `/models/${id}`);
  },
);
