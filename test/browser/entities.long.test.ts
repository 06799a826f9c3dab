/** Credentials, every member of the forms, models, projects and webhooks in a browser. */
import { expect } from "bun:test";
import type { Locator } from "playwright-core";
import { knownKeys } from "../../server/config/validate/schema.ts";
import { browserTest, choose, chooseAction } from "./browser-test.ts";

browserTest(
  "cloud credentials of an upstream are added and changed, and the secret stays on the server",
  async ({ page, open, admin }) => {
    await open("/upstreams");
    await page.getByRole("link", { name: "Add upstream" }).click();
    const form = page.getByRole("main");
    await choose(form.getByLabel("Vendor or server"), "Azure OpenAI");
    await form.getByLabel("Name").fill("entra");
    await form.getByLabel("baseUrl").fill("https://ours.openai.azure.com");
    await choose(form.getByLabel("auth.type"), "client-secret");
    await form.getByLabel("auth.tenantId").fill("our-tenant");
    await form.getByLabel("auth.clientId").fill("our-client");
    await form.getByLabel("auth.clientSecret").fill("entra-secret-0123456789");
    await form.getByRole("button", { name: "Save" }).click();
    await page.waitForURL(/\/upstreams$/);
    const row = page.getByRole("row", { name: /^entra / });
    await chooseAction(row, "Edit");
    expect(await page.content()).not.toContain("entra-secret-0123456789");
    await form.getByLabel("auth.tenantId").fill("another-tenant");
    await form.getByRole("button", { name: "Save" }).click();
    await page.waitForURL(/\/upstreams$/);
    const { value } = await admin<{ value: { auth: unknown } }>("GET", "/upstreams/entra");
    expect(value.auth).toEqual({
      type: "client-secret",
      tenantId: "another-tenant",
      clientId: "our-client",
      clientSecret: { $secret: true, lastFour: "6789" },
    });
  },
);

browserTest(
  "a wrong credential and a wrong address are explained before anything is saved",
  async ({ page, open, fake }) => {
    await open("/upstreams");
    await page.getByRole("link", { name: "Add upstream" }).click();
    const form = page.getByRole("main");
    await form.getByLabel("baseUrl").fill(fake.url);
    await form.getByLabel("apiKey").fill("sk-wrong-credential");
    await form.getByRole("button", { name: "Test connection" }).click();
    await form.getByText("The server rejected the credential (status 401)").first().waitFor();
    await form.getByText("Credential rejected").waitFor();
    await form.getByLabel("baseUrl").fill("http://127.0.0.1:1/v1");
    await form.getByRole("button", { name: "Test connection" }).click();
    await form
      .getByText(/127\.0\.0\.1:1 refused the connection/)
      .first()
      .waitFor();
    await form.getByText("Unreachable").waitFor();
    // The result and the credential belong to the vendor that was chosen before.
    await choose(form.getByLabel("Vendor or server"), "Cohere");
    expect(await form.getByText("Unreachable").count()).toBe(0);
    expect(await form.getByLabel("apiKey").inputValue()).toBe("");
  },
);

/** The members of an entry of vexel.yaml, with those of the objects in them. */
function membersAt(path: readonly PropertyKey[], kind?: string): string[] {
  const objects = ["limits", "budget", "price", "storeContent", "defaults", "moderation"];
  return knownKeys(path, kind).flatMap((name) => {
    if (name === "targets")
      return membersAt([...path, "targets", 0], kind).map((member) => `targets.0.${member}`);
    return objects.includes(name)
      ? membersAt([...path, name], kind).map((member) => `${name}.${member}`)
      : [name];
  });
}

browserTest(
  "the forms of models and keys have every member of vexel.yaml",
  async ({ page, open, visit }) => {
    const fields = async (form: Locator): Promise<string[]> => {
      const named = await form.locator("[name]").all();
      const names = await Promise.all(named.map((each) => each.getAttribute("name")));
      return [...new Set(names.filter((name) => name !== null))].sort();
    };
    await open("/models");
    await page.getByRole("link", { name: "Create model" }).click();
    const main = page.getByRole("main");
    for (const [kind, label] of [
      ["embedding", "Embedding"],
      ["image", "Image"],
    ] as const) {
      await choose(main.getByLabel("Type"), label);
      expect(await fields(main)).toEqual(membersAt(["models", 0], kind).sort());
    }
    await visit("/keys");
    await page.getByRole("button", { name: "Create key" }).click();
    // The gateway generates the secret.
    const members = membersAt(["keys", 0]).filter((name) => name !== "key");
    expect(await fields(page.getByRole("dialog"))).toEqual(members.sort());
  },
);

