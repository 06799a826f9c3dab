/** Requests, usage and the overview in a browser: what a client does is there within moments. */
import { expect } from "bun:test";
import type { AttentionGroup, Overview } from "../../contract/admin.ts";
import { until } from "../until.ts";
import { seriousFindings } from "./axe.ts";
import { browserTest } from "./browser-test.ts";
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

browserTest("a list of requests shows a new request, and a refused one says why", async (test) => {
  const { page, open, gateway } = test;
  const send = () =>
    gateway.post(
      "/v1/embeddings",
      { model: "text-embedding-3-small", input: "one of two" },
      { authorization: "Bearer sk-studio-0123456789abcdef" },
    );
  await open("/requests");
  // The project studio may send one request per minute.
  await Promise.all([send(), send()]);
  const refused = page.getByRole("row", { name: /rate_limited/ }).first();
  await refused.getByRole("link").click();
  await page.getByText(/A rate limit of the API key, its project/).waitFor();
  await page.getByRole("main").getByRole("link", { name: "Budgets and limits" }).click();
  await page.getByRole("heading", { name: "Limits", exact: true }).waitFor();
});

browserTest(
  "the page of a refused request shows the client's message and the configured model",
  async ({ page, open, gateway, admin }) => {
    const body = { model: "embedding-model", input: "a", dimensions: -5 };
    const response = await gateway.post("/v1/embeddings", body);
    const { error } = (await response.json()) as { error: { message: string } };
    const id = response.headers.get("x-request-id") ?? "";
    await until(() =>
      admin("GET", `/requests/${id}`).then(
        () => true,
        () => false,
      ),
    );
    await open(`/requests/${id}`);
    await page.getByText(`Error sent to the client: ${error.message}`).waitFor();
    await page.getByRole("definition").filter({ hasText: "embedding-model" }).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
  },
);

browserTest("a search is in the address, and a request shows its timeline", async (test) => {
  const { page, open, url } = test;
  await embed(url, "embedding-model", "a text to search for");
  await open("/requests");
  await page.getByText("Filters", { exact: true }).click();
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
  expect(await seriousFindings(page)).toEqual([]);
  expect(await page.content()).not.toContain("a text to search for");
  // Back returns to the search, and then to the list before it.
  await page.goBack();
  await page.waitForURL(/model=embedding-model/);
  await page.goBack();
  await page.waitForURL(/\/requests$/);
  await page.getByText("Filters", { exact: true }).click();
  await page.getByLabel("To", { exact: true }).fill("2020-01-01T00:00");
  await page.getByLabel("To", { exact: true }).blur();
  await page.getByText("No requests match").waitFor();
});

browserTest(
  "what needs attention is grouped below the figures, with the rest of a long list behind a link",
  async ({ page, open }) => {
    await page.route("**/admin/api/overview*", async (route) => {
      const overview = (await (await route.fetch()).json()) as Overview;
      await route.fulfill({ json: { ...overview, attention } });
    });
    await open("/");
    const figure = await page.getByText("Error rate").boundingBox();
    const group = page.getByRole("listitem").filter({ hasText: "Model shutdown date" }).first();
    const place = await group.boundingBox();
    expect(place?.y ?? 0).toBeGreaterThan(figure?.y ?? 0);
    const links = await group.getByRole("link").allTextContents();
    expect(links).toEqual(["model-0", "model-1", "model-2", "41 more"]);
    await group.getByText("overdue").first().waitFor();
    await group.getByRole("link", { name: "41 more" }).click();
    await page.waitForURL(/\/models$/);
  },
);

const attention: readonly AttentionGroup[] = [
  {
    type: "model_ending",
    severity: "error",
    count: 44,
    items: Array.from({ length: 20 }, (_, at) => ({
      type: "model_ending",
      severity: at < 2 ? "error" : "warning",
      subject: `model-${at}`,
      detail: `2026-11-${String(at + 1).padStart(2, "0")}`,
      link: "/models",
    })),
  },
];

browserTest("usage and the overview count a request", async ({ page, open, visit, url }) => {
  await embed(url, "text-embedding-ada-002", "one for the usage");
  await open("/usage");
  await page.getByRole("region", { name: "Usage" }).getByText("text-embedding-ada-002").waitFor();
  await visit("/");
  await page.getByRole("heading", { name: "Requests and errors" }).waitFor();
  await page.getByRole("heading", { name: "Queues, cache and micro-batching" }).waitFor();
  await page.getByText("Batched requests").waitFor();
  // The cache of this gateway is off.
  expect(await page.getByText("Cached vectors").count()).toBe(0);
  await page.getByRole("heading", { name: "Tokens", exact: true }).waitFor();
});
