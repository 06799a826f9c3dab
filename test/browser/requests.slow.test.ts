/** Requests, usage and the overview in a browser: what a client does is there within moments. */
import { expect } from "bun:test";
import { until } from "../until.ts";
import { seriousFindings } from "./axe.ts";
import { browserTest, choose } from "./browser-test.ts";
import { testKey } from "./console-gateway.ts";

const embed = async (url: string, model: string, input: string): Promise<void> => {
  const response = await fetch(`${url}/v1/embeddings`, {
    method: "POST",
    headers: { authorization: `Bearer ${testKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model, input }),
  });
  await response.arrayBuffer();
};

browserTest("a request appears in the live tail while it is open", async ({ page, open, url }) => {
  await open("/requests");
  await page.getByRole("button", { name: "Watch live" }).click();
  await page.getByText("Waiting for requests…").waitFor();
  await embed(url, "text-embedding-3-small", "a live request");
  await page
    .getByRole("region", { name: "Requests" })
    .getByText("text-embedding-3-small")
    .first()
    .waitFor();
  expect(await page.content()).not.toContain("a live request");
});

browserTest("a search is in the address, and a request shows its timeline", async (test) => {
  const { page, open, url } = test;
  await embed(url, "embedding-model", "a text to search for");
  await open("/requests");
  await page.getByRole("button", { name: "Add filter" }).click();
  await choose(page.getByRole("combobox", { name: "Filter by" }), "Model");
  await page.getByRole("combobox", { name: "Model", exact: true }).click();
  await page.keyboard.type("embedding-model");
  // Until the request is in the ledger, the text is no option.
  await page
    .getByRole("option", { name: /^(?:Use “)?embedding-model/ })
    .first()
    .click();
  await page.waitForURL(/model=embedding-model/);
  await page.getByRole("region", { name: "Requests" }).getByRole("link").first().click();
  await page.getByText("This was the only available target.").waitFor();
  await page.getByText("fake/text-embedding-3-large").first().waitFor();
  const color = await page.evaluate<string>(
    "getComputedStyle(document.querySelector('main ol svg rect')).fill",
  );
  expect(color).toBe("rgb(20, 113, 61)");
  expect(await seriousFindings(page)).toEqual([]);
  expect(await page.content()).not.toContain("a text to search for");
  // Back returns from the request beside the list to the search, and then to the list before it.
  await page.goBack();
  await page.waitForURL(/model=embedding-model/);
  await page.goBack();
  await page.waitForURL(/\/requests$/);
  await choose(page.getByRole("combobox", { name: "Time range" }), "Custom");
  await page.getByLabel("To", { exact: true }).fill("2020-01-01T00:00");
  await page.getByLabel("To", { exact: true }).blur();
  await page.getByText("No requests match").waitFor();
});

browserTest("usage and the overview count a request", async ({ page, open, visit, url }) => {
  await embed(url, "text-embedding-ada-002", "one for the usage");
  await open("/usage");
  await page.getByRole("region", { name: "Usage" }).getByText("text-embedding-ada-002").waitFor();
  await visit("/");
  await page.getByRole("heading", { name: "Requests and errors" }).waitFor();
  // It is below the charts, and loaded when the user scrolls there.
  await until(async () => {
    await page.mouse.wheel(0, 2000);
    return page.getByRole("heading", { name: "Queues, cache and micro-batching" }).isVisible();
  });
  await page.getByText("Batched requests").waitFor();
  // The cache of this gateway is off.
  expect(await page.getByText("Cached vectors").count()).toBe(0);
  await page.getByRole("heading", { name: "Tokens", exact: true }).waitFor();
});