browserTest(
  "the limits of end users and tags of a project are set, shown, kept and removed",
  async ({ page, open, admin }) => {
    await open("/projects");
    await page.getByRole("button", { name: "Create project" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("shop");
    await dialog.getByRole("button", { name: "Add end-user limit" }).click();
    const endUser = dialog.getByRole("region", { name: "Each end user" });
    await endUser.getByLabel("Requests per minute").fill("20");
    await endUser.getByLabel("Daily budget").fill("0.5");
    await dialog.getByRole("button", { name: "Add tag limit" }).click();
    const tag = dialog.getByRole("region", { name: "Tag" });
    await tag.getByLabel("Tag or pattern").fill("customer:*");
    await tag.getByLabel("Monthly budget").fill("50");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "hidden" });
    const stored = async () => {
      const { value } = (await admin("GET", "/projects/shop")) as { value: object };
      return value;
    };
    const perTag = { "customer:*": { budget: { month: 50 } } };
    const perEndUser = { limits: { requestsPerMinute: 20 }, budget: { day: 0.5 } };
    expect(await stored()).toEqual({ perEndUser, perTag });

    const row = page.getByRole("row", { name: /^Choose shop/ });
    await row
      .getByText("Each end user – 20 rpm, $0.50/day, customer:* – $50/mo", { exact: true })
      .waitFor();
    await chooseAction(row, "Edit");
    await dialog.getByLabel("Requests per minute").first().fill("60");
    await endUser.getByRole("button", { name: "Remove" }).click();
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "hidden" });
    expect(await stored()).toEqual({ limits: { requestsPerMinute: 60 }, perTag });
  },
);

browserTest(
  "a webhook is added with a generated secret and deleted again",
  async ({ page, open, visit }) => {
    await open("/webhooks");
    await page.getByRole("button", { name: "Add webhook" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("alerts");
    await dialog.getByLabel("URL").fill("https://hooks.example/vexel?token=secret-token");
    await dialog.getByRole("button", { name: "Generate" }).click();
    await dialog.getByLabel("Events").click();
    await page.getByRole("option", { name: "budget.*" }).click();
    await page.keyboard.press("Escape");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "hidden" });
    const row = page.getByRole("row", { name: /^alerts/ });
    await row.getByText("https://hooks.example/vexel?…").waitFor();
    expect(await page.content()).not.toContain("secret-token");

    // Both pages show the result of a test event.
    const problem = "The receiver responded 503.";
    await page.route("**/webhooks/*/test", (route) =>
      route.fulfill({ json: { object: "webhook.test", delivered: false, status: 503, problem } }),
    );
    await visit("/events");
    await page.getByRole("button", { name: "Send test event" }).click();
    await page.getByText(problem).waitFor();
    await visit("/webhooks");
    await chooseAction(row, "Send test event");
    await dialog.getByText(problem).waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    await chooseAction(row, "Delete");
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("No webhooks yet").waitFor();
  },
);

browserTest(
  "a project with a limit, a budget and a member is created, and a key is created in it",
  async ({ page, open, visit, admin }) => {
    const password = "correct horse battery";
    await admin("POST", "/users", { name: "dana", role: "developer", password, projects: [] });
    await open("/projects");
    await page.getByRole("button", { name: "Create project" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("mobile");
    await dialog.getByLabel("Requests per minute").fill("60");
    await dialog.getByLabel("Monthly budget").fill("100");
    await dialog.getByRole("combobox", { name: "Members" }).click();
    await page.getByRole("option", { name: "dana", exact: true }).click();
    await page.keyboard.press("Escape");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "hidden" });
    const row = page.getByRole("row", { name: /^Choose mobile/ });
    await row.getByText("60 rpm").waitFor();

    await visit("/keys");
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("mobile-app");
    await choose(page.getByRole("dialog").getByLabel("Project"), "mobile");
    await page.getByRole("dialog").getByRole("button", { name: "Create" }).click();
    await page.getByRole("dialog").locator("code").first().waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
    await page
      .getByRole("row", { name: /^mobile-app/ })
      .getByText("mobile", { exact: true })
      .waitFor();
    await chooseAction(page.getByRole("row", { name: /^mobile-app/ }), "Rotate");
    await choose(page.getByRole("dialog").getByLabel("Old key works for"), "Revoke immediately");
    await page.getByRole("dialog").getByRole("button", { name: "Rotate" }).click();
    await page.getByRole("dialog").locator("code").first().waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
    await page.getByText("revoked").first().waitFor();
  },
);

browserTest(
  "an upstream of vexel.yaml is locked and says where it is defined",
  async ({ page, open }) => {
    await open("/upstreams");
    const row = page.getByRole("row", { name: /^fake / });
    await row.getByRole("button", { name: /vexel\.yaml, line \d+/ }).waitFor();
    await row.getByRole("button", { name: /^Actions/ }).click();
    expect(await page.getByRole("menuitem").allInnerTexts()).toEqual(["Test connection"]);
    await page.getByRole("menuitem", { name: "Test connection" }).click();
    await page.getByRole("dialog").getByText("Connected, credential valid").waitFor();
  },
);

