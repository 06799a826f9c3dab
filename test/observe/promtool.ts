/**
 * promtool, from Debian's package `prometheus`. Where it is not installed, its tests are skipped; in CI they fail.
 * Elsewhere: `go install github.com/prometheus/prometheus/cmd/promtool@latest`, or a release of Prometheus.
 */
import { test } from "bun:test";

const advice =
  "promtool was not found, so its tests were skipped. Install it with `apt-get install prometheus`.";
const isSkipped = Bun.which("promtool") === null && process.env.CI !== "true";
if (isSkipped) console.warn(advice);

/** Declares a test that needs promtool. In CI a missing promtool fails the test instead of skipping it. */
export const testWithPromtool = isSkipped ? test.skip : test;

/** The output of promtool if it found an error, and otherwise an empty text. */
export function promtoolErrors(args: readonly string[], input = ""): string {
  if (Bun.which("promtool") === null) throw new Error(advice);
  const { exitCode, stdout, stderr } = Bun.spawnSync(["promtool", ...args], {
    stdin: Buffer.from(input),
  });
  return exitCode === 0 ? "" : `${stdout}${stderr}`;
}
