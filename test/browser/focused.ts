/** The element of a page that has the focus. */
import type { BrowserTest } from "./browser-test.ts";

export interface Focused {
  readonly name: string;
  readonly isVisible: boolean;
}

/**
 * The element with the focus: its text, and whether the focus can be seen. Null if the browser's own controls have it.
 */
export const focused = ({ page }: BrowserTest): Promise<Focused | null> =>
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
