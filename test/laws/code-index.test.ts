/**
 * docs/code-index.md agrees with the code: every row leads to a file that exists and that has the named symbol and the
 * row's first term, so that a search for the term finds the file as well.
 */
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join, posix } from "node:path";
import { root } from "../harness.ts";
import { rowsOf, sectionsOf } from "./markdown.ts";
import { filesBelow, foldersIn, textOf } from "./tree.ts";

const page = "docs/code-index.md";

interface IndexRow {
  readonly group: string;
  /** The first is the canonical term. */
  readonly terms: readonly string[];
  readonly links: readonly { readonly symbol: string; readonly file: string }[];
}

const rows: readonly IndexRow[] = sectionsOf(page)
  .filter(({ level }) => level === 2)
  .flatMap((section) =>
    rowsOf(section).map(([terms = "", code = ""]) => ({
      group: section.heading,
      terms: terms.replaceAll("**", "").split(", "),
      links: [...code.matchAll(/\[`([^`]+)`\]\(([^)\s]+)\)/g)].map(
        ([, symbol = "", target = ""]) => ({ symbol, file: posix.join("docs", target) }),
      ),
    })),
  );

const links = rows.flatMap((row) => row.links);

/**
 * The path and the text in lower case, with comments as running text: a term may be broken over two lines. The path
 * counts because a JSON file has no comments.
 */
const searchText = (file: string): string =>
  `${file} ${textOf(file).replace(/\s*\n\s*(?:\*|\/\/|#)?\s*/g, " ")}`.toLowerCase();

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

describe(page, () => {
  test("has rows of terms, and one to three links each", () => {
    expect(rows.length).toBeGreaterThan(200);
    const odd = rows.filter(({ links: { length } }) => length < 1 || length > 3);
    expect(odd.map(({ terms }) => terms[0])).toEqual([]);
  });

  test("links only files that exist", () => {
    const missing = links.filter(({ file }) => !existsSync(join(root, file)));
    expect(missing.map(({ file }) => file)).toEqual([]);
  });

  test("names only symbols that occur in their file", () => {
    const unknown = links.filter(
      ({ symbol, file }) =>
        existsSync(join(root, file)) &&
        !new RegExp(`(?<![\\w$])${escaped(symbol)}(?![\\w$])`).test(textOf(file)),
    );
    expect(unknown.map(({ symbol, file }) => `${symbol}: ${file}`)).toEqual([]);
  });

  test("has the first term of each row in the text of its first file", () => {
    const absent = rows.flatMap(({ terms: [term = ""], links: [first] }) =>
      first &&
      existsSync(join(root, first.file)) &&
      !searchText(first.file).includes(term.toLowerCase())
        ? [`${term}: ${first.file}`]
        : [],
    );
    expect(absent).toEqual([]);
  });

  test("has a row for every folder of server/, at the first and the second level", () => {
    const folders = foldersIn("server").flatMap((name) => [
      `server/${name}/`,
      ...foldersIn(`server/${name}`).map((inner) => `server/${name}/${inner}/`),
    ]);
    const silent = folders.filter((folder) => !links.some(({ file }) => file.startsWith(folder)));
    expect(silent).toEqual([]);
  });

  test("has a row for every other folder of code", () => {
    const folders = ["bench", "bin", "cli", "console", "contract", "packages/sketch"].concat(
      foldersIn("deploy").map((name) => `deploy/${name}`),
    );
    const silent = folders.filter(
      (folder) => !links.some(({ file }) => file.startsWith(`${folder}/`)),
    );
    expect(silent).toEqual([]);
  });

  test("is sorted by the first term within each group", () => {
    const groups = Map.groupBy(rows, ({ group }) => group);
    for (const [group, inGroup] of groups) {
      const terms = inGroup.map(({ terms: [first = ""] }) => first.toLowerCase());
      expect([group, ...terms]).toEqual([group, ...terms.toSorted()]);
    }
  });

  test("has each term once", () => {
    const terms = rows.flatMap((row) => row.terms).map((term) => term.toLowerCase());
    expect(terms.filter((term, at) => terms.indexOf(term) !== at)).toEqual([]);
  });

  test("is about files of the repository that are not tests", () => {
    const known = new Set(filesBelow(""));
    const odd = links.filter(({ file }) => !known.has(file) || file.startsWith("test/"));
    expect(odd.map(({ file }) => file)).toEqual([]);
  });
});
