/** The first run installs the missing packages, and never removes installed ones. */
import { expect, test } from "bun:test";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { root, temporaryFolder } from "../harness.ts";

const lock = {
  packages: {
    "": { name: "vexel" },
    "node_modules/needed": { version: "1.0.0" },
    "node_modules/for-tests": { version: "2.0.0", dev: true },
    "node_modules/only-elsewhere": { version: "3.0.0", optional: true },
    "node_modules/@vexel/part": { resolved: "packages/part", link: true },
    "packages/part": { version: "0.1.0" },
  },
};

/**
 * Creates a folder with these packages, with or without its workspace link, and an npm that only records its arguments.
 */
function createInstallation(
  folder: string,
  packages: Readonly<Record<string, string>>,
  linked = true,
) {
  const bin = join(folder, "npm-bin");
  mkdirSync(bin, { recursive: true });
  const npmArguments = join(folder, "npm-arguments");
  writeFileSync(join(bin, "npm"), `#!/bin/sh\necho "$@" >> ${npmArguments}\n`, { mode: 0o755 });
  cpSync(join(root, "bin"), join(folder, "bin"), { recursive: true });
  writeFileSync(join(folder, "package-lock.json"), JSON.stringify(lock));
  mkdirSync(join(folder, "node_modules", "@vexel"), { recursive: true });
  const part = join(folder, "packages", "part");
  mkdirSync(part, { recursive: true });
  writeFileSync(join(part, "package.json"), JSON.stringify({ name: "part", version: "0.1.0" }));
  if (linked) symlinkSync(part, join(folder, "node_modules", "@vexel", "part"));
  for (const [name, version] of Object.entries(packages)) {
    mkdirSync(join(folder, "node_modules", name));
    const file = join(folder, "node_modules", name, "package.json");
    writeFileSync(file, JSON.stringify({ name, version }));
  }
  return async (what: "run" | "all"): Promise<string> => {
    const script = `import { ensureInstalled } from ${JSON.stringify(join(folder, "bin", "install.mjs"))}; ensureInstalled("${what}");`;
    const env = { PATH: `${bin}:${process.env.PATH}` };
    const child = Bun.spawn(["node", "--input-type=module", "-e", script], {
      env,
      stderr: "ignore",
    });
    expect(await child.exited).toBe(0);
    return existsSync(npmArguments) ? readFileSync(npmArguments, "utf8") : "";
  };
}

test("after a manual npm install, a command installs nothing and so removes nothing", async () => {
  using folder = temporaryFolder();
  const ensure = createInstallation(folder.path, { needed: "1.0.0", "for-tests": "2.0.0" });
  expect(await ensure("run")).toBe("");
  expect(await ensure("all")).toBe("");
});

test("npm runs without --omit if a package is missing and dev packages are installed", async () => {
  using folder = temporaryFolder();
  const ensure = createInstallation(folder.path, { "for-tests": "2.0.0" });
  const npmArguments = await ensure("run");
  expect(npmArguments).toStartWith("install ");
  expect(npmArguments).not.toContain("--omit");
});

test("npm runs without --omit if the lock file has changed since all packages were installed", async () => {
  using folder = temporaryFolder();
  const ensure = createInstallation(folder.path, { needed: "0.9.0" });
  writeFileSync(join(folder.path, "node_modules", ".vexel-installed"), "earlier-hash all");
  expect(await ensure("run")).not.toContain("--omit");
});

test("an empty node_modules gets the runtime packages only, once, and the dev packages when a command needs them", async () => {
  using folder = temporaryFolder();
  const ensure = createInstallation(folder.path, {});
  const npmArguments = await ensure("run");
  expect(npmArguments).toContain("--omit=dev");
  expect(await ensure("run")).toBe(npmArguments);
  expect((await ensure("all")).split("\n")[1]).not.toContain("--omit");
});

test("a workspace that is not linked is installed, although every other package is installed", async () => {
  using folder = temporaryFolder();
  const ensure = createInstallation(folder.path, { needed: "1.0.0", "for-tests": "2.0.0" }, false);
  expect(await ensure("run")).toStartWith("install ");
});

test("a copy of node_modules without its links is completed, although it is marked as installed", async () => {
  using folder = temporaryFolder();
  const ensure = createInstallation(folder.path, { needed: "1.0.0", "for-tests": "2.0.0" });
  expect(await ensure("all")).toBe("");
  rmSync(join(folder.path, "node_modules", "@vexel", "part"));
  expect(await ensure("all")).toStartWith("install ");
});
