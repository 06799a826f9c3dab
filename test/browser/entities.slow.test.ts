/** An upstream, a model and a key in a browser. */
import { expect } from "bun:test";
import OpenAI from "openai";
import { startFake } from "../fake-upstream.ts";
import { browserTest } from "./browser-test.ts";

browserTest(
  "an upstream is added and tested, a model is ticked, a key is created, and the SDK is served",
  async ({ page, open, visit, url }) => {
    const fake = startFake({ key: "sk-vendor-key-0123456789" });
    try {
      await open("/upstreams");
      await page.getByRole("link", { name: "Add upstream" }).click();
      const form = page.getByRole("main");
      await form.getByLabel("Name").fill("vendor");
      await form.getByLabel("baseUrl").fill(fake.url);
      await form.getByLabel("apiKey").fill("sk-vendor-key-0123456789");
      await form.getByRole("button", { name: "Test connection" }).click();
      await form.getByText("Connected, credential valid").waitFor();
      await form.getByRole("checkbox", { name: "text-embedding-3-small" }).check();
      await form.getByText("will be created as vendor/text-embedding-3-small").waitFor();
      await form.getByRole("checkbox", { name: "text-embedding-3-small" }).uncheck();
      await form.getByLabel("text-embedding-3-large").check();
      await form.getByRole("button", { name: "Save" }).click();
      await page.waitForURL(/\/upstreams$/);
      await page.getByText("Set ••••6789").waitFor();
      expect(await page.content()).not.toContain("sk-vendor-key-0123456789");

      await visit("/keys");
      await page.getByRole("button", { name: "Create key" }).click();
      await page.getByRole("dialog").getByLabel("Name").fill("browser-app");
      await page.getByRole("dialog").getByRole("button", { name: "Create" }).click();
      const key = (await page.getByRole("dialog").locator("code").first().textContent()) ?? "";
      const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
      const { data } = await client.embeddings.create({
        model: "text-embedding-3-large",
        input: "hello",
      });
      expect(data[0]?.embedding).toHaveLength(3072);
    } finally {
      fake.close();
    }
  },
);
