// Installs missing dependencies, once, and finds Bun. Plain Node without dependencies, as it runs before they are
// installed.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const stamp = join(root, "node_modules", ".vexel-installed");
const lock = join(root, "package-lock.json");

/** @param {"run" | "all"} what "run": without development dependencies. "all": with those of tests and benchmarks. */
export function ensureInstalled(what) {
  // Installed as a dependency of another package: npm has installed everything.
  if (!existsSync(lock)) return;
  const text = readFileSync(lock, "utf8");
  const lockHash = createHash("sha256").update(text).digest("hex");
  const [stampedHash, stamped] = existsSync(stamp) ? readFileSync(stamp, "utf8").split(" ") : [];
  const isStamped = stampedHash === lockHash && (stamped === "all" || stamped === what);
  if (isStamped && areWorkspacesLinked()) return;
  const packages = Object.entries(JSON.parse(text).packages ?? {});
  // If all dependencies are installed, such as by hand, `npm install` could only remove packages.
  const installed = ["all", "run"].find((each) => isComplete(packages, each));
  if (installed === "all" || installed === what) {
    return writeFileSync(stamp, `${lockHash} ${installed}`);
  }
  // Development dependencies are omitted unless some are installed: npm removes installed packages that it omits.
  const withDevelopment = what === "all" || stamped === "all" || packages.some(isInstalledForTests);
  process.stderr.write("Installing dependencies (once)...\n");
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const args = ["install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"];
  if (!withDevelopment) args.push("--omit=dev");
  // npm passes its own options to scripts as variables; the inner npm must not inherit them.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^npm_(config_(omit|include|production)|command)/i.test(name),
    ),
  );
  const { status } = spawnSync(npm, args, { cwd: root, stdio: ["ignore", 2, 2], env });
  if (status !== 0) {
    process.stderr.write("npm could not install the dependencies; see its messages above.\n");
    process.exit(1);
  }
  writeFileSync(stamp, `${lockHash} ${withDevelopment ? "all" : "run"}`);
}

/** A copied node_modules folder may have the stamp but not the links to workspaces. */
function areWorkspacesLinked() {
  const folder = join(root, "packages");
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.every((name) => versionAt(join("node_modules", "@vexel", name)) !== undefined);
}

/** Optional packages may be absent on some machines. Links point to the workspaces of this repository. */
const isComplete = (packages, what) =>
  packages.every(
    ([path, { version, dev, optional, devOptional, link }]) =>
      path === "" ||
      optional ||
      devOptional ||
      (dev && what === "run") ||
      (link ? versionAt(path) !== undefined : versionAt(path) === version),
  );

const isInstalledForTests = ([path, { dev }]) => dev === true && versionAt(path) !== undefined;

function versionAt(path) {
  const file = join(root, path, "package.json");
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).version : undefined;
}

/** The Bun binary of this package, never one from the PATH. */
export function bunPath() {
  const folder = dirname(createRequire(import.meta.url).resolve("bun/package.json"));
  const path = join(folder, "bin", "bun.exe");
  // The install script of the package, which not every package manager runs, puts the program in place of a short text.
  const isProgram = existsSync(path) && statSync(path).size > 1_000_000;
  if (!isProgram) spawnSync(process.execPath, [join(folder, "install.js")], { cwd: folder });
  return path;
}
