// `npm run docs`: builds the documentation site into site/dist. `npm run docs -- dev` serves it and follows changes.
// `npm run docs -- check` builds it and tests the result.
// The packages of the site are its own: they are installed here, once, and never with the gateway.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bunPath, ensureInstalled, root } from "./install.mjs";

const site = join(root, "site");
const stamp = join(site, "node_modules", ".vexel-installed");
const lock = readFileSync(join(site, "package-lock.json"));
const lockHash = createHash("sha256").update(lock).digest("hex");
if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== lockHash) {
  process.stderr.write("Installing the packages of the documentation site (once)...\n");
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  run(npm, ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
  writeFileSync(stamp, lockHash);
}
const vitepress = join(site, "node_modules", "vitepress", "bin", "vitepress.js");
const [command = "build", ...options] = process.argv.slice(2);
const isCheck = command === "check";
run(process.execPath, [vitepress, isCheck ? "build" : command, ".", ...options]);
if (isCheck) {
  ensureInstalled("all");
  run(bunPath(), ["test", "--timeout=120000", "./test/laws/docs-site.ts"], root);
}

function run(program, args, cwd = site) {
  const { status } = spawnSync(program, args, { cwd, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
