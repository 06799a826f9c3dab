/** Tests in a real browser. The gateway, the browser and the session of the administrator are shared. */
import { expect } from "bun:test";
import type {
  Browser,
  BrowserContext,
  BrowserContextOptions,
  Locator,
  Page,
} from "playwright-core";
import { type Program, testWith } from "../programs.ts";
import { until } from "../until.ts";
import { sharedBrowser } from "./chromium.ts";
import { adminPassword, type ConsoleGateway, sharedGateway } from "./console-gateway.ts";
import { collectProblems, type PageProblems } from "./page-problems.ts";

export interface BrowserTest extends ConsoleGateway {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Opens a page of the console, such as `/models`, and waits until it has loaded. */
  open(path: string): Promise<void>;
  /** Goes to another page of the loaded console, as a link does: in half the CPU time of `open`. */
  visit(path: string): Promise<void>;
  readonly problems: PageProblems;
}

export interface BrowserTestOptions {
  /** `visitor`: the sign-in page is shown first. */
  readonly as?: "admin" | "visitor";
  /** Such as the width of a phone, or a color scheme. */
  readonly context?: BrowserContextOptions;
  /** Programs beside Chromium. */
  readonly needed?: readonly Program[];
  /** Instead of the shared gateway. */
  readonly start?: () => Promise<ConsoleGateway>;
}

type State = Awaited<ReturnType<BrowserContext["storageState"]>>;
const adminStates = new WeakMap<ConsoleGateway, Promise<State>>();
/**
 * Shared by all tests of the administrator of the shared gateway: in a new context, the console loads for twice as
 * long.
 */
let adminContext: Promise<BrowserContext> | undefined;

/** Declares a test. It fails if its page logs an error, throws, or has a request that fails unexpectedly. */
export function browserTest(
  name: string,
  run: (test: BrowserTest) => Promise<void>,
  {
    as = "admin",
    context: contextOptions,
    start = sharedGateway,
    needed = [],
  }: BrowserTestOptions = {},
): void {
  testWith("chromium", ...needed)(name, async () => {
    const [browser, gateway] = await Promise.all([sharedBrowser(), start()]);
    const isShared = as === "admin" && start === sharedGateway && contextOptions === undefined;
    // The one-time link of the shared gateway is used before a test creates another user.
    const isSignedIn = as === "admin" || start === sharedGateway;
    const storageState = isSignedIn ? await adminState(browser, gateway) : undefined;
    const newContext = (): Promise<BrowserContext> =>
      browser.newContext({
        baseURL: gateway.url,
        ...contextOptions,
        ...(as === "admin" && storageState && { storageState }),
      });
    if (isShared) adminContext ??= newContext();
    const context = await (isShared && adminContext ? adminContext : newContext());
    const problems = collectProblems(context);
    try {
      const page = await context.newPage();
      // For a machine whose cores are all busy with other tests.
      page.setDefaultTimeout(90_000);
      const open = async (path: string): Promise<void> => {
        await page.goto(`/console${path}`);
        await settled(page);
      };
      const visit = async (path: string): Promise<void> => {
        // Every page sets the title when it is shown. Until then the former page stays.
        await page.evaluate(`document.title = "";
          history.pushState(null, "", ${JSON.stringify(`/console${path}`)});
          dispatchEvent(new PopStateEvent("popstate"));`);
        await until(() => page.evaluate<boolean>(`document.title !== ""`));
        await settled(page);
      };
      await run({ ...gateway, context, page, open, visit, problems });
      expect(problems.list()).toEqual([]);
    } finally {
      if (isShared) await leaveContext(context, gateway.url);
      else await context.close();
      if (start !== sharedGateway) {
        gateway.gateway.kill("SIGKILL");
        gateway.fake.close();
      }
    }
  });
}

/** Closes the pages of a test. The next test finds nothing of it but the session cookie. */
async function leaveContext(context: BrowserContext, origin: string): Promise<void> {
  const [page] = context.pages();
  if (page) {
    const session = await context.newCDPSession(page);
    const storageTypes = "local_storage,indexeddb,cache_storage";
    await session.send("Storage.clearDataForOrigin", { origin, storageTypes });
  }
  for (const each of context.pages()) await each.close();
  context.removeAllListeners();
  await context.clearPermissions();
}

/** The page has its data: it has a heading, and nothing of it is marked as loading. */
export async function settled(page: Page): Promise<void> {
  await page.locator("h1").first().waitFor();
  await page.locator('[aria-busy="true"]').first().waitFor({ state: "detached" });
}

/** Creates the first administrator with the one-time link, as a user does at the first start. */
export async function setUpAdmin(page: Page, { setupUrl }: ConsoleGateway): Promise<void> {
  await page.goto(setupUrl);
  await page.getByLabel("Password").fill(adminPassword);
  await page.getByRole("button", { name: "Create and sign in" }).click();
  await page.waitForURL((url) => !url.pathname.endsWith("/setup"));
  await settled(page);
}

/** Chooses an option of a select by its text. */
export async function choose(select: Locator, option: string): Promise<void> {
  await select.click();
  await select.page().getByRole("option", { name: option, exact: true }).click();
}

/** Chooses the models of a playground, and no others. */
export async function chooseModels(page: Page, ...ids: readonly string[]): Promise<void> {
  await page.getByRole("combobox", { name: "Models" }).click();
  const clear = page.getByRole("button", { name: "Clear" });
  if ((await clear.count()) > 0) await clear.click();
  for (const name of ids) await page.getByRole("option", { name, exact: true }).click();
  await page.keyboard.press("Escape");
}

/** Chooses a text in a combobox that is no option of it. */
export async function chooseOther(combobox: Locator, text: string): Promise<void> {
  const page = combobox.page();
  await combobox.click();
  await page.keyboard.type(text);
  await page.getByRole("option", { name: `Use “${text}”` }).click();
  await page.keyboard.press("Escape");
}

export async function signIn(page: Page, name: string, password: string): Promise<void> {
  await page.getByLabel("Username").fill(name);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

/** The cookies of the administrator. The link works once, so the first test that needs them signs in for all. */
function adminState(browser: Browser, gateway: ConsoleGateway): Promise<State> {
  const known = adminStates.get(gateway);
  if (known) return known;
  const state = (async () => {
    const context = await browser.newContext({ baseURL: gateway.url });
    try {
      await setUpAdmin(await context.newPage(), gateway);
      return await context.storageState();
    } finally {
      await context.close();
    }
  })();
  adminStates.set(gateway, state);
  return state;
}
