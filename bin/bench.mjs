// `npm run bench`: the gateway compared with nginx, as ratios within one run. `npm run bench -- NAME`: the program
// bench/NAME.ts, such as `faults`; bench/README.md lists them.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { bunPath, ensureInstalled, root } from "./install.mjs";

ensureInstalled("all");
const given = process.argv.slice(2);
const isNamed = given[0] !== undefined && !given[0].startsWith("-");
const [name, ...args] = isNamed ? given : ["run", ...given];
const { status } = spawnSync(bunPath(), [join(root, "bench", `${name}.ts`), ...args], {
  cwd: root,
  stdio: "inherit",
});
process.exit(status ?? 1);
