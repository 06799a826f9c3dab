/** Upstreams, models, projects, webhooks and keys in a browser. */
import { expect } from "bun:test";
import OpenAI from "openai";
import { startFake } from "../fake-upstream.ts";
import { browserTest } from "./browser-test.ts";

const picture = process.env.VEXEL_SCREENSHOTS;

browserTest("an upstream is added and tested, a model is ticked, a key is created, and the SDK is served", async ({
  page,
  open,
  url,
}) => {
  const fake = startFake({ key: "sk-vendor-key-0123456789" });
  try {
    await open("/upstreams");
    await page.getByRole("button", { name: "Add upstream" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Upstream").fill("vendor");
    await dialog.getByLabel("baseUrl").fill(fake.url);
    await dialog.getByLabel("apiKey").fill("sk-vendor-key-0123456789");
    await dialog.getByRole("button", { name: "Test connection" }).click();
    await dialog.getByText("Connected, credential accepted").waitFor();
    await dialog.getByLabel("text-embedding-3-large").check();
    if (picture) await page.screenshot({ path: `${picture}/upstream-form.png` });
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "hidden" });
    await page.getByText("set ••••6789").waitFor();
    expect(await page.content()).not.toContain("sk-vendor-key-0123456789");

    await open("/keys");
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("browser-app");
    await page.getByRole("dialog").getByRole("button", { name: "Create" }).click();
    const key = await page.getByRole("dialog").locator("code").innerText();
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
    const { data } = await client.embeddings.create({
      model: "text-embedding-3-large",
      input: "hello",
    });
    expect(data[0]?.embedding).toHaveLength(3072);
  } finally {
    fake.close();
  }
});
