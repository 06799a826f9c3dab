/** Images in the embeddings playground, with an upstream that knows the color of an image and of a text. */
import { expect } from "bun:test";
import type { Page } from "playwright-core";
import sharp from "sharp";
import type { CohereRequest } from "../embeddings/multimodal-fixture.ts";
import { until } from "../until.ts";
import { seriousFindings } from "./axe.ts";
import { type BrowserTest, browserTest, chooseModels } from "./browser-test.ts";

const colors = ["red", "green", "blue"] as const;
type Rgb = readonly number[];

/** Cohere: a text is as near to an image as its words are to the image's color. */
function startColorUpstream() {
  const ofText = (text: string): Rgb =>
    colors.map((color) => (text.toLowerCase().includes(color) ? 1 : 0.1));
  const ofImage = async (url = ""): Promise<Rgb> => {
    const { channels } = await sharp(Buffer.from(url.split(",")[1] ?? "", "base64")).stats();
    return channels.slice(0, 3).map(({ mean }) => mean / 255 + 0.1);
  };
  const packed = (vector: Rgb): string =>
    Buffer.from(Float32Array.from(vector).buffer).toString("base64");
  return Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const { texts = [], inputs = [] } = (await request.json()) as CohereRequest;
      const vectors = await Promise.all([
        ...texts.map(ofText),
        ...inputs.map(({ content }) => ofImage(content[0]?.image_url?.url)),
      ]);
      return Response.json({ id: "1", embeddings: { base64: vectors.map(packed) } });
    },
  });
}

/** Runs with the model `color-images`, which reads images. */
async function withColorModel({ admin }: BrowserTest, run: () => Promise<void>): Promise<void> {
  const vendor = startColorUpstream();
  const baseUrl = `http://127.0.0.1:${vendor.port}`;
  await admin("POST", "/upstreams", { id: "colors", kind: "cohere", baseUrl, apiKey: "co-fake" });
  await admin("POST", "/models", {
    id: "color-images",
    dimensions: colors.length,
    kind: "embedding",
    targets: [{ upstream: "colors", model: "embed-v4.0" }],
  });
  try {
    await run();
  } finally {
    await admin("DELETE", "/models/color-images");
    await admin("DELETE", "/upstreams/colors");
    await vendor.stop(true);
  }
}

const picture = (background: string): Promise<Buffer> =>
  sharp({ create: { width: 64, height: 48, channels: 3, background } })
    .png()
    .toBuffer();

interface GivenFile {
  readonly name: string;
  readonly type: string;
  readonly bytes: Buffer;
}

/** Drops or pastes files. */
async function give(
  page: Page,
  how: "drop" | "paste",
  selector: string,
  files: readonly GivenFile[],
): Promise<void> {
  const sent = files.map(({ bytes, ...file }) => ({ ...file, base64: bytes.toString("base64") }));
  await page.evaluate(`(() => {
    const transfer = new DataTransfer();
    for (const { name, type, base64 } of ${JSON.stringify(sent)}) {
      const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
      transfer.items.add(new File([bytes], name, { type }));
    }
    const init = { dataTransfer: transfer, clipboardData: transfer, bubbles: true, cancelable: true };
    const event = ${how === "drop" ? "new DragEvent" : "new ClipboardEvent"}("${how}", init);
    document.querySelector(${JSON.stringify(selector)}).dispatchEvent(event);
  })()`);
}

