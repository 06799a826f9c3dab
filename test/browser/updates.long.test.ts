/** A page that is open while the gateway does not respond, or is updated to another build of the console. */

import { expect } from "bun:test";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { type BundledFile, bundleConsole } from "../../server/console/bundle.ts";
import { root } from "../harness.ts";
import { until } from "../until.ts";
import { browserTest } from "./browser-test.ts";

/** Without the parts of the console that are loaded when the page is idle. */
const neverIdle = (page: Page) => page.addInitScript("window.requestIdleCallback = () => 0");

const typed = "what was typed";

async function typeText(page: Page): Promise<void> {
  await page.getByRole("textbox", { name: "Texts" }).fill(typed);
}

const typedText = (page: Page): Promise<string> =>
  page.getByRole("textbox", { name: "Texts" }).inputValue();

browserTest(
  "without a connection, a page that was not opened before is opened when the connection is back, and nothing is lost",
  async ({ page, context, open, problems }) => {
    problems.expectFailure(/.*/);
    await neverIdle(page);
    await open("/playground/embeddings");
    await typeText(page);
    await context.setOffline(true);
    await page.getByRole("link", { name: "Audit log" }).click();
    await page.getByText("No connection to the gateway").waitFor();
    expect(await typedText(page)).toBe(typed);
    await context.setOffline(false);
    await page.getByRole("heading", { name: "Audit log" }).waitFor();
  },
  { context: {} },
);

browserTest(
  "a page that was idle opens every other page without a connection",
  async ({ page, context, open, problems }) => {
    problems.expectFailure(/.*/);
    await open("/");
    const loaded = () =>
      page.evaluate<number>(
        `performance.getEntriesByType("resource").filter(({ name }) => /chunk-/.test(name)).length`,
      );
    const first = await loaded();
    let before = first;
    await until(async () => {
      await Bun.sleep(1500);
      const now = await loaded();
      const isDone = now > first && now === before;
      before = now;
      return isDone;
    });
    await context.setOffline(true);
    for (const name of ["Audit log", "Usage", "Images playground", "Settings"]) {
      await page.getByRole("link", { name, exact: true }).click();
      await page.getByRole("heading", { name, exact: true }).waitFor();
    }
    await context.setOffline(false);
  },
  { context: {} },
);

/** Another build: one page has changed, and with it the names of its file and of the start file. */
async function otherBuild(): Promise<ReadonlyMap<string, BundledFile>> {
  const folder = mkdtempSync(join(root, "console/other-build-"));
  try {
    cpSync(join(root, "console/src"), folder, { recursive: true });
    const changed = join(folder, "features/audit/audit.tsx");
    writeFileSync(changed, `${readFileSync(changed, "utf8")}\nconsole.debug("changed");\n`);
    return new Map((await bundleConsole(folder)).map((file) => [file.name, file]));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const types: Readonly<Record<string, string>> = { js: "text/javascript", css: "text/css" };

function fileOf(build: ReadonlyMap<string, BundledFile>, path: string): Response {
  const name = path.slice("/console/".length);
  const file = build.get(name);
  const type = types[name.split(".").at(-1) ?? ""];
  if (!file && type) return new Response("", { status: 404 });
  const found = file ?? build.get("index.html")!;
  return new Response(new Uint8Array(found.bytes), {
    headers: { "content-type": file && type ? type : "text/html" },
  });
}

browserTest(
  "a page of an earlier build says that a new version is running, and keeps what was typed",
  async ({ page, url, problems }) => {
    problems.expectFailure(/.*/);
    await neverIdle(page);
    const build = await otherBuild();
    let isUpdated = false;
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: ({ url: requested, method, headers, body }) => {
        const { pathname, search } = new URL(requested);
        if (isUpdated && pathname.startsWith("/console")) return fileOf(build, pathname);
        return fetch(`${url}${pathname}${search}`, { method, headers, body, decompress: false });
      },
    });
    try {
      await page.goto(`http://127.0.0.1:${server.port}/console/playground/embeddings`);
      await typeText(page);
      const start = () => page.locator('script[src*="/console/main-"]').getAttribute("src");
      const before = await start();
      isUpdated = true;
      await page.getByRole("link", { name: "Audit log" }).click();
      await page.getByText("A new version is running").waitFor();
      expect(await typedText(page)).toBe(typed);
      expect(page.url()).toEndWith("/playground/embeddings");
      await page.getByRole("button", { name: "Reload" }).click();
      await until(async () => (await start()) !== before);
      await page.getByRole("link", { name: "Audit log" }).click();
      await page.getByRole("heading", { name: "Audit log" }).waitFor();
      expect(await page.getByText("A new version is running").count()).toBe(0);
    } finally {
      await server.stop(true);
    }
  },
  { context: {} },
);

browserTest(
  "an address with values that are not valid shows the page, without them",
  async ({ page, open }) => {
    for (const address of [
      "/usage?range=30d",
      "/usage?range=90",
      "/usage?from=x&to=y",
      "/usage?group=foo&split=bar&zone=mars&internal=maybe",
      "/usage?group=%22tag%22",
      "/requests?range=30d",
      "/requests?status=abc&min_cost=much&from=x",
    ]) {
      await open(address);
      expect(await page.getByText("Could not load the data").count()).toBe(0);
    }
  },
);

browserTest(
  "a page of something that does not exist says that it was not found",
  async ({ page, open, problems }) => {
    problems.expectFailure(/^404 /);
    for (const address of ["/requests/req_none", "/jobs/none", "/model/none"]) {
      await open(address);
      await page
        .getByText(/not found|does not exist/i)
        .first()
        .waitFor();
      expect(await page.getByRole("button", { name: "Try again" }).count()).toBe(0);
    }
  },
);
