/** A tab of the console that was opened before an upgrade: over replicas of both versions, and over the newer one. */
import { expect } from "bun:test";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { settled, setUpAdmin } from "../browser/browser-test.ts";
import { sharedBrowser } from "../browser/chromium.ts";
import { closeAfterAll, closeAfterEach } from "../clean-up.ts";
import { startFake } from "../fake-upstream.ts";
import { configFor, startProcess, temporaryFolder } from "../harness.ts";
import { testWith } from "../programs.ts";
import { sharedPostgres } from "../storage/postgres-server.ts";
import { buildNewerVersion, firstRelease, type GatewayVersion } from "../topology/newer-version.ts";

const folder = temporaryFolder();
const fake = startFake();
closeAfterAll(fake, folder);
const closing = closeAfterEach();

/**
 * The files of the console come from the first replica, as with session affinity. Each other request goes to the next
 * one.
 */
function balance(replicas: () => readonly string[]) {
  let turn = 0;
  return Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    fetch: ({ url, method, headers, body }) => {
      const { pathname, search } = new URL(url);
      const urls = replicas();
      const replica = pathname.startsWith("/console") ? urls[0] : urls[turn++ % urls.length];
      const sent = { method, headers, body, decompress: false, redirect: "manual" } as const;
      return fetch(`${replica}${pathname}${search}`, sent);
    },
  });
}

const openPage = async (page: Page, name: string): Promise<void> => {
  await page.getByRole("link", { name, exact: true }).click();
  await page.getByRole("heading", { name, exact: true, level: 1 }).waitFor();
  await settled(page);
  expect(await page.getByText("Could not load").count()).toBe(0);
};

testWith("chromium", "postgresql")(
  "a tab of the earlier version works with the newer one, and over replicas of both",
  async () => {
    const databaseUrl = await (await sharedPostgres()).createDatabase();
    const start = async (name: string, { folder: program }: GatewayVersion) => {
      const gateway = await startProcess({
        folder: folder.path,
        yaml: configFor(fake.url),
        program,
        env: {
          VEXEL_CONSOLE: "on",
          VEXEL_DATA: join(folder.path, name),
          VEXEL_SECRET: "a-secret-of-the-console",
          DATABASE_URL: databaseUrl,
        },
      });
      closing(gateway);
      return gateway;
    };
    const earlier = await start("first", firstRelease(join(folder.path, "earlier")));
    const newer = await start("second", buildNewerVersion(join(folder.path, "newer")));
    let serving = [earlier.url];
    const server = balance(() => serving);
    closing(server);
    const origin = `http://127.0.0.1:${server.port}`;
    const browser = await sharedBrowser();
    const context = await browser.newContext({ baseURL: origin });
    closing(context);
    const page = await context.newPage();
    page.setDefaultTimeout(90_000);
    const link = /Console {3}(\S+)/.exec(earlier.output())?.[1] ?? "";
    await setUpAdmin(page, { setupUrl: link.replace(earlier.url, origin) });
    // Parts are loaded when a page is opened, and not before.
    await page.addInitScript("window.requestIdleCallback = () => 0");
    await page.goto("/console/requests");
    await settled(page);
    const startFile = () => page.locator('script[src*="/console/main-"]').getAttribute("src");
    const before = await startFile();

    serving = [earlier.url, newer.url];
    for (const name of ["Usage", "Models", "API keys", "Requests"]) await openPage(page, name);

    serving = [newer.url];
    for (const name of ["Usage", "Models", "API keys", "Requests"]) await openPage(page, name);
    expect(await startFile()).toBe(before);
    // A page that this tab has not loaded is one of the newer version.
    await page.getByRole("link", { name: "Audit log", exact: true }).click();
    await page.getByText("A new version is running").waitFor();
    await page.getByRole("button", { name: "Reload" }).click();
    await openPage(page, "Audit log");
    expect(await startFile()).not.toBe(before);
  },
);