browserTest("two dropped images and a text are embedded, and the text finds its picture", (test) =>
  withColorModel(test, async () => {
    const { page, open, visit } = test;
    // The catalog says which models read images.
    await open("/models");
    const row = page.getByRole("row").filter({ hasText: "color-images" });
    await row.getByText("text and images").waitFor();
    await visit("/playground/embeddings");
    await chooseModels(page, "text-embedding-3-small", "color-images");
    await page.getByLabel("Texts", { exact: true }).fill("a red boat");
    await give(page, "drop", 'section[aria-label="Images"]', [
      { name: "sea.png", type: "image/png", bytes: await picture("#1030d0") },
      { name: "drawing.svg", type: "image/svg+xml", bytes: Buffer.from("<svg/>") },
    ]);
    await page
      .getByText("Not added, because the format is not PNG, JPEG, WEBP, GIF, AVIF: drawing.svg")
      .waitFor();
    // The field of texts takes images, too.
    await give(page, "drop", "textarea", [
      { name: "boat.png", type: "image/png", bytes: await picture("#d01020") },
    ]);
    await page.getByAltText("boat.png").waitFor();
    expect(await page.getByText("drawing.svg").count()).toBe(0);
    // A model that reads texts only is not asked.
    await page.getByRole("combobox", { name: "Models" }).click();
    const refusing = page.getByRole("option", { name: "text-embedding-3-small" });
    await refusing.getByText("text only").waitFor();
    expect(await refusing.getAttribute("aria-disabled")).toBe("true");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Embed", exact: true }).click();

    const heatMap = page.getByRole("img", { name: "Similarity of every pair of texts" });
    await heatMap.waitFor();
    // Two beside the rows, two above the columns, and one of the selected pair.
    const thumbnails = page.locator("figure").filter({ has: heatMap }).locator("img");
    await until(async () => (await thumbnails.count()) === 5);
    const map = page.getByRole("img", { name: /^Map of texts/ });
    await map.waitFor();
    await page.getByText(/^3 points\./).waitFor();
    await map.focus();
    await page.keyboard.press("ArrowRight");
    await page.getByRole("tooltip").getByText("sea.png").waitFor();
    expect(await page.getByRole("tooltip").locator("img").count()).toBe(1);

    const neighbors = page
      .getByRole("region", { name: "color-images", exact: true })
      .getByRole("listitem");
    await page.getByText("Nearest to a red boat").waitFor();
    expect(await neighbors.allTextContents()).toEqual([
      expect.stringContaining("boat.png"),
      expect.stringContaining("sea.png"),
    ]);
    expect(await neighbors.locator("img").count()).toBe(2);
    await neighbors.first().getByRole("button").click();
    await page.getByText("Nearest to boat.png").waitFor();
    expect(await neighbors.first().textContent()).toContain("a red boat");

    const code = page.getByRole("region", { name: "curl" });
    expect(await code.textContent()).toContain("base64 < 'boat.png'");
    expect(await seriousFindings(page)).toEqual([]);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download vectors" }).click(),
    ]);
    const rows = (await Bun.file(await download.path()).text()).split("\n");
    expect(rows.map((row) => JSON.parse(row))).toMatchObject([
      { text: "a red boat" },
      { image: "sea.png" },
      { image: "boat.png" },
    ]);
  }),
);

browserTest(
  "a pasted image for a model that reads texts only is refused with advice",
  async (test) => {
    const { page, open } = test;
    await open("/playground/embeddings");
    expect(await page.locator('section[aria-label="Images"]').count()).toBe(0);
    await give(page, "paste", "textarea", [
      { name: "boat.png", type: "image/png", bytes: await picture("red") },
    ]);
    await page.getByText("boat.png is an image. Choose a model that supports images.").waitFor();
  },
);

browserTest("a model behind another Vexel takes images", async ({ page, open, admin }) => {
  const baseUrl = "http://127.0.0.1:9/v1";
  await admin("POST", "/upstreams", { id: "other-vexel", kind: "vexel", baseUrl, apiKey: "sk-1" });
  const targets = [{ upstream: "other-vexel", model: "clip" }];
  await admin("POST", "/models", { id: "behind-vexel", kind: "embedding", targets });
  await open("/playground/embeddings?model=behind-vexel");
  await page.locator('section[aria-label="Images"]').waitFor();
  await admin("DELETE", "/models/behind-vexel");
  await admin("DELETE", "/upstreams/other-vexel");
});
