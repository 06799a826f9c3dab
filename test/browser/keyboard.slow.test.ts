/** The console without a mouse. */
import { expect } from "bun:test";
import { until } from "../until.ts";
import { browserTest } from "./browser-test.ts";
import { focused } from "./focused.ts";

browserTest(
  "the skip link moves the focus to the content, and a dialog takes the focus, until Escape closes it and gives the focus back",
  async (test) => {
    const { page, open } = test;
    await open("/keys");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    expect((await focused(test))?.name).toBe("SELECT Project");
    await page.keyboard.press("Tab");
    expect((await focused(test))?.name).toBe("BUTTON Create key");
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
