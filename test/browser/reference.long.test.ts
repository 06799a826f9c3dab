/** The API reference in a browser. */
import { expect } from "bun:test";
import type { Page, ShownModel } from "../../contract/admin.ts";
import { colorRules, seriousFindings } from "./axe.ts";
import { browserTest } from "./browser-test.ts";
import { testKey } from "./console-gateway.ts";

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
    await page.getByText("/v1/images/generations", { exact: true }).waitFor();
    await page.getByPlaceholder("Filter by tag or path").fill("/v1/embeddings");
    await page.getByText("Generate images from a prompt.").waitFor({ state: "detached" });
    await page.getByText("Create embeddings for one or more inputs.").click();

    await page.getByRole("button", { name: "Authorize" }).first().click();
    await page.getByLabel("auth-bearer-value").fill(testKey);
    await page.getByRole("button", { name: "Apply credentials" }).first().click();
    await page.getByRole("button", { name: "Close" }).last().click();
    await page.getByRole("button", { name: "Try it out" }).click();
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByRole("button", { name: "Execute" }).click();
    await page.locator(".live-responses-table").getByText("200", { exact: true }).waitFor();
    await page.locator(".live-responses-table").getByText('"list"').first().waitFor();
    await page.waitForResponse(models);
    expect(await seriousFindings(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: "dark" });
    await page.locator(':root[data-theme="dark"]').waitFor();
    expect(await seriousFindings(page, colorRules)).toEqual([]);
    // The list of models has been loaded again, and the result is still there.
    expect(await page.locator(".live-responses-table").getByText('"list"').count()).not.toBe(0);

    await page.getByRole("tab", { name: "Admin API" }).click();
    await page.getByText("List the API keys, without the keys themselves, newest first.").click();
    await page.getByRole("button", { name: "Try it out" }).click();
    await page.getByRole("button", { name: "Execute" }).click();
    await page.locator(".live-responses-table").getByText("200", { exact: true }).waitFor();
    expect(elsewhere).toEqual([]);

    problems.expectFailure(/^401 GET /);
    await context.clearCookies();
    await page.getByRole("button", { name: "Execute" }).click();
    await page.getByRole("heading", { name: "Your session has ended" }).waitFor();
  },
  // Without the session at the end.
  { context: {} },
);
