/** API keys in a browser: created, used by the official client, and revoked. */
import { expect } from "bun:test";
import OpenAI from "openai";
import type { Page } from "playwright-core";
import { browserTest, chooseAction } from "./browser-test.ts";

/** Creates a key as a user does, and returns it. */
async function createKey(page: Page, fields: Readonly<Record<string, string>>): Promise<string> {
  await page.getByRole("button", { name: "Create key" }).click();
  const form = page.getByRole("dialog");
  for (const [label, value] of Object.entries(fields))
    await form.getByRole("textbox", { name: label }).or(form.getByLabel(label)).first().fill(value);
  await form.getByRole("button", { name: "Create", exact: true }).click();
  const shown = page.getByRole("dialog", { name: "Your new key" });
  const key = (await shown.getByRole("code").first().textContent()) ?? "";
  await shown.getByRole("button", { name: "Close" }).click();
  return key;
}

const embedWith = async (url: string, apiKey: string, input: string) =>
  await new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 }).embeddings.create({
    model: "text-embedding-3-small",
    input,
  });

browserTest(
  "a key that is created in the browser works at once, is refused at once when it is revoked, and keeps its name",
  async (test) => {
    const { page, open, visit, url } = test;
    await open("/keys");
    const key = await createKey(page, { Name: "browser-made" });
    expect((await embedWith(url, key, "before")).data).toHaveLength(1);
    // The list has the first characters of the key, never the key.
    const row = page.getByRole("row").filter({ hasText: "browser-made" });
    await row.getByText("active").waitFor();
    expect(await page.content()).not.toContain(key);

    await chooseAction(row, "Revoke");
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await row.getByText("revoked").waitFor();
    await expect(embedWith(url, key, "after")).rejects.toMatchObject({ status: 401 });

    await visit("/requests");
    await page.getByRole("row").filter({ hasText: "browser-made" }).first().waitFor();
  },
);
