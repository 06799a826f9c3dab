// `npm run check`: types, lint and format. `npm test` runs the tests alone, as is usual: one command for each.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { bunPath, ensureInstalled, root } from "./install.mjs";

ensureInstalled("all");
const buildInfo = join(root, "node_modules", ".cache", "vexel", "tsbuildinfo");
const checks = [
  // The second run checks only what changed since the first.
  ["tsc", "-p", ".", "--incremental", "--tsBuildInfoFile", buildInfo],
  ["tsc", "-p", "console"],
  ["biome", "check", "--error-on-warnings", "."],
];
for (const check of checks) {
  const { status } = spawnSync(bunPath(), ["x", "--bun", ...check], {
    cwd: root,
    stdio: "inherit",
  });
  console.log(`${status === 0 ? "ok    " : "FAILED"} ${check.slice(0, 3).join(" ")}`);
  if (status !== 0) process.exitCode = 1;
}
