/** API keys and projects in a browser: created, used by the official client, limited and revoked. */
import { expect } from "bun:test";
import OpenAI from "openai";
import type { Page } from "playwright-core";
import { seriousFindings } from "./axe.ts";
import { browserTest, chooseOther } from "./browser-test.ts";

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

    await row.getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await row.getByText("revoked").waitFor();
    await expect(embedWith(url, key, "after")).rejects.toMatchObject({ status: 401 });

    await visit("/requests");
    await page.getByRole("row").filter({ hasText: "browser-made" }).first().waitFor();
  },
);

browserTest(
  "without the clipboard API a new key is copied or selected, and Escape does not discard it",
  async ({ page, open }) => {
    await open("/keys");
    // As on plain http.
    await page.evaluate(`
      Object.defineProperty(navigator, "clipboard", { value: undefined });
      addEventListener("copy", () => { window.copied = getSelection().toString(); });`);
    await page.getByRole("button", { name: "Create key" }).click();
    const form = page.getByRole("dialog");
    await form.getByLabel("Name").fill("copied");
    await form.getByRole("button", { name: "Create", exact: true }).click();
    const shown = page.getByRole("dialog", { name: "Your new key" });
    const key = await shown.getByRole("code").first().textContent();
    await shown.getByRole("button", { name: "Copy" }).first().click();
    await shown.getByRole("button", { name: "Copied" }).waitFor();
    expect(await page.evaluate<string>("window.copied")).toBe(key ?? "");

    await page.evaluate("document.execCommand = () => false");
    await shown.getByRole("button", { name: /^Cop/ }).first().click();
    await shown.getByText(/Press Ctrl\+C/).waitFor();
    expect(await page.evaluate<string>("getSelection().toString()")).toBe(key ?? "");
    for (let times = 0; times < 3; times++) await page.keyboard.press("Escape");
    await shown.waitFor();
    expect(await shown.getByRole("code").first().textContent()).toBe(key ?? "");
  },
);

browserTest(
  "a new key comes with its base URL, code that works as it is, and a test request that shows its result",
  async ({ page, open, url, fake, problems }) => {
    problems.expectFailure(/^400 POST \S*\/v1\/embeddings$/);
    await open("/keys");
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("tested");
    await chooseOther(page.getByRole("dialog").getByLabel("Models"), "text-embedding-3-*");
    await page.getByRole("button", { name: "Create", exact: true }).click();
    const shown = page.getByRole("dialog", { name: "Your new key" });
    await shown.getByText(`${url}/v1`, { exact: true }).waitFor();
    const key = (await shown.getByRole("code").first().textContent()) ?? "";
    for (const language of ["curl", "Python", "TypeScript"]) {
      await shown.getByRole("tab", { name: language }).click();
      const code = await shown.getByRole("region", { name: language }).textContent();
      expect(code).toContain(key);
      expect(code).toContain(`${url}/v1`);
      expect(code).toContain("text-embedding-3-small");
    }
    const error = { message: "The input is refused.", type: "invalid_request_error" };
    fake.script({ response: { status: 400, body: JSON.stringify({ error }) } });
    const send = shown.getByRole("button", { name: "Send test request" });
    await send.click();
    const alert = shown.getByRole("alert");
    await alert.getByText("The input is refused.").waitFor();
    await alert.getByRole("link", { name: "View request" }).waitFor();
    await send.click();
    await shown.getByText("The key works: 1536 dimensions").waitFor();
    expect(await alert.count()).toBe(0);
    expect(await seriousFindings(page)).toEqual([]);
  },
);
