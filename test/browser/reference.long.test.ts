/** The API reference in a browser. */
import { expect } from "bun:test";
import type { Page, ShownModel } from "../../contract/admin.ts";
import { colorRules, seriousFindings } from "./axe.ts";
import { browserTest } from "./browser-test.ts";
import { testKey } from "./console-gateway.ts";
import { overflows, phone } from "./page-findings.ts";

browserTest(
  "the API reference lists the operations of both APIs, sends requests with the user's key and keeps their results, loads nothing from other hosts, and asks for a sign-in when the session has ended",
  async ({ page, context, open, url, problems }) => {
    const elsewhere: string[] = [];
    context.on("request", (request) => {
      if (!request.url().startsWith(url) && !/^(?:data|blob):/.test(request.url()))
        elsewhere.push(request.url());
    });
    // The list of models is never the same: it has the health of the targets.
    let loads = 0;
    const models = "**/admin/api/models";
    await page.route(models, async (route) => {
      const response = await route.fetch();
      if (!response.ok()) return route.fulfill({ response });
      const list = (await response.json()) as Page<ShownModel>;
      const description = `loaded ${++loads} times`;
      await route.fulfill({
        json: { ...list, data: list.data.map((model) => ({ ...model, description })) },
      });
    });
    await page.emulateMedia({ colorScheme: "light" });
    // A violation of the content security policy is an error of the browser's console, which fails the test.
    await open("/reference");
    const list = page.getByRole("navigation", { name: "API reference" });
    await list.getByText("/v1/images/generations", { exact: true }).waitFor();
    await page.getByLabel("Filter operations").fill("create embeddings");
    await list.getByText("/v1/images/generations").first().waitFor({ state: "detached" });
    await list.getByText("/v1/embeddings", { exact: true }).click();
    await page.waitForURL("**/reference/models/embeddings");
    await page.getByText("Create embeddings for one or more inputs.").waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByLabel("API key").and(page.locator("input")).fill(testKey);
    await page.getByRole("button", { name: "Send request" }).click();
    const result = page.getByRole("region", { name: "Response" }).last();
    await result.getByText('"list"').waitFor();
    await page.waitForResponse(models);
    await page.emulateMedia({ colorScheme: "dark" });
    await page.locator(':root[data-theme="dark"]').waitFor();
    expect(await seriousFindings(page, colorRules)).toEqual([]);
    // The list of models has been loaded again, and the result is still there.
    expect(await result.getByText('"list"').count()).toBe(1);
    // The key stays for the next operation.
    await page.getByLabel("Filter operations").fill("list the models");
    await list.getByText("/v1/models", { exact: true }).click();
    await page.waitForURL("**/reference/models/models");
    await page.getByRole("button", { name: "Send request" }).click();
    await result.getByText('"vexel-sketch"').first().waitFor();

    await page.getByRole("link", { name: "Admin API", exact: true }).click();
    await list.getByTitle("List the API keys, without the keys themselves, newest first.").click();
    await page.getByRole("button", { name: "Send request" }).click();
    await result.getByText('"data"').waitFor();
    expect(elsewhere).toEqual([]);

    problems.expectFailure(/^401 GET /);
    await context.clearCookies();
    await page.getByRole("button", { name: "Send request" }).click();
    await page.getByRole("heading", { name: "Your session has ended" }).waitFor();
  },
  // Without the session at the end.
  { context: {} },
);

browserTest(
  "each operation has an address, and its samples in three languages do what they say",
  async ({ page, open, url }) => {
    await open("/reference/models/embeddings");
    const sample = async (language: string): Promise<string> => {
      await page.getByRole("tab", { name: language }).click();
      return (await page.getByRole("region", { name: language }).textContent()) ?? "";
    };
    // The model is one of this gateway.
    expect(await sample("curl")).toContain(`${url}/v1/embeddings`);
    expect(await sample("curl")).toContain('"model":"text-embedding-3-small"');
    expect(await sample("Python")).toContain("client.embeddings.create(");
    expect(await sample("TypeScript")).toContain("client.embeddings.create({");

    // Without a method in OpenAI's packages, the sample is a plain request, which works as it is.
    await open("/reference/models/models");
    const command = await sample("curl");
    const shell = Bun.spawn(["sh", "-c", command], { env: { ...process.env, VEXEL_KEY: testKey } });
    const { data } = JSON.parse(await new Response(shell.stdout).text()) as Page<ShownModel>;
    expect(data.map(({ id }) => id)).toContain("text-embedding-3-small");
    expect(await sample("Python")).toContain("requests.get(");
    expect(await sample("TypeScript")).toContain("await fetch(");

    // The members of the request, and those of an object in the response.
    await open("/reference/models/createFile");
    await page.getByText("Body (form)").waitFor();
    expect(await sample("curl")).toContain("-F 'file=@file'");
    await open("/reference/admin/getKeys");
    await page.getByText("Members of data").click();
    await page.getByText("expires_at", { exact: true }).waitFor();
  },
);

browserTest(
  "on a phone the list of operations and an operation are pages of their own",
  async ({ page, open }) => {
    await page.setViewportSize(phone);
    await open("/reference");
    await page.getByText("/v1/embeddings", { exact: true }).click();
    await page.getByRole("heading", { name: "/v1/embeddings" }).waitFor();
    expect(await page.getByLabel("Filter operations").isVisible()).toBe(false);
    expect(await overflows(page)).toEqual([]);
    await page.getByRole("navigation", { name: "Breadcrumbs" }).getByRole("link").click();
    await page.getByLabel("Filter operations").waitFor();
  },
);

browserTest("the API reference opens quickly: its own files are small", async ({ page, open }) => {
  await open("/");
  const sizes = async (): Promise<number> =>
    page.evaluate(`performance.getEntriesByType("resource")
      .filter(({ name }) => name.endsWith(".js") || name.endsWith("openapi.json"))
      .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`);
  await open("/account");
  const before = await sizes();
  await open("/reference/models/embeddings");
  // Other pages load when the browser is idle, after three seconds.
  expect((await sizes()) - before).toBeLessThan(60_000);
});
