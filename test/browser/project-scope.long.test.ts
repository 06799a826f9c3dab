/** The project that pages are shown for: in their address, and kept from page to page. */
import { expect } from "bun:test";
import { until } from "../until.ts";
import { browserTest, settled } from "./browser-test.ts";
import { sendBatch } from "./console-gateway.ts";

const project = "scoped-team";

browserTest(
  "the project of the address filters the overview, requests, jobs, usage, budgets, keys and events, and no other page",
  async (test) => {
    const { page, admin, url, open } = test;
    await admin("POST", "/projects", { name: project, budget: { month: 25 } });
    const [own, other] = await Promise.all(
      [{ name: "key-in-scope", project }, { name: "key-elsewhere" }].map((body) =>
        admin<{ key: string }>("POST", "/keys", { ...body, budget: { day: 7 } }),
      ),
    );
    const send = (key = "", model = "text-embedding-3-small") =>
      fetch(`${url}/v1/embeddings`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ model, input: "a red boat" }),
      });
    await Promise.all([send(own?.key), send(own?.key), send(other?.key)]);
    await sendBatch(test, own?.key);
    await sendBatch(test, other?.key);
    // Two requests and the batch.
    const usage = () =>
      admin<{ data: { requests: number }[] }>("GET", `/usage?interval=total&project=${project}`);
    await until(async () => ((await usage()).data[0]?.requests ?? 0) > 2);
    const total = (await usage()).data[0]?.requests ?? 0;

    await open("/");
    await page.getByRole("combobox", { name: "Project" }).selectOption(project);
    await page.waitForURL(/\?project=scoped-team$/);
    const requests = page.locator("dl > div").filter({ hasText: "Requests" }).first();
    await requests.getByText(String(total), { exact: true }).waitFor();
    expect(await page.getByText("Requests in flight").count()).toBe(0);

    const main = page.getByRole("main");
    const go = async (name: string) => {
      await page.getByRole("navigation", { name: "Menu" }).getByRole("link", { name }).click();
      await page.getByRole("heading", { level: 1, name }).waitFor();
      await settled(page);
      return page.url();
    };
    expect(await go("Requests")).toEndWith(`/requests?project=${project}`);
    await until(async () => (await main.getByRole("row").count()) === total + 1);
    expect(await main.getByRole("row", { name: /key-elsewhere/ }).count()).toBe(0);
    expect(await go("Jobs")).toEndWith(`/jobs?project=${project}`);
    await until(async () => (await main.getByRole("row").count()) === 2);
    expect(await go("Usage")).toEndWith(`/usage?project=${project}`);
    await main
      .getByRole("row", { name: /text-embedding-3-small/ })
      .getByText(String(total), { exact: true })
      .waitFor();
    expect(await go("Budgets and limits")).toEndWith(`/budgets?project=${project}`);
    await main.getByRole("row", { name: /key-in-scope/ }).waitFor();
    expect(await main.getByRole("row", { name: /key-elsewhere/ }).count()).toBe(0);
    expect(await go("API keys")).toEndWith(`/keys?project=${project}`);
    await main.getByRole("row", { name: /key-in-scope/ }).waitFor();
    expect(await main.getByRole("row", { name: /key-elsewhere/ }).count()).toBe(0);
    expect(await go("Events")).toEndWith(`/events?project=${project}`);
    await main.getByRole("row", { name: /API key created.*key-in-scope/i }).waitFor();
    expect(await main.getByRole("row", { name: /key-elsewhere/ }).count()).toBe(0);

    // A page without projects has no switcher, and the menu leads back to those of the project.
    expect(await go("Models")).toEndWith("/models");
    expect(await page.getByRole("combobox", { name: "Project" }).count()).toBe(0);
    await go("API keys");
    await page.getByRole("combobox", { name: "Project" }).selectOption("All projects");
    await main.getByRole("row", { name: /key-elsewhere/ }).waitFor();
    expect(page.url()).toEndWith("/keys");
  },
);
