/** README.md and the quickstart name what exists: commands, models, the startup message. */
import { describe, expect, test } from "bun:test";
import manifest from "../../package.json";
import { upstreamKinds } from "../../server/admin/upstream-kinds.ts";
import { loadSnapshot } from "../../server/config/build/load-snapshot.ts";
import { describeProblems } from "../../server/config/yaml/problem.ts";
import { startupMessage } from "../../server/process/startup-message.ts";
import { blocksOf, codesIn, firstCodes, proseOf, rowsOf, sectionOf } from "./markdown.ts";
import { filesBelow, textOf } from "./tree.ts";

const documents = filesBelow("").filter((path) => path.endsWith(".md"));
const own = documents.filter((path) => !path.startsWith("test/"));

describe("README.md", () => {
  test("names only commands that exist", () => {
    const scripts = Object.keys(manifest.scripts);
    const code = own.flatMap((path) => [
      ...blocksOf(path).map(({ text }) => text),
      ...codesIn(proseOf(path)),
    ]);
    const named = [...code.join("\n").matchAll(/\bnpm (?:run )?([a-z]+)\b/g)].map(
      ([, name]) => name as string,
    );
    const ofNpm = ["ci", "install", "link", "ls", "pack", "sbom"];
    expect(named.filter((name) => !scripts.includes(name) && !ofNpm.includes(name))).toEqual([]);
    expect(named).toContain("start");
    expect(named).toContain("test");
  });

  test("has every command of the command line", () => {
    const [list = ""] = /const commands\b[\s\S]+?\n\]\);/.exec(textOf("cli/run-command.ts")) ?? [];
    const documented = firstCodes(sectionOf("README.md", "Commands")).map(
      (code) => code.split(" ")[1],
    );
    expect(documented).toEqual(
      [...list.matchAll(/^ {2}\["([\w-]+)"/gm)].map(([, name]) => name as string),
    );
    expect(documented).toContain("serve");
  });

  test("has the number of kinds of upstream in its table", async () => {
    const rows = rowsOf(sectionOf("README.md", "At a glance"));
    expect(rows).toContainEqual(["Kinds of upstream", String((await upstreamKinds()).length)]);
  });

  test("requests only built-in models", () => {
    const requests = own
      .filter((path) => path === "README.md")
      .flatMap(blocksOf)
      .flatMap(({ text }) => [...text.matchAll(/"?model"?\s*[:=]\s*"([^"]+)"/g)])
      .map(([, id]) => id as string);
    expect([...new Set(requests)].sort()).toEqual(["all-minilm-l6-v2", "vexel-sketch"]);
  });
});

describe("the first pages", () => {
  test("show the startup message as it is printed", () => {
    const loaded = loadSnapshot({ path: "/nowhere/vexel.yaml", env: {} });
    if (!loaded.ok) throw new Error(describeProblems(loaded.problems));
    const message = startupMessage({
      url: "http://127.0.0.1:8080",
      snapshot: loaded.snapshot,
      newKey: "sk-vx-…",
      consolePath: "/console/setup#…",
    });
    for (const page of ["README.md", "docs/quickstart.md"]) {
      const shown = blocksOf(page).filter(({ text }) => text.includes("Vexel is listening."));
      expect(shown).toHaveLength(1);
      expect(message).toContain(shown[0]?.text.trimEnd() ?? page);
    }
  });
});
