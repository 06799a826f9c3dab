/** Markup in every field of every form, and in requests, is shown as text on every page (XSS). */
import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { until } from "../until.ts";
import { browserTest } from "./browser-test.ts";
import { adminPassword, sendBatch, startConsoleGateway } from "./console-gateway.ts";
import { signedInPages } from "./router-pages.ts";

/** Valid as an id, which has no spaces, and as a name. */
const markup = `"><img/src=x/onerror=window.xss=1><svg/onload=window.xss=1>{{7*7}}`;

/** Fills every text field of the form and saves. The server accepts the text, or the form shows its error. */
async function fillAndSave(page: Page): Promise<void> {
  const form = page.locator("form").last();
  const save = form.getByRole("button", { name: /^(Save|Create|Invite user)$/ });
  await save.waitFor();
  for (const summary of await form.locator("summary").all()) await summary.click();
  const fields = form.locator(
    "input:not([inputmode=decimal]):not([type=checkbox]):not([type=radio]):not([type=date]), textarea",
  );
  for (const field of await fields.all()) if (await field.isEnabled()) await field.fill(markup);
  await save.click();
  await until(async () => !(await save.isVisible()) || (await form.getByRole("alert").count()) > 0);
  if (!(await save.isVisible())) return;
  // The form asks before it discards what was not saved.
  await form.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Discard" }).click();
}

browserTest(
  "markup in any field of any form, and in a stored prompt, is text on every page",
  async ({ page, open, visit, admin, url, gateway, fake, problems, context }) => {
    const dialogs: string[] = [];
    page.on("dialog", (shown) => {
      dialogs.push(shown.message());
      void shown.dismiss();
    });
    await context.addInitScript(`addEventListener("securitypolicyviolation", ({ blockedURI }) => {
      console.error("policy violation: " + blockedURI);
    });`);
    problems.expectFailure(/^4\d\d (POST|PUT) /);
    await open("/");
    for (const [path, button] of [
      ["/upstreams", "Add upstream"],
      ["/models", "Create model"],
      ["/keys", "Create key"],
      ["/projects", "Create project"],
      ["/webhooks", "Add webhook"],
      ["/users", "Invite user"],
    ] as const) {
      await visit(path);
      await page
        .getByRole("button", { name: button })
        .or(page.getByRole("link", { name: button }))
        .first()
        .click();
      await fillAndSave(page);
    }
    // The entities that the forms refused because of another field are created by the admin API.
    const upstream = { id: `u-${markup}`, kind: "openai", baseUrl: fake.url, apiKey: "sk-fake" };
    await admin("POST", "/upstreams", { ...upstream, headers: { "x-team": markup } });
    await admin("POST", "/projects", {
      name: `p ${markup}`,
      budget: { day: 1 },
      limits: { concurrent: 9 },
    });
    const targets = [{ upstream: upstream.id, model: "text-embedding-3-small" }];
    const model = { id: `m-${markup}`, kind: "embedding", targets, description: markup };
    await admin("POST", "/models", { ...model, storeContent: { for: "1h" } });
    const secret = `whsec_${btoa("a-secret-of-32-bytes-0123456789ab")}`;
    await admin("POST", "/webhooks", { name: `w ${markup}`, url: "http://127.0.0.1:1/x", secret });
    const user = { name: `user ${markup}`, password: adminPassword, role: "viewer" };
    await admin("POST", "/users", { ...user, projects: [`p ${markup}`] });
    const { key } = await admin<{ key: string }>("POST", "/keys", {
      name: `k ${markup}`,
      project: `p ${markup}`,
      models: [`m-${markup}`, "*"],
      budget: { total: 5 },
      defaults: { embedding: `m-${markup}` },
    });
    const sent = await gateway.post(
      "/v1/embeddings",
      { model: model.id, input: markup, user: markup },
      { authorization: `Bearer ${key}` },
    );
    expect(sent.status).toBe(200);
    const id = sent.headers.get("x-request-id") ?? "";
    await until(() =>
      admin("GET", `/requests/${id}`).then(
        () => true,
        () => false,
      ),
    );

    const job = await sendBatch({ url, admin }, key, model.id);
    const modelPage = `/model/${encodeURIComponent(model.id)}`;
    for (const path of [
      ...signedInPages(id, job),
      modelPage,
      `/requests?key=${encodeURIComponent(markup)}`,
    ]) {
      await visit(path);
      expect(await page.evaluate("window.xss"), path).toBeUndefined();
    }
    // The stored prompt is on the page of its request.
    await visit(`/requests/${id}`);
    await page.getByRole("heading", { name: "Stored content" }).waitFor();
    expect(await page.getByRole("region", { name: "Request" }).textContent()).toContain("onerror");
    expect(await page.evaluate("window.xss")).toBeUndefined();
    expect(dialogs).toEqual([]);
  },
  { start: () => startConsoleGateway() },
);
