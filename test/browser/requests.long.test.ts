/** Refused requests and what needs attention, in a browser. */
import { expect } from "bun:test";
import type { AttentionGroup, Overview } from "../../contract/admin.ts";
import { until } from "../until.ts";
import { seriousFindings } from "./axe.ts";
import { browserTest } from "./browser-test.ts";

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
  const refused = page.getByRole("row", { name: /Rate limit reached/ }).first();
  await refused.getByRole("link").first().click();
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

browserTest(
  "what needs attention is grouped below the figures, with the rest of a long list behind a link",
  async ({ page, open }) => {
    await page.route("**/admin/api/overview*", async (route) => {
      const overview = (await (await route.fetch()).json()) as Overview;
      await route.fulfill({ json: { ...overview, attention } });
    });
    await open("/");
    const figure = await page.getByText("Error rate").first().boundingBox();
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

browserTest(
  "a row opens beside the list, j and k go on, and the address has the request, the filters and the live tail",
  async ({ page, open, gateway, admin }) => {
    const ids: string[] = [];
    for (const input of ["one", "two", "three"]) {
      const body = { model: "embedding-model", input: `beside ${input}`, user: "of-panel" };
      ids.push((await gateway.post("/v1/embeddings", body)).headers.get("x-request-id") ?? "");
    }
    await until(() =>
      admin("GET", `/requests/${ids[2]}`).then(
        () => true,
        () => false,
      ),
    );
    await open("/requests?end_user=of-panel");
    await page.getByText("3 requests", { exact: true }).waitFor();
    await page.getByRole("row").nth(1).getByText("200").click();
    const panel = page.getByRole("complementary", { name: "Request" });
    const isShown = async (id = "") => {
      await page.waitForURL((url) => url.searchParams.get("open") === id);
      await panel.getByRole("heading", { name: id }).waitFor();
      await panel.getByText("This was the only available target.").waitFor();
    };
    await isShown(ids[2]);
    expect(await seriousFindings(page)).toEqual([]);
    await page.keyboard.press("j");
    await isShown(ids[1]);
    await page.keyboard.press("j");
    await isShown(ids[0]);
    await page.keyboard.press("k");
    await isShown(ids[1]);
    await page.reload();
    await isShown(ids[1]);
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });

    // A column more, kept for the next visit.
    await page.getByRole("button", { name: "Columns" }).click();
    await page.getByLabel("Tokens").check();
    await page.keyboard.press("Escape");
    await page.reload();
    await page.getByRole("columnheader", { name: "Tokens" }).waitFor();

    // The export has the filters of the page.
    const href = (await page.getByRole("link", { name: "Export CSV" }).getAttribute("href")) ?? "";
    const csv = await page.evaluate<string>(`fetch("${href}").then((response) => response.text())`);
    const lines = csv.trimEnd().split("\r\n");
    expect(lines[0]).toStartWith("at,id,endpoint,key_id");
    expect(lines.slice(1).map((line) => line.split(",")[1])).toEqual(ids.toReversed());

    await page.getByRole("button", { name: /^Remove filter End user/ }).click();
    await page.getByRole("button", { name: "Watch live" }).click();
    await page.waitForURL(/live=true/);
    await page.getByRole("row").nth(1).waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await gateway.post("/v1/embeddings", { model: "embedding-model", input: "while paused" });
    await page.getByText("Paused. 1 new request.").waitFor();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.reload();
    await page.getByRole("button", { name: "Pause" }).waitFor();
  },
);
