// Which packages of package-lock.json a workspace needs, with their dependencies, and their installation for a platform.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../install.mjs";
import { isFor } from "./platforms.mjs";
import { readJson, run } from "./run.mjs";

const { version, packages } = readJson(join(root, "package-lock.json"));
const modules = "node_modules/";

/**
 * The paths of all packages that a workspace needs: "" is the gateway, "console" the console. Without a platform, with
 * those of all platforms.
 *
 * @returns {string[]} such as node_modules/sharp, sorted
 */
export function neededBy(workspace, platform) {
  const found = new Set();
  const queue = [workspace];
  for (const path of queue) {
    for (const needed of dependenciesOf(path, platform)) {
      if (found.has(needed)) continue;
      found.add(needed);
      queue.push(needed);
    }
  }
  return [...found].sort();
}

/** The paths of the packages that one package uses. */
export function dependenciesOf(path, platform) {
  const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } =
    packages[path];
  const isWanted = (name) => !peerDependenciesMeta?.[name]?.optional;
  const names = [
    ...Object.keys({ ...dependencies, ...optionalDependencies }),
    ...Object.keys(peerDependencies ?? {}).filter(isWanted),
  ];
  return names
    .map((name) => pathFrom(path, name))
    .filter((each) => each && (!platform || isFor(platform, packages[each])));
}

/** Where Node finds a package: in the folder of the package that uses it, or in one above. */
function pathFrom(path, name) {
  for (let folder = path; ; folder = parentOf(folder)) {
    const candidate = folder === "" ? modules + name : `${folder}/${modules}${name}`;
    if (packages[candidate]) return candidate;
    if (folder === "") return undefined;
  }
}

function parentOf(folder) {
  const at = folder.lastIndexOf(`/${modules}`);
  return at === -1 ? "" : folder.slice(0, at);
}

export const lockedPackage = (path) => packages[path];
export const nameOf = (path) => path.slice(path.lastIndexOf(modules) + modules.length);

/**
 * Installs the packages of the gateway for a platform into `folder`/node_modules, with the versions and checksums of
 * package-lock.json, and the gateway itself from its npm package.
 */
export function installFor(platform, folder, npmPackage) {
  mkdirSync(folder, { recursive: true });
  const { dependencies, optionalDependencies } = packages[""];
  const manifest = { name: "vexel-lib", version, dependencies, optionalDependencies };
  // With other platforms: npm compares the lock with the manifests.
  const locked = Object.fromEntries(neededBy("").map((path) => [path, packages[path]]));
  const lock = {
    name: manifest.name,
    version,
    lockfileVersion: 3,
    packages: { "": manifest, ...locked },
  };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  writeFileSync(join(folder, "package-lock.json"), JSON.stringify(lock));
  // Bun's script would only put its program for this machine beside it.
  run(
    "npm",
    [
      "ci",
      "--ignore-scripts",
      "--no-audit",
      "--no-fund",
      "--prefer-offline",
      ...["--os=linux", `--cpu=${platform.cpu}`, "--libc=glibc"],
    ],
    { cwd: folder },
  );
  const own = join(folder, "node_modules", "vexel");
  mkdirSync(own);
  run("tar", ["-C", own, "--strip-components=1", "-xzf", npmPackage]);
  for (const file of [
    "package-lock.json",
    "node_modules/.package-lock.json",
    "node_modules/.bin",
  ]) {
    rmSync(join(folder, file), { recursive: true, force: true });
  }
  writeFileSync(join(folder, "package.json"), '{"private":true}\n');
  removeOtherPlatforms(join(folder, "node_modules"), platform);
}

/** The native runtime of built-in embedding models comes for six platforms, 100 MB together. */
function removeOtherPlatforms(modulesFolder, { cpu }) {
  const binaries = join(modulesFolder, "onnxruntime-node", "bin", "napi-v3");
  for (const other of ["darwin", "win32", `linux/${cpu === "x64" ? "arm64" : "x64"}`]) {
    rmSync(join(binaries, other), { recursive: true, force: true });
  }
}
