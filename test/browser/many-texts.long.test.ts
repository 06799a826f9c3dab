/** The embeddings playground with more texts than a test of its parts needs. */
import { expect } from "bun:test";
import { browserTest, chooseModels } from "./browser-test.ts";

browserTest(
  "hundreds of texts of 3,072 dimensions do not freeze the page, neither while they are computed nor drawn",
  async ({ page, open }) => {
    // More texts take the browser of the tests, which compiles nothing, most of a minute.
    const count = 260;
    await open("/playground/embeddings");
    await chooseModels(page, "embedding-model");
    // With the few texts of the example first: the browser compiles the page's code once.
    const embed = page.getByRole("button", { name: "Embed", exact: true });
    const map = page.getByRole("img", { name: /^Map of texts/ });
    await embed.click();
    await map.waitFor();
    const texts = Array.from({ length: count }, (_, at) => `text ${at} about subject ${at % 17}`);
    await page.getByLabel("Texts", { exact: true }).fill(texts.join("\n"));
    await page.getByText(`${count} texts`).waitFor();
    const session = await page.context().newCDPSession(page);
    // CPU time of the main thread: a busy machine does not change it.
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    const taskSeconds = async (): Promise<number> => {
      const { metrics } = await session.send("Performance.getMetrics");
      return metrics.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN;
    };
    const before = await taskSeconds();
    await embed.click();
    await page.getByRole("img", { name: "Similarity of every pair of texts" }).waitFor();
    await map.waitFor({ timeout: 120_000 });
    await page.getByText(`${count} points.`).waitFor({ timeout: 120_000 });
    await page.getByText(/^100.*% of the/).waitFor();
    await page.getByRole("slider", { name: /embedding-model/ }).fill("96");
    await page.getByText(/96\.9% less storage/).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download vectors" }).click(),
    ]);
    expect((await Bun.file(await download.path()).text()).split("\n")).toHaveLength(count);
    const own = (await taskSeconds()) - before;
    // All similarities, in the same thread.
    await page.evaluate(`(() => {
      const vectors = Array.from({ length: ${count} }, (_, row) =>
        Float32Array.from({ length: 3072 }, (_, at) => row + at));
      let sum = 0;
      for (const a of vectors)
        for (const b of vectors)
          for (let at = 0; at < 3072; at++) sum += a[at] * b[at];
      window.sum = sum;
    })()`);
    const reference = (await taskSeconds()) - before - own;
    // Drawing takes about as long as all similarities: with the similarities in this thread, it would be twice as long.
    expect(own / reference).toBeLessThan(1.5);
  },
);
