/** Checks out another commit of this repository, so that its gateway can run beside that of the working tree. */

import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "..");

/** A folder with a gateway that can be started. */
export interface Checkout {
  readonly folder: string;
  /** Its name in the table. */
  readonly name: string;
}

function run(command: readonly string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], { cwd: root });
  if (exitCode !== 0) throw new Error(`${command.join(" ")}: ${stderr.toString().trim()}`);
  return stdout.toString().trim();
}

export function checkOut(commit: string, parent: string): Checkout {
  const hash = run(["git", "rev-parse", "--verify", `${commit}^{commit}`]);
  const folder = join(parent, `checkout-${hash.slice(0, 7)}`);
  mkdirSync(folder, { recursive: true });
  const archive = join(parent, `${hash}.tar`);
  run(["git", "archive", "--output", archive, hash]);
  run(["tar", "-xf", archive, "-C", folder]);
  provideDependencies(folder);
  return { folder, name: hash.slice(0, 7) };
}

/** The installed dependencies are shared if both commits declare the same ones; otherwise npm installs them. */
function provideDependencies(folder: string): void {
  if (!sameDependencies(folder)) {
    run(["npm", "install", "--prefix", folder, "--no-audit", "--no-fund", "--ignore-scripts"]);
    return;
  }
  const modules = join(folder, "node_modules");
  mkdirSync(modules);
  for (const name of readdirSync(join(root, "node_modules")))
    if (name !== "@vexel") symlinkSync(join(root, "node_modules", name), join(modules, name));
  // Packages of this repository must come from the checkout.
  if (!existsSync(join(folder, "packages"))) return;
  mkdirSync(join(modules, "@vexel"));
  for (const name of readdirSync(join(folder, "packages")))
    symlinkSync(join(folder, "packages", name), join(modules, "@vexel", name));
}

function sameDependencies(folder: string): boolean {
  const declared = (path: string): unknown => {
    const { dependencies, optionalDependencies, devDependencies } = JSON.parse(
      readFileSync(join(path, "package.json"), "utf8"),
    );
    const { "@vexel/sketch": _own, ...others } = dependencies ?? {};
    return { dependencies: others, optionalDependencies, devDependencies };
  };
  return Bun.deepEquals(declared(folder), declared(root));
}
