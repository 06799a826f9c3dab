/** Debian's Chromium for the browser tests. */
import { type Browser, chromium } from "playwright-core";
import { pathOf } from "../programs.ts";

let launching: Promise<Browser> | undefined;

/** One browser for all files of the test process. It ends with the process, which closes the pipe to it. */
export function sharedBrowser(): Promise<Browser> {
  // A page lives for seconds: optimized code and a graphics card in software cost more than they save.
  const args = ["--js-flags=--no-opt", "--disable-gpu-compositing"];
  launching ??= chromium.launch({ executablePath: pathOf("chromium"), args });
  return launching;
}
