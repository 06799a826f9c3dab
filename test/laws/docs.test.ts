/** Every document: links lead somewhere, configurations load, JSON is valid, settings exist. */
import { describe, expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { loadSnapshot } from "../../server/config/build/load-snapshot.ts";
import { providers, variablesOf } from "../../server/config/sources/providers.ts";
import { describeProblems } from "../../server/config/yaml/problem.ts";
import { fileVariableOf, secretSettings, settingsTable } from "../../server/settings.ts";
import { root, temporaryFolder } from "../harness.ts";
import { anchorsOf, blocksOf, linksOf, proseOf } from "./markdown.ts";
import { filesBelow, textOf } from "./tree.ts";

const documents = filesBelow("").filter((path) => path.endsWith(".md"));
const own = documents.filter((path) => !path.startsWith("test/"));

describe("every document", () => {
  test("has only links with an existing target", () => {
    const broken = documents.flatMap((path) =>
      linksOf(path)
        .filter((link) => !/^https?:/.test(link))
        .filter((link) => {
          const [file = "", anchor] = link.split("#");
          const target = file === "" ? path : posix.join(dirname(path), file);
          if (!existsSync(join(root, target))) return true;
          return anchor !== undefined && !anchorsOf(target).includes(anchor);
        })
        .map((link) => `${path}: ${link}`),
    );
    expect(broken).toEqual([]);
  });

  test("names the page that a link leads to, if its text is a file name", () => {
    const wrong = documents.flatMap((path) =>
      [...proseOf(path).matchAll(/\[([\w./-]+\.md)\]\(([^)#\s]*)[^)]*\)/g)]
        .filter(([, text = "", target = ""]) => posix.basename(text) !== posix.basename(target))
        .map(([link]) => `${path}: ${link}`),
    );
    expect(wrong).toEqual([]);
  });

  test("names only source files that exist", () => {
    const names = new Set(filesBelow("").map((path) => posix.basename(path)));
    const missing = own.flatMap((path) =>
      [...proseOf(path).matchAll(/`(?:[\w.-]+\/)*([\w-]+\.(?:ts|tsx|mjs|wat))`/g)]
        .filter(([, name = ""]) => !names.has(name))
        // A program of the page, which its reader saves.
        .filter(([code]) => !proseOf(path).includes(`Save this program as ${code}`))
        .map(([code]) => `${path}: ${code}`),
    );
    expect(missing).toEqual([]);
  });

  test("is in the index, if it is a page of docs/", () => {
    const pages = filesBelow("docs").filter((path) => /^docs\/[\w-]+\.md$/.test(path));
    const linked = linksOf("docs/README.md").map((link) => `docs/${link}`);
    expect(pages.filter((page) => page !== "docs/README.md" && !linked.includes(page))).toEqual([]);
  });

  test("has configurations that load", () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "vexel.yaml");
    const texts = own
      .flatMap((path) => blocksOf(path).filter(({ info }) => info === "yaml"))
      .map(({ text }) => text);
    expect(texts.length).toBeGreaterThan(2);
    for (const text of [...texts, textOf("vexel.example.yaml")]) {
      writeFileSync(file, text);
      const names = [...text.matchAll(/\$\{(\w+)/g)].map(([, name]) => name as string);
      const env = Object.fromEntries(names.map((name) => [name, sampleOf(name)]));
      const loaded = loadSnapshot({ path: file, namedBy: "VEXEL_CONFIG", env });
      expect(loaded.ok ? loaded.warnings.join("\n") : describeProblems(loaded.problems)).toBe("");
    }
  });

  test("has only valid JSON", () => {
    for (const { info, text } of own.flatMap(blocksOf)) {
      if (/^json\b/.test(info)) expect(() => JSON.parse(text)).not.toThrow();
      for (const [, body = ""] of text.matchAll(/-d '([^']*)'/g))
        expect(() => JSON.parse(body)).not.toThrow();
    }
  });

  test("names only settings and variables that exist", () => {
    const known = new Set([
      ...Object.keys(settingsTable),
      ...[...secretSettings].map(fileVariableOf),
      ...providers.flatMap(variablesOf),
      // The reader's own, in examples.
      "VEXEL_KEY",
      // Of the tests and of the release.
      "VEXEL_HELM",
      "VEXEL_TEST_LITELLM",
      "VEXEL_TEST_PYTHON",
      "VEXEL_TEST_SERVERS",
      "VEXEL_TEST_WITHOUT",
      "VEXEL_TEST_REDIS_SERVER",
    ]);
    const odd = own.flatMap((path) =>
      [...textOf(path).matchAll(/\b(?:VEXEL_[A-Z_]+[A-Z]|[A-Z]+_API_KEY)\b(?!…)/g)]
        .map(([name]) => name)
        .filter((name) => !known.has(name) && !/^VEXEL_MAX$/.test(name))
        .map((name) => `${path}: ${name}`),
    );
    expect(odd).toEqual([]);
  });

  test("mentions nothing outside of the project", () => {
    // Written so that this file does not find itself.
    const strange = new RegExp(
      [
        "\\.\\./sha" + "red\\b",
        "/wo" + "rk/",
        "\\.lib" + "rary\\b",
        "\\biss" + "ue #\\d",
        "\\bTO" + "DO\\b",
      ].join("|"),
    );
    const text = /\.(?:ts|tsx|mjs|md|json|yaml|yml|toml)$|^\.ci\/|^LICENSE$/;
    const found = filesBelow("")
      .filter((path) => text.test(path) && path !== "package-lock.json")
      .filter((path) => strange.test(textOf(path)));
    expect(found).toEqual([]);
  });
});

/** A sample value, long enough for a key; a webhook secret has a format of its own. */
const sampleOf = (name: string): string =>
  name === "WEBHOOK_SECRET"
    ? `whsec_${Buffer.from(`${name}-0123456789abcdef`).toString("base64")}`
    : `${name}-0123456789abcdef`;
