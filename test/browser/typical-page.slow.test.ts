/** One page of the console: accessible in both themes, as wide as a phone, and in Chinese. */
import { expect } from "bun:test";
import { browserTest, choose, settled } from "./browser-test.ts";
import { findingsOf, overflows } from "./page-findings.ts";

browserTest(
  "on the page of API keys axe finds nothing serious in both themes, nothing scrolls sideways on a phone, and a user reads it in Chinese",
  async (test) => {
    const { page, visit } = test;
    expect(await findingsOf(test, "/keys")).toEqual([]);
    await visit("/account");
    await choose(page.getByLabel("Language"), "简体中文");
    await page.locator("html[lang=zh-Hans]").waitFor();
    await visit("/keys");
    await page.getByRole("heading", { name: "API 密钥" }).waitFor();
    await page.getByRole("button", { name: "创建密钥" }).click();
    await page.getByRole("dialog", { name: "创建密钥" }).waitFor();
    expect(await overflows(page)).toEqual([]);
    await page.reload();
    await settled(page);
    await page.getByRole("heading", { name: "API 密钥" }).waitFor();
  },
);
