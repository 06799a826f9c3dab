/** The dialog of a new key, mistakes in the form, and limits that a developer meets, in a browser. */
import { expect } from "bun:test";
import { seriousFindings } from "./axe.ts";
import { browserTest, chooseAction, chooseOther, settled, signIn } from "./browser-test.ts";
import { adminPassword } from "./console-gateway.ts";

browserTest(
  "a mistyped number and a day in the past are refused at their fields, until they are corrected",
  async ({ page, open }) => {
    await open("/keys");
    await page.getByRole("button", { name: "Create key" }).click();
    const form = page.getByRole("dialog");
    await form.getByLabel("Name").fill("mistyped");
    await chooseOther(form.getByLabel("Models"), "text-embeding-*");
    await form.getByText("No model matches text-embeding-* yet.").waitFor();
    await form.getByText("Limits and options").click();
    const alert = form.getByRole("alert");
    for (const [label, wrong, message, right] of [
      ["Requests per minute", "1.000.000", /without thousands separators/, "1000000"],
      ["Daily budget", "5 dollars", /without thousands separators/, "5"],
      ["Expires", "2020-01-01", /in the past/, "2999-12-31"],
    ] as const) {
      await form.getByLabel(label).fill(wrong);
      await form.getByRole("button", { name: "Create", exact: true }).click();
      expect(await alert.textContent()).toMatch(message);
      await form.getByLabel(label).fill(right);
      expect(await alert.count()).toBe(0);
    }
    const sent = page.waitForRequest((request) => request.method() === "POST");
    await form.getByRole("button", { name: "Create", exact: true }).click();
    // The end of the day in the time zone of the browser.
    const end = await page.evaluate<string>(`new Date(3000, 0, 1, 0, 0, 0, -1).toISOString()`);
    expect((await sent).postDataJSON()).toMatchObject({
      limits: { requestsPerMinute: 1_000_000 },
      budget: { day: 5 },
      expires: end,
    });
    await page.getByRole("dialog", { name: "Your new key" }).waitFor();
  },
);

browserTest(
  "a user who exceeds the limit of the project reads which limit it was, and when to try again",
  async ({ page, admin, problems }) => {
    // A project of its own: a request of another test would count against its limit.
    const project = { name: "one-per-minute", limits: { requestsPerMinute: 1 } };
    await admin("POST", "/projects", project);
    await admin("POST", "/users", {
      name: "lim",
      password: adminPassword,
      role: "developer",
      projects: [project.name],
    });
    problems.expectFailure(/^429 POST \S*\/playground\/embeddings$/);
    await page.goto("/console/playground/embeddings");
    await signIn(page, "lim", adminPassword);
    await page.getByRole("heading", { name: "Embeddings playground" }).waitFor();
    await settled(page);
    const embed = page.getByRole("button", { name: "Embed", exact: true });
    await page.getByLabel("Texts", { exact: true }).fill("one text");
    await embed.click();
    await page.getByRole("img", { name: "Similarity of every pair of texts" }).waitFor();
    await embed.click();
    const alert = page.getByRole("alert").filter({ hasText: "text-embedding-3-small" });
    await alert.waitFor();
    expect(await alert.textContent()).toMatch(/requests per min|RPM|limit/i);
    expect(await alert.textContent()).toMatch(/try again|retry/i);
  },
  { as: "visitor" },
);

