/** Every page of the console: accessible in both themes, and as wide as a phone. */
import { expect } from "bun:test";
import { seriousFindings } from "./axe.ts";
import { type BrowserTest, browserTest } from "./browser-test.ts";
import { sendRequests } from "./console-gateway.ts";
import { publicPages, signedInPages } from "./router-pages.ts";

const signedIn = async (test: BrowserTest): Promise<readonly string[]> =>
  signedInPages(await sendRequests(test));
const beforeSignIn = async (): Promise<readonly string[]> => publicPages;

const phone = { width: 390, height: 844 };

/** Opens the pages one after the other, and reports the findings of all of them. */
const eachPage =
  (
    pagesOf: (test: BrowserTest) => Promise<readonly string[]>,
    check: (test: BrowserTest) => Promise<readonly string[]>,
  ) =>
  async (test: BrowserTest): Promise<void> => {
    const findings: string[] = [];
    for (const path of await pagesOf(test)) {
      await test.open(path);
      findings.push(...(await check(test)).map((finding) => `${path}: ${finding}`));
    }
    expect(findings).toEqual([]);
  };

/** Elements that are wider than the window are named, so that a failure says what to mend. */
const overflows = ({ page }: BrowserTest): Promise<string[]> =>
  page.evaluate(`(() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return [];
    const wide = [...document.querySelectorAll("body *")].filter(
      (element) => element.getBoundingClientRect().right > width + 1,
    );
    return wide.slice(0, 5).map((element) => element.outerHTML.slice(0, 200));
  })()`);

for (const colorScheme of ["light", "dark"] as const) {
  const findings = ({ page }: BrowserTest) => seriousFindings(page);
  browserTest(
    `axe finds nothing serious on any page in the ${colorScheme} theme`,
    eachPage(signedIn, findings),
    { context: { colorScheme } },
  );
  browserTest(
    `axe finds nothing serious before the sign-in in the ${colorScheme} theme`,
    eachPage(beforeSignIn, findings),
    { as: "nobody", context: { colorScheme } },
  );
}

browserTest("no page scrolls sideways at the width of a phone", eachPage(signedIn, overflows), {
  context: { viewport: phone, hasTouch: true },
});

browserTest(
  "no page before the sign-in scrolls sideways at the width of a phone",
  eachPage(beforeSignIn, overflows),
  { as: "nobody", context: { viewport: phone, hasTouch: true } },
);
