/** Every control of a page without a mouse. */
import { expect } from "bun:test";
import { type BrowserTest, browserTest } from "./browser-test.ts";
import { type Focused, focused } from "./focused.ts";

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
