/** Packages of npm that only the tests of a release need. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../harness.ts";
import { runCommand } from "./installed.ts";

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly overrides?: Readonly<Record<string, string>>;
}

/** Installs the packages at pinned versions, once for each checkout. Returns the path of the folder. */
export function installPackages(name: string, manifest: Manifest): string {
  const folder = join(root, "node_modules/.cache", name);
  const text = JSON.stringify({ private: true, ...manifest });
  const file = join(folder, "installed.json");
  if (existsSync(file) && readFileSync(file, "utf8") === text) return folder;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), text);
  runCommand(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund"], folder);
  writeFileSync(file, text);
  return folder;
}