browserTest(
  "a developer sees which limits an administrator set, cannot raise them, and can lower them",
  async ({ page, admin, problems }) => {
    await admin("POST", "/users", {
      name: "lola",
      role: "developer",
      projects: "all",
      password: adminPassword,
    });
    await admin("POST", "/keys", { name: "bounded", models: ["*"], budget: { day: 0.001 } });
    problems.expectFailure(/^401 GET /);
    problems.expectFailure(/^403 PUT \S*\/keys\//);
    await page.goto("/console/keys");
    await signIn(page, "lola", adminPassword);
    const row = page.getByRole("row").filter({ hasText: "bounded" });
    await chooseAction(row, "Edit");
    const form = page.getByRole("dialog");
    await form.getByText(/^An administrator set limits or a budget on this key/).waitFor();
    expect(await form.getByLabel("Project").isDisabled()).toBe(true);
    const group = form.getByText("Limits and options");
    await group.click();
    await form.getByText("Set by an administrator. Maximum: 0.001.").waitFor();
    const save = form.getByRole("button", { name: "Save" });
    for (const value of ["1000", ""]) {
      await form.getByLabel("Daily budget").fill(value);
      await group.click();
      const refused = page.waitForResponse((response) => response.status() === 403);
      await save.click();
      await refused;
      // The closed group opens, so that the message is seen.
      await form.getByText(/^An administrator set 'budget.day' on this key to 0.001/).waitFor();
    }
    await form.getByLabel("Daily budget").fill("0.0005");
    await save.click();
    await form.waitFor({ state: "detached" });
    await chooseAction(row, "Edit");
    expect(await form.getByLabel("Daily budget").inputValue()).toBe("0.0005");
  },
  { as: "visitor" },
);

browserTest(
  "without the clipboard API a new key is copied or selected, and Escape does not discard it",
  async ({ page, open }) => {
    await open("/keys");
    // As on plain http.
    await page.evaluate(`
      Object.defineProperty(navigator, "clipboard", { value: undefined });
      addEventListener("copy", () => { window.copied = getSelection().toString(); });`);
    await page.getByRole("button", { name: "Create key" }).click();
    const form = page.getByRole("dialog");
    await form.getByLabel("Name").fill("copied");
    await form.getByRole("button", { name: "Create", exact: true }).click();
    const shown = page.getByRole("dialog", { name: "Your new key" });
    const key = await shown.getByRole("code").first().textContent();
    await shown.getByRole("button", { name: "Copy" }).first().click();
    await shown.getByRole("button", { name: "Copied" }).waitFor();
    expect(await page.evaluate<string>("window.copied")).toBe(key ?? "");

    await page.evaluate("document.execCommand = () => false");
    await shown.getByRole("button", { name: /^Cop/ }).first().click();
    await shown.getByText(/Press Ctrl\+C/).waitFor();
    expect(await page.evaluate<string>("getSelection().toString()")).toBe(key ?? "");
    for (let times = 0; times < 3; times++) await page.keyboard.press("Escape");
    await shown.waitFor();
    expect(await shown.getByRole("code").first().textContent()).toBe(key ?? "");
  },
);

browserTest(
  "a new key comes with its base URL, code that works as it is, and a test request that shows its result",
  async ({ page, open, url, fake, problems }) => {
    problems.expectFailure(/^400 POST \S*\/v1\/embeddings$/);
    await open("/keys");
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("tested");
    await chooseOther(page.getByRole("dialog").getByLabel("Models"), "text-embedding-3-*");
    await page.getByRole("button", { name: "Create", exact: true }).click();
    const shown = page.getByRole("dialog", { name: "Your new key" });
    await shown.getByText(`${url}/v1`, { exact: true }).waitFor();
    const key = (await shown.getByRole("code").first().textContent()) ?? "";
    for (const language of ["curl", "Python", "TypeScript"]) {
      await shown.getByRole("tab", { name: language }).click();
      const code = await shown.getByRole("region", { name: language }).textContent();
      expect(code).toContain(key);
      expect(code).toContain(`${url}/v1`);
      expect(code).toContain("text-embedding-3-small");
    }
    const error = { message: "The input is refused.", type: "invalid_request_error" };
    fake.script({ response: { status: 400, body: JSON.stringify({ error }) } });
    const send = shown.getByRole("button", { name: "Send test request" });
    await send.click();
    const alert = shown.getByRole("alert");
    await alert.getByText("The input is refused.").waitFor();
    await alert.getByRole("link", { name: "View request" }).waitFor();
    await send.click();
    await shown.getByText("The key works: 1536 dimensions").waitFor();
    expect(await alert.count()).toBe(0);
    expect(await seriousFindings(page)).toEqual([]);
  },
);
