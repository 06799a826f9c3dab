/** Debian's Chromium for the browser tests. Where there is none, the tests are skipped; in CI they fail. */
import { test } from "bun:test";
import { type Browser, chromium } from "playwright-core";

/** The headless shell takes half the CPU time of the whole browser, which creates a profile for each context. */
const names = ["chromium-headless-shell", "chromium", "google-chrome", "google-chrome-stable"];
const path = names.map((name) => Bun.which(name)).find((found) => found !== null);
const advice =
  "Chromium was not found on PATH. Install it with `apt-get install chromium-headless-shell`.";
if (path === undefined && process.env.CI !== "true")
  console.warn(`The browser tests were skipped. ${advice}`);

/** Declares a test that needs Chromium. In CI a missing Chromium fails the test instead of skipping it. */
export const testInChromium = path === undefined && process.env.CI !== "true" ? test.skip : test;

let launching: Promise<Browser> | undefined;

/** One browser for all files of the test process. It ends with the process, which closes the pipe to it. */
export function sharedBrowser(): Promise<Browser> {
  if (path === undefined) throw new Error(advice);
  // A page lives for seconds: optimized code and a graphics card in software cost more than they save.
  const args = ["--js-flags=--no-opt", "--disable-gpu-compositing"];
  launching ??= chromium.launch({ executablePath: path, args });
  return launching;
}
