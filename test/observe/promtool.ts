/** promtool, which checks rules and metrics of Prometheus, from Debian's package `prometheus`. */
import { pathOf } from "../programs.ts";

/** The output of promtool if it found an error, and otherwise an empty text. */
export function promtoolErrors(args: readonly string[], input = ""): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([pathOf("promtool"), ...args], {
    stdin: Buffer.from(input),
  });
  return exitCode === 0 ? "" : `${stdout}${stderr}`;
}
