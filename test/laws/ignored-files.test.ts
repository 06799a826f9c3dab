/** Files with secrets that the documents tell users to create do not enter a commit, and so no release. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { filesBelow, textOf } from "./tree.ts";

const pages = ["README.md", "deploy/compose.yaml", ...filesBelow("docs")].filter((path) =>
  /\.(md|yaml)$/.test(path),
);

/** Files of variables that the pages name, such as deploy/.env. Absolute paths are outside the repository. */
const documentedEnvFiles = pages.flatMap((path) =>
  Array.from(textOf(path).matchAll(/(?<![\w./])((?:[\w-]+\/)*[\w-]*\.env)(?![\w.])/g), (match) =>
    String(match[1]),
  ),
);

/** Further names that Bun, Docker Compose and users give to such files, and the folder that `docker run` mounts. */
const secretFiles = [
  ...new Set(documentedEnvFiles),
  ".env.local",
  ".env.production",
  "deploy/.env.staging",
  "vexel.env",
  "deploy/vexel.env",
  "vexel.yaml",
  "config/vexel.yaml",
  "data/vexel.db",
];

describe("files with secrets", () => {
  test("of the documents are found, deploy/.env among them", () => {
    expect(documentedEnvFiles).toContain("deploy/.env");
    expect(documentedEnvFiles).toContain(".env");
  });

  test("are ignored by git, and the files of the repository are not", () => {
    const git = Bun.which("git");
    if (git === null && process.env.CI !== "true") return;
    const folder = mkdtempSync(join(tmpdir(), "vexel-ignored-"));
    try {
      const run = (...args: string[]) =>
        Bun.spawnSync([git ?? "git", ...args], { cwd: folder }).stdout.toString();
      run("init", "--quiet");
      writeFileSync(join(folder, ".gitignore"), textOf(".gitignore"));
      for (const path of secretFiles) {
        mkdirSync(join(folder, dirname(path)), { recursive: true });
        writeFileSync(join(folder, path), "SECRET=x\n");
      }
      expect(
        run("check-ignore", ...secretFiles)
          .trim()
          .split("\n"),
      ).toEqual(secretFiles);
      const own = ["bench/vexel.yaml", "server/config/validate/schema.ts", "bin/environment.json"];
      expect(run("check-ignore", "--no-index", ...own)).toBe("");
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
