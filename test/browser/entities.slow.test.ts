/** Upstreams and models in a browser. */
import { expect } from "bun:test";
import OpenAI from "openai";
import { startFake } from "../fake-upstream.ts";
import { browserTest, choose } from "./browser-test.ts";

browserTest(
  "an upstream is added and tested, a model is ticked, a key is created, and the SDK is served",
  async ({ page, open, visit, url }) => {
    const fake = startFake({ key: "sk-vendor-key-0123456789" });
    try {
      await open("/upstreams");
      await page.getByRole("button", { name: "Add upstream" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Name").fill("vendor");
      await dialog.getByLabel("baseUrl").fill(fake.url);
      await dialog.getByLabel("apiKey").fill("sk-vendor-key-0123456789");
      await dialog.getByRole("button", { name: "Test connection" }).click();
      await dialog.getByText("Connected, credential valid").waitFor();
      await dialog.getByRole("checkbox", { name: "text-embedding-3-small" }).check();
      await dialog.getByText("will be created as vendor/text-embedding-3-small").waitFor();
      await dialog.getByRole("checkbox", { name: "text-embedding-3-small" }).uncheck();
      await dialog.getByLabel("text-embedding-3-large").check();
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.waitFor({ state: "hidden" });
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

browserTest(
  "an upstream of vexel.yaml is locked and says where it is defined",
  async ({ page, open }) => {
    await open("/upstreams");
    const row = page.getByRole("row", { name: /^fake / });
    await row.getByText(/vexel\.yaml line \d+/).waitFor();
    expect(await row.getByRole("button", { name: "Edit" }).count()).toBe(0);
    expect(await row.getByRole("button", { name: "Delete" }).count()).toBe(0);
    await row.getByRole("button", { name: "Test connection" }).click();
    await row.getByText("Connected, credential valid").waitFor();
  },
);

browserTest(
  "a model is created, changed and deleted, and a change of another administrator is not lost",
  async ({ page, open, visit, admin, problems }) => {
    await open("/models");
    await page.getByRole("button", { name: "Create model" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox", { name: "Model ID" }).fill("team-search");
    await choose(dialog.getByRole("combobox", { name: "Upstream", exact: true }), "fake");
    await choose(dialog.getByLabel("Upstream model"), "text-embedding-3-small");
    await dialog.getByText("Options", { exact: true }).click();
    await choose(dialog.getByLabel("Embedding cache"), "No");
    await dialog.locator("summary", { hasText: "Prices" }).click();
    const price = dialog.locator('[name="price.input"]');
    // The list price, with its source.
    await dialog
      .getByText(/^List price from .*2026/)
      .last()
      .waitFor();
    expect(await price.getAttribute("placeholder")).toBe("0.02");
    await price.fill("0.07");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "hidden" });
    const { definition } = await admin<{ definition: { value: object } }>(
      "GET",
      "/models/team-search",
    );
    expect(definition.value).toMatchObject({ cache: false, price: { input: 0.07 } });

    await visit("/model/team-search");
    await page.getByRole("button", { name: "Edit" }).click();
    const targets = [{ upstream: "fake", model: "text-embedding-3-small" }];
    await admin("PUT", "/models/team-search", {
      kind: "embedding",
      targets,
      description: "Changed by somebody else.",
    });
    problems.expectFailure(/^412 PUT \S*\/models\/team-search$/);
    await page.getByRole("dialog").getByLabel("Description").fill("Mine.");
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await page
      .getByRole("dialog")
      .getByText(/Reload it and repeat your change/)
      .waitFor();
    await open("/model/team-search");
    await page.getByText("Changed by somebody else.").waitFor();
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.waitForURL(/\/models$/);
  },
);
