/** The console without a mouse. */
import { expect } from "bun:test";
import { until } from "../until.ts";
import { type BrowserTest, browserTest } from "./browser-test.ts";

interface Focused {
  readonly name: string;
  readonly isVisible: boolean;
}

/**
 * The element with the focus: its text, and whether the focus can be seen. Null: the browser's own controls have it.
 */
const focused = ({ page }: BrowserTest): Promise<Focused | null> =>
  page.evaluate(`(() => {
    const element = document.activeElement;
    if (!element || element === document.body) return null;
    const { outlineStyle, outlineWidth } = getComputedStyle(element);
    const name = element.getAttribute("aria-label") || element.labels?.[0]?.textContent || element.textContent;
    return {
      name: element.tagName + " " + name.trim().slice(0, 40),
      isVisible: outlineStyle !== "none" && parseFloat(outlineWidth) > 0,
    };
  })()`);

/** Every visible element that can have the focus. Of radio buttons and tabs the arrow keys reach the others. */
const countFocusable = ({ page }: BrowserTest): Promise<number> =>
  page.evaluate(`[...document.querySelectorAll(
    "a[href], button, input, select, textarea, summary, [tabindex]",
  )].filter((element) => element.tabIndex >= 0 && !element.disabled && element.checkVisibility()).length`);

for (const path of ["/keys", "/playground/images"]) {
  browserTest(
    `every control of ${path} is reached with the Tab key and shows its focus`,
    async (test) => {
      await test.open(path);
      const reached: Focused[] = [];
      const expected = await countFocusable(test);
      for (let step = 0; step < expected + 5; step++) {
        await test.page.keyboard.press("Tab");
        const element = await focused(test);
        if (!element) break;
        reached.push(element);
      }
      expect(reached[0]?.name).toBe("A Skip to content");
      expect(reached.filter(({ isVisible }) => !isVisible)).toEqual([]);
      expect(reached.length).toBe(expected);
    },
  );
}

browserTest("the skip link moves the focus to the content", async (test) => {
  await test.open("/keys");
  await test.page.keyboard.press("Tab");
  await test.page.keyboard.press("Enter");
  await test.page.keyboard.press("Tab");
  expect((await focused(test))?.name).toBe("BUTTON Create key");
});

browserTest(
  "a dialog takes the focus, and Escape closes it and gives the focus back",
  async (test) => {
    const { page, open } = test;
    await open("/keys");
    await page.getByRole("button", { name: "Create key" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    // The dialog is visible a moment before it has the focus.
    const hasFocus = "document.querySelector('[role=dialog]').contains(document.activeElement)";
    await until(() => page.evaluate<boolean>(hasFocus));
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    expect((await focused(test))?.name).toBe("BUTTON Create key");
  },
);
