// Installs what is missing, once, and finds Bun. Plain Node, no dependencies: it runs before there are any.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const stamp = join(root, "node_modules", ".vexel-installed");
const lock = join(root, "package-lock.json");

/** @param {"run" | "all"} what Without or with what only tests and benchmarks need. */
export function ensureInstalled(what) {
  // Installed as a dependency of something else: npm has seen to it already.
  if (!existsSync(lock)) return;
  const text = readFileSync(lock, "utf8");
  const wanted = createHash("sha256").update(text).digest("hex");
  const [have, extent] = existsSync(stamp) ? readFileSync(stamp, "utf8").split(" ") : [];
  if (have === wanted && (extent === "all" || extent === what) && areWorkspacesLinked()) return;
  const packages = Object.entries(JSON.parse(text).packages ?? {});
  // Installed by hand: npm would only take away what it was not told of.
  const there = ["all", "run"].find((each) => isComplete(packages, each));
  if (there === "all" || there === what) return writeFileSync(stamp, `${wanted} ${there}`);
  // Without what is for tests only, unless some of it is there: npm removes what it is told to leave out.
  const all = what === "all" || extent === "all" || packages.some(isForTests);
  process.stderr.write("Installing dependencies (once)...\n");
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const args = ["install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"];
  if (!all) args.push("--omit=dev");
  // npm tells scripts how it was called; the inner npm must not take that for its own orders.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^npm_(config_(omit|include|production)|command)/i.test(name),
    ),
  );
  const { status } = spawnSync(npm, args, { cwd: root, stdio: ["ignore", 2, 2], env });
  if (status !== 0) {
    process.stderr.write("npm could not install the dependencies; its words are above.\n");
    process.exit(1);
  }
  writeFileSync(stamp, `${wanted} ${all ? "all" : "run"}`);
}

/** A copy of node_modules may have its stamp but not its links. */
function areWorkspacesLinked() {
  const folder = join(root, "packages");
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.every((name) => versionAt(join("node_modules", "@vexel", name)) !== undefined);
}

/** Optional packages may be absent on some machines. Links lead to the workspaces of this repository. */
const isComplete = (packages, what) =>
  packages.every(
    ([path, { version, dev, optional, devOptional, link }]) =>
      path === "" ||
      optional ||
      devOptional ||
      (dev && what === "run") ||
      (link ? versionAt(path) !== undefined : versionAt(path) === version),
  );

const isForTests = ([path, { dev }]) => dev === true && versionAt(path) !== undefined;

function versionAt(path) {
  const file = join(root, path, "package.json");
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).version : undefined;
}

/** The Bun of this package, never one that happens to be on the PATH. */
export function bunPath() {
  const folder = dirname(createRequire(import.meta.url).resolve("bun/package.json"));
  return join(folder, "bin", "bun.exe");
}
