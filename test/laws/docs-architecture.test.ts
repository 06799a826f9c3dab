/** ARCHITECTURE.md and CONTRIBUTING.md agree with the code: folders, imports, stages and decisions. */
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { root } from "../harness.ts";
import { codesIn, firstCodes, linksOf, proseOf, rowsOf, sectionOf } from "./markdown.ts";
import { filesBelow, foldersIn, textOf } from "./tree.ts";

describe("ARCHITECTURE.md", () => {
  /** Paths in backticks: with a slash or an ending, and nothing that varies. */
  const named = (path: string) =>
    codesIn(proseOf(path)).filter((code) =>
      /^(?:server|cli|contract|bin|test|bench|docs)\/[\w./-]*$|^[\w-]+\.(?:md|json|yaml)$/.test(
        code,
      ),
    );

  for (const path of ["ARCHITECTURE.md", "CONTRIBUTING.md"]) {
    test(`names only files that exist (${path})`, () => {
      const names = named(path);
      expect(names.length).toBeGreaterThan(5);
      // `vexel.yaml` is the reader's own.
      const missing = names.filter((name) => !isKept(name) && name !== "vexel.yaml");
      expect(missing).toEqual([]);
    });
  }

  test("has every folder of tests that is not named like a folder of server/ (CONTRIBUTING.md)", () => {
    const documented = firstCodes(sectionOf("CONTRIBUTING.md", "Tests"));
    const folders = foldersIn("test").filter((name) => !foldersIn("server").includes(name));
    const packages = foldersIn("packages").map((name) => `packages/${name}/test/`);
    expect(documented.sort()).toEqual(
      [...packages, ...folders.map((name) => `test/${name}/`)].sort(),
    );
  });

  test("names every folder of server/", () => {
    const documented = firstCodes(sectionOf("ARCHITECTURE.md", "Layout"));
    const folders = foldersIn("server").map((name) => `server/${name}/`);
    expect(folders.filter((folder) => !documented.includes(folder))).toEqual([]);
  });

  test("lists the folders of server/ in the order in which they may import each other", () => {
    const law = textOf("test/laws/repository.test.ts");
    const layers = [...law.matchAll(/^ {2}"?([\w-]+)"?: \[[^\]]*\],$/gm)].map(([, name]) => name);
    const documented = firstCodes(sectionOf("ARCHITECTURE.md", "Layout"))
      .map((path) => path.split("/")[1])
      .filter((name) => layers.includes(name));
    expect(documented).toEqual(layers);
  });

  test("has every stage, and the file of each stage", () => {
    const rows = rowsOf(sectionOf("ARCHITECTURE.md", "Stages"));
    // A list is an argument, or the result of a function that several endpoints share.
    const stacks = textOf("server/pipeline/stages.ts").matchAll(
      /(?:composeStages\(\s*|\(\) => )\[\n( +)(.*?)\n +\][,;]/gs,
    );
    const listed = [...stacks].flatMap(([, indent = "", list = ""]) =>
      list.split(`\n${indent}`).flatMap((line) => line.match(/^[a-zA-Z]+/)?.[0] ?? []),
    );
    const documented = rows.flatMap(([name = ""]) => codesIn(name));
    expect(documented.toSorted()).toEqual([...new Set(listed)].toSorted());
    const files = rows.flatMap(([, , , files = ""]) => codesIn(files));
    const isStage = (file: string): boolean => /\bStage</.test(textOf(file));
    const own = [
      "server/pipeline/stages.ts",
      "server/batches/vendor/stages.ts",
      "server/request/stage.ts",
    ];
    const silent = filesBelow("server").filter((file) => isStage(file) && !files.includes(file));
    expect(silent.filter((file) => !own.includes(file))).toEqual([]);
  });

  test("lists every decision", () => {
    const listed = linksOf("ARCHITECTURE.md").filter((link) => link.startsWith("docs/decisions/"));
    expect(listed.toSorted()).toEqual(filesBelow("docs/decisions").toSorted());
  });
});

/** A file, or a folder with files: git does not keep an empty folder. */
const isKept = (path: string): boolean =>
  path.endsWith("/")
    ? filesBelow("").some((file) => file.startsWith(path))
    : existsSync(join(root, path));
