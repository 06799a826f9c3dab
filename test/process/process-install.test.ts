/** The first run installs what is missing; whatever is there already stays there. */
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

/** A folder with these packages, with or without the link to its workspace, and an npm that only records its arguments. */
function arrange(folder: string, packages: Readonly<Record<string, string>>, linked = true) {
  const bin = join(folder, "npm-bin");
  mkdirSync(bin, { recursive: true });
  const said = join(folder, "npm-said");
  writeFileSync(join(bin, "npm"), `#!/bin/sh\necho "$@" >> ${said}\n`, { mode: 0o755 });
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
    return existsSync(said) ? readFileSync(said, "utf8") : "";
  };
}

test("after npm install by hand, a command installs nothing and so removes nothing", async () => {
  using folder = temporaryFolder();
  const ensure = arrange(folder.path, { needed: "1.0.0", "for-tests": "2.0.0" });
  expect(await ensure("run")).toBe("");
  expect(await ensure("all")).toBe("");
});

test("something is missing, and what is for tests is there: npm is not told to leave it out", async () => {
  using folder = temporaryFolder();
  const ensure = arrange(folder.path, { "for-tests": "2.0.0" });
  const said = await ensure("run");
  expect(said).toStartWith("install ");
  expect(said).not.toContain("--omit");
});

test("of a change of the lock file too", async () => {
  using folder = temporaryFolder();
  const ensure = arrange(folder.path, { needed: "0.9.0" });
  writeFileSync(join(folder.path, "node_modules", ".vexel-installed"), "before all");
  expect(await ensure("run")).not.toContain("--omit");
});

test("with nothing there, only what is needed to run is installed, once; the rest when it is needed", async () => {
  using folder = temporaryFolder();
  const ensure = arrange(folder.path, {});
  const said = await ensure("run");
  expect(said).toContain("--omit=dev");
  expect(await ensure("run")).toBe(said);
  expect((await ensure("all")).split("\n")[1]).not.toContain("--omit");
});

test("a workspace that is not linked is installed, although every other package is there", async () => {
  using folder = temporaryFolder();
  const ensure = arrange(folder.path, { needed: "1.0.0", "for-tests": "2.0.0" }, false);
  expect(await ensure("run")).toStartWith("install ");
});

test("a copy of node_modules that lost its links is completed, although it is marked as installed", async () => {
  using folder = temporaryFolder();
  const ensure = arrange(folder.path, { needed: "1.0.0", "for-tests": "2.0.0" });
  expect(await ensure("all")).toBe("");
  rmSync(join(folder.path, "node_modules", "@vexel", "part"));
  expect(await ensure("all")).toStartWith("install ");
});
