/** The combobox, in the form of an upstream, whose kinds are too many for a plain list. */
import { expect } from "bun:test";
import { seriousFindings } from "./axe.ts";
import { browserTest } from "./browser-test.ts";

browserTest(
  "a kind is found by typing and chosen with the keyboard, and Escape closes only the list",
  async ({ page, open, visit }) => {
    await open("/upstreams");
    await page.getByRole("link", { name: "Add upstream" }).click();
    const kind = page.getByRole("combobox", { name: "Vendor or server" });
    await kind.focus();
    await page.keyboard.press("Enter");
    const search = page.getByPlaceholder("Search", { exact: true });
    await search.waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await page.keyboard.type("openai azure");
    await page.getByRole("option").nth(1).waitFor({ state: "detached" });
    expect(await page.getByRole("option").allInnerTexts()).toEqual([
      expect.stringContaining("Azure OpenAI"),
    ]);
    await page.keyboard.press("Enter");
    await search.waitFor({ state: "detached" });
    expect(await kind.innerText()).toBe("Azure OpenAI");
    await kind.click();
    await search.fill("no such kind");
    await page.getByText("No results").waitFor();
    await page.keyboard.press("Escape");
    await search.waitFor({ state: "detached" });
    expect(await kind.innerText()).toBe("Azure OpenAI");
    await page.getByRole("heading", { name: "Add upstream" }).waitFor();
    await visit("/keys");
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByRole("combobox", { name: "Project" }).click();
    await search.waitFor();
    await page.keyboard.press("Escape");
    await search.waitFor({ state: "detached" });
    expect(await page.getByRole("dialog").count()).toBe(1);
  },
);
