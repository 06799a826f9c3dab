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
  /** Goes to another page of the loaded console, as a link does: in a fifth of the CPU time of `open`. */
  visit(path: string): Promise<void>;
  readonly problems: PageProblems;
}

interface BrowserTestOptions {
  /** `visitor`: the sign-in page is shown first. */
  readonly as?: "admin" | "visitor";
  /** Such as a touch screen. The test gets a tab of its own, also with `{}`: for init scripts and clocks. */
  readonly context?: BrowserContextOptions;
  /** Programs beside Chromium. */
  readonly needed?: readonly Program[];
  /** Instead of the shared gateway. */
  readonly start?: () => Promise<ConsoleGateway>;
}

const viewport = { width: 1280, height: 720 };
/** A failed test must say why it failed, and not that it timed out. */
const closeMs = 10_000;

interface Tab {
  readonly context: BrowserContext;
  readonly page: Page;
}

type State = Awaited<ReturnType<BrowserContext["storageState"]>>;
/** The cookies of the administrator. */
const adminStates = new WeakMap<ConsoleGateway, State>();
/**
 * For the next test of the shared gateway, of the administrator or of a visitor: a tab that has loaded the console loads
 * it again in a third of the CPU time of a new one.
 */
const sharedTabs = new Map<"admin" | "visitor", Tab>();

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
    const isShared = start === sharedGateway && contextOptions === undefined;
    // The one-time link of the shared gateway is used before a test creates another user.
    if (start === sharedGateway && !adminStates.has(gateway))
      sharedTabs.set("admin", await newTab(browser, gateway, "admin"));
    const shared = isShared ? sharedTabs.get(as) : undefined;
    const tab = shared ?? (await newTab(browser, gateway, as, contextOptions));
    // A test that fails may leave its tab in any state.
    if (isShared) sharedTabs.delete(as);
    let isReused = false;
    try {
      const { context, page } = tab;
      const problems = collectProblems(context);
      await run({ ...gateway, ...navigation(page), context, page, problems });
      expect(problems.list()).toEqual([]);
      isReused = isShared;
    } finally {
      if (isReused) {
        await leaveTab(tab, gateway.url, as);
        sharedTabs.set(as, tab);
      } else {
        // Chromium may never answer that it has closed a tab that a test has left in the middle of something.
        await Promise.race([tab.context.close(), Bun.sleep(closeMs)]);
      }
      if (start !== sharedGateway) {
        gateway.gateway.kill("SIGKILL");
        gateway.fake.close();
      }
    }
  });
}

/** The one-time link works once, so the first tab of the administrator signs in for the next ones. */
async function newTab(
  browser: Browser,
  gateway: ConsoleGateway,
  as: "admin" | "visitor",
  options: BrowserContextOptions = {},
): Promise<Tab> {
  const storageState = as === "admin" ? adminStates.get(gateway) : undefined;
  const context = await browser.newContext({
    baseURL: gateway.url,
    viewport,
    ...options,
    ...(storageState && { storageState }),
  });
  const page = await context.newPage();
  // For a machine whose cores are all busy with other tests.
  page.setDefaultTimeout(90_000);
  if (as === "admin" && !storageState) {
    await setUpAdmin(page, gateway);
    adminStates.set(gateway, await context.storageState());
  }
  return { context, page };
}

function navigation(page: Page): Pick<BrowserTest, "open" | "visit"> {
  return {
    open: async (path) => {
      await page.goto(`/console${path}`);
      await settled(page);
    },
    visit: async (path) => {
      // Every page sets the title when it is shown. Until then the former page stays.
      await page.evaluate(`document.title = "";
        history.pushState(null, "", ${JSON.stringify(`/console${path}`)});
        dispatchEvent(new PopStateEvent("popstate"));`);
      await until(() => page.evaluate<boolean>(`document.title !== ""`));
      await settled(page);
    },
  };
}

/** The next test finds nothing of this one but the session cookie of the administrator. */
async function leaveTab(
  { context, page }: Tab,
  origin: string,
  as: "admin" | "visitor",
): Promise<void> {
  context.removeAllListeners();
  for (const each of context.pages()) if (each !== page) await each.close();
  for (const each of [page, context]) await each.unrouteAll({ behavior: "ignoreErrors" });
  // An empty page of the same origin, so that the tab keeps its process.
  await page.goto("/healthz");
  const session = await context.newCDPSession(page);
  const storageTypes = "local_storage,indexeddb,cache_storage";
  await session.send("Storage.clearDataForOrigin", { origin, storageTypes });
  await session.detach();
  if (as === "visitor") await context.clearCookies();
  await context.clearPermissions();
  await page.emulateMedia({ colorScheme: null });
  await page.setViewportSize(viewport);
}

/** The page has its data: it has a heading, and nothing of it is marked as loading. */
export async function settled(page: Page): Promise<void> {
  await page.locator("h1").first().waitFor();
  await page.locator('[aria-busy="true"]').first().waitFor({ state: "detached" });
}

/** Creates the first administrator with the one-time link, as a user does at the first start. */
export async function setUpAdmin(
  page: Page,
  { setupUrl }: Pick<ConsoleGateway, "setupUrl">,
): Promise<void> {
  await page.goto(setupUrl);
  await page.getByLabel("Password", { exact: true }).fill(adminPassword);
  await page.getByRole("button", { name: "Create and sign in" }).click();
  await page.waitForURL((url) => !url.pathname.endsWith("/setup"));
  await settled(page);
}

/** Chooses an option of a select by its text. */
export async function choose(select: Locator, option: string): Promise<void> {
  await select.click();
  await select.page().getByRole("option", { name: option, exact: true }).click();
}

/** Chooses an action of the menu of a row. */
export async function chooseAction(row: Locator, action: string): Promise<void> {
  await row.getByRole("button", { name: /^Actions/ }).click();
  await row.page().getByRole("menuitem", { name: action, exact: true }).click();
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
