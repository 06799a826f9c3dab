/** The map of the embeddings playground, a file of texts, and a model that fails, in a browser. */
import { expect } from "bun:test";
import { until } from "../until.ts";
import { seriousFindings } from "./axe.ts";
import { browserTest, choose, chooseModels } from "./browser-test.ts";

browserTest(
  "a point of the map says what it is, is colored by a column of the file, and selects its neighbors",
  async ({ page, open }) => {
    await open("/playground/embeddings?model=all-minilm-l6-v2");
    await page.getByLabel("Text file").setInputFiles({
      name: "topics.jsonl",
      mimeType: "text/plain",
      buffer: Buffer.from(
        ["a cat|animals", "a dog|animals", "bread|food", "cake|food"]
          .map((line) => line.split("|"))
          .map(([text, topic]) => JSON.stringify({ topic, text }))
          .join("\n"),
      ),
    });
    await page.getByRole("button", { name: "Embed", exact: true }).click();
    const map = page.getByRole("img", { name: /^Map of texts/ });
    await choose(page.getByLabel("Color by"), "topic");
    await page.getByText("animals", { exact: true }).waitFor();
    await map.focus();
    await page.keyboard.press("ArrowRight");
    const shown = page.getByRole("tooltip");
    expect(await shown.textContent()).toBe("a dogtopic: animals");
    await page.keyboard.press("Enter");
    await page.getByText("Nearest to a dog").waitFor();

    // The text is 10 pixels from its point, on the side that has more room.
    await shown.scrollIntoViewIfNeeded();
    const [text, frame] = [await shown.boundingBox(), await map.boundingBox()];
    const style = (await shown.getAttribute("style")) ?? "";
    if (!text || !frame) throw new Error("The map is not visible.");
    const x = style.includes("left") ? text.x - 10 : text.x + text.width + 10;
    const y = style.includes("top") ? text.y - 10 : text.y + text.height + 10;
    await page.mouse.move(frame.x + 2, frame.y + 2);
    await shown.waitFor({ state: "detached" });
    await page.mouse.move(x, y);
    expect(await shown.textContent()).toBe("a dogtopic: animals");

    // The point under the pointer stays there when the map is zoomed.
    await page.mouse.wheel(0, -500);
    await page.mouse.move(x + 1, y);
    expect(await shown.textContent()).toBe("a dogtopic: animals");
    expect(await seriousFindings(page)).toEqual([]);
  },
);

browserTest("a model that fails says why, beside the results of the others", async (test) => {
  const { page, open, problems, fake } = test;
  problems.expectFailure(/^400 POST \S*\/playground\/embeddings$/);
  await open("/playground/embeddings");
  const error = { message: "The input is refused.", type: "invalid_request_error" };
  fake.script({ response: { status: 400, body: JSON.stringify({ error }) } });
  await page.getByLabel("Texts", { exact: true }).fill("a text");
  await chooseModels(page, "text-embedding-3-small", "all-minilm-l6-v2");
  await page.getByRole("button", { name: "Embed", exact: true }).click();
  const alert = page.getByRole("alert").filter({ hasText: "text-embedding-3-small" });
  await alert.getByText("The input is refused.").waitFor();
  expect(await alert.getByRole("link", { name: "View request" }).getAttribute("href")).toMatch(
    /\/console\/requests\/req_\w+$/,
  );
  await page.getByRole("img", { name: "Similarity of every pair of texts" }).waitFor();
});

browserTest(
  "a file of texts is read, and its vectors can be downloaded",
  async ({ page, open }) => {
    await open("/playground/embeddings");
    await page.getByLabel("Text file").setInputFiles({
      name: "texts.csv",
      mimeType: "text/csv",
      buffer: Buffer.from('label,text\n1,"one, two"\n2,three\n3,four\n'),
    });
    await page.getByText("3 texts").waitFor();
    expect(await page.getByLabel("Texts", { exact: true }).inputValue()).toBe(
      "one, two\nthree\nfour",
    );
    expect(await page.getByLabel("Column").textContent()).toBe("text");
    await page.getByText("texts.csv", { exact: true }).waitFor();
    await page.getByLabel("Text file").setInputFiles({
      name: "texts.txt",
      mimeType: "text/plain",
      buffer: Buffer.from("%PDF-1.7"),
    });
    await page.getByText("texts.txt is not a UTF-8 text file").waitFor();
    await page.getByRole("button", { name: "Embed", exact: true }).click();
    await page.getByRole("img", { name: /^Map of texts/ }).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download vectors" }).click(),
    ]);
    const lines = (await Bun.file(await download.path()).text()).split("\n");
    const rows = lines.map((line) => JSON.parse(line));
    expect(rows.map(({ text }) => text)).toEqual(["one, two", "three", "four"]);
    expect(rows[0].embedding).toHaveLength(1536);
  },
);

browserTest(
  "a run of many texts says how far it is, and its neighbors are as high as the map",
  async ({ page, open, fake }) => {
    await page.setViewportSize({ width: 1440, height: 900 });
    await open("/playground/embeddings");
    await chooseModels(page, "text-embedding-3-small");
    const texts = Array.from({ length: 200 }, (_, at) => `text ${at}`);
    await page.getByLabel("Texts", { exact: true }).fill(texts.join("\n"));
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    fake.script(
      { until: released },
      { when: ({ json = null }) => JSON.stringify(json).includes("text 199") },
    );
    await page.getByRole("button", { name: "Embed", exact: true }).click();
    const progress = page.getByRole("progressbar", { name: "Embedding 200 entries…" });
    await until(async () => (await progress.getAttribute("value")) === "0.64");
    release();
    const map = page.getByRole("img", { name: /^Map of texts/ });
    await map.waitFor();
    const neighbors = page.getByRole("region", { name: "text-embedding-3-small", exact: true });
    expect(await neighbors.getByRole("listitem").count()).toBe(50);
    const [left, right] = [await map.boundingBox(), await neighbors.boundingBox()];
    if (!left || !right) throw new Error("The map or the list is not visible.");
    expect(right.x).toBeGreaterThan(left.x + left.width);
    expect(Math.abs(right.y + right.height - (left.y + left.height))).toBeLessThan(100);
    expect(await seriousFindings(page)).toEqual([]);
  },
);
