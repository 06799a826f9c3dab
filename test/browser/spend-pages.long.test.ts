/** The pages of a key, a user, an upstream and an end user, each opened by a name somewhere else. */
import { expect } from "bun:test";
import type { UsagePage } from "../../contract/admin.ts";
import { until } from "../until.ts";
import { seriousFindings } from "./axe.ts";
import { browserTest, settled } from "./browser-test.ts";

browserTest(
  "names lead to the pages of the key, its creator, the upstream and the end user, each with its own requests",
  async ({ page, admin, url, open, problems }) => {
    await open("/");
    // As a user and not with the admin token: the key has a creator.
    const { id, key } = await page.evaluate<{ id: string; key: string }>(`(async () => {
      const { csrf_token } = await (await fetch("/admin/api/session")).json();
      const headers = { "content-type": "application/json", "x-csrf-token": csrf_token };
      const body = JSON.stringify({ name: "spent-key", budget: { month: 9 } });
      return (await fetch("/admin/api/keys", { method: "POST", headers, body })).json();
    })()`);
    const send = (model: string, user = "ada") =>
      fetch(`${url}/v1/embeddings`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ model, input: `for ${user}`, user }),
      });
    await send("text-embedding-3-small", "bob");
    await send("text-embedding-3-small");
    await send("no-such-model");
    const usage = (query: string) =>
      admin<UsagePage>("GET", `/usage?interval=total&key=${id}${query}`);
    await until(async () => (await usage("")).data[0]?.requests === 3);
    const [first] = (await usage("&group_by=end_user")).data.filter(({ group }) => group.end_user);
    const endUser = first?.group.end_user ?? "";
    expect(endUser).not.toBe("");
    const main = page.getByRole("main");
    const figure = (name: string) => main.locator("dl > div").filter({ hasText: name }).first();

    await page.getByRole("link", { name: "API keys" }).click();
    await main.getByRole("link", { name: "spent-key" }).click();
    await page.getByRole("heading", { level: 1, name: "spent-key" }).waitFor();
    await main.getByText("/ $9.00").waitFor();
    await figure("Requests").getByText("3", { exact: true }).waitFor();
    await main
      .getByRole("region", { name: "Top models" })
      .getByText("text-embedding-3-small")
      .waitFor();
    await main
      .getByRole("region", { name: "Outcomes" })
      .getByRole("link", { name: "404" })
      .waitFor();
    await main.getByText("API key created · spent-key").waitFor();
    expect(await seriousFindings(page)).toEqual([]);

    await main.locator("dl > div").filter({ hasText: "Created by" }).getByRole("link").click();
    await page.waitForURL(/\/users\/user_/);
    await settled(page);
    await main
      .getByRole("region", { name: "API keys" })
      .getByRole("link", { name: "spent-key" })
      .waitFor();
    await figure("Requests").getByText(/^\d+$/).waitFor();
    await main.getByRole("heading", { name: "Latest errors" }).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    // The requests with the keys that the user created, and no others.
    await main.getByRole("region", { name: "Outcomes" }).getByRole("link", { name: "404" }).click();
    await page.waitForURL(/\/requests\?.*created_by=user_/);
    await main.getByText("Created by").first().waitFor();
    await main.getByRole("link", { name: "spent-key" }).first().waitFor();
    expect(await main.getByRole("link", { name: "search-app" }).count()).toBe(0);
    expect(await seriousFindings(page)).toEqual([]);

    await open("/upstreams");
    await main.getByRole("link", { name: "fake", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "fake" }).waitFor();
    await main
      .getByRole("region", { name: "Top keys" })
      .getByRole("link", { name: "spent-key" })
      .waitFor();
    await main
      .getByRole("region", { name: "Targets" })
      .getByText("text-embedding-3-small")
      .first()
      .waitFor();
    expect(await seriousFindings(page)).toEqual([]);

    await open(`/usage?group=end_user&key=${id}`);
    await main.getByRole("link", { name: endUser }).first().click();
    await page.getByRole("heading", { level: 1, name: endUser }).waitFor();
    await figure("Requests").getByText(String(first?.requests), { exact: true }).waitFor();
    await main.getByRole("region", { name: "Top keys" }).getByText("spent-key").waitFor();
    await main.getByRole("heading", { name: "Latest errors" }).waitFor();
    expect(await seriousFindings(page)).toEqual([]);

    // A revoked key keeps its page, with its name.
    await admin("DELETE", `/keys/${id}`);
    problems.expectFailure(/^404 GET \S*\/admin\/api\/keys\/key_/);
    await open(`/keys/${id}`);
    await page.getByRole("heading", { level: 1, name: "spent-key" }).waitFor();
    await main.getByText("This key is not active any more").waitFor();
  },
);
