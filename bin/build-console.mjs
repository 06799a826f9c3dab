// `npm pack` runs this first: builds the console into console/dist, which a package has instead of the sources.
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { bunPath, ensureInstalled, root } from "./install.mjs";

ensureInstalled("run");
const folder = join(root, "console", "dist");
rmSync(folder, { recursive: true, force: true });
const script = join(root, "server", "console", "build.ts");
const { status } = spawnSync(bunPath(), [script, join(root, "console", "src"), folder], {
  stdio: ["ignore", "inherit", "inherit"],
});
process.exit(status ?? 1);