browserTest(
  "a model is created, changed and deleted, and a change of another administrator is not lost",
  async ({ page, open, visit, admin, problems }) => {
    await open("/models");
    await page.getByRole("link", { name: "Create model" }).click();
    const form = page.getByRole("main");
    await form.getByRole("textbox", { name: "Model ID" }).fill("team-search");
    await choose(form.getByRole("combobox", { name: "Upstream", exact: true }), "fake");
    await choose(form.getByLabel("Upstream model"), "text-embedding-3-small");
    await form.getByText("Options", { exact: true }).click();
    await choose(form.getByLabel("Embedding cache"), "No");
    await form.locator("summary", { hasText: "Prices" }).click();
    const price = form.locator('[name="price.input"]');
    // The list price, with its source.
    await form
      .getByText(/^List price from .*2026/)
      .last()
      .waitFor();
    expect(await price.getAttribute("placeholder")).toBe("0.02");
    await price.fill("0.07");
    await form.getByRole("button", { name: "Save" }).click();
    await page.waitForURL(/\/models$/);
    const { definition } = await admin<{ definition: { value: object } }>(
      "GET",
      "/models/team-search",
    );
    expect(definition.value).toMatchObject({ cache: false, price: { input: 0.07 } });

    await visit("/model/team-search");
    await page.getByRole("link", { name: "Edit" }).click();
    const targets = [{ upstream: "fake", model: "text-embedding-3-small" }];
    await admin("PUT", "/models/team-search", {
      kind: "embedding",
      targets,
      description: "Changed by somebody else.",
    });
    problems.expectFailure(/^412 PUT \S*\/models\/team-search$/);
    await form.getByLabel("Description").fill("Mine.");
    await form.getByRole("button", { name: "Save" }).click();
    await form.getByText(/Reload it and repeat your change/).waitFor();
    // Changes that are not saved are not lost by a click.
    await form.getByRole("button", { name: "Cancel" }).click();
    const question = page.getByRole("alertdialog");
    await question.getByRole("button", { name: "Keep editing" }).click();
    expect(await form.getByLabel("Description").inputValue()).toBe("Mine.");
    await form.getByRole("button", { name: "Cancel" }).click();
    await question.getByRole("button", { name: "Discard" }).click();
    await page.waitForURL(/\/model\/team-search$/);
    await open("/model/team-search");
    await page.getByText("Changed by somebody else.").waitFor();
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.waitForURL(/\/models$/);
  },
);

browserTest(
  "a form says what is missing without a request, and an error in the words of its fields",
  async ({ page, open, visit, problems }) => {
    const sent: string[] = [];
    page.on("request", (request) => {
      if (request.method() !== "GET") sent.push(`${request.method()} ${request.url()}`);
    });
    await open("/upstreams/new");
    const form = page.getByRole("main");
    await choose(form.getByLabel("Vendor or server"), "Cohere");
    for (const button of ["Test connection", "Save"]) {
      await form.getByRole("button", { name: button }).click();
      await form.getByText("This field is required.").first().waitFor();
    }
    expect(sent).toEqual([]);
    expect(await form.getByLabel("apiKey").getAttribute("aria-invalid")).toBe("true");

    // Save and Cancel are in view, although the form is longer than the window.
    await visit("/models/new");
    await form.getByRole("button", { name: "Add target" }).click();
    const height = await page.evaluate<number>("document.documentElement.scrollHeight");
    expect(height).toBeGreaterThan(page.viewportSize()?.height ?? 0);
    for (const name of ["Save", "Cancel"]) {
      const box = await form.getByRole("button", { name }).boundingBox();
      expect((box?.y ?? 1e9) + (box?.height ?? 0)).toBeLessThanOrEqual(720);
    }
    await form.getByRole("textbox", { name: "Model ID" }).fill("two-spaces");
    for (const [at, name] of ["text-embedding-3-small", "text-embedding-3-large"].entries()) {
      await choose(form.getByRole("combobox", { name: "Upstream", exact: true }).nth(at), "fake");
      await choose(form.getByLabel("Upstream model").nth(at), name);
    }
    problems.expectFailure(/^400 POST \S*\/models$/);
    await form.getByRole("button", { name: "Save" }).click();
    await form
      .getByRole("alert")
      .getByText(/turn on “Shared vector space”/)
      .waitFor();
    await form.getByText("Options", { exact: true }).click();
    await choose(form.getByLabel("Shared vector space"), "Yes");
    await form.getByRole("button", { name: "Save" }).click();
    await page.waitForURL(/\/models$/);
  },
);
