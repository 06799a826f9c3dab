/** The repository's own files, for the laws about them. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../harness.ts";

/** Folders at the top that are not in the repository. */
const notOurs = new Set([".git", "data"]);
/** Folders at any place. */
const generated = /(?:^|\/)node_modules$|^site\/dist$|^site\/\.vitepress\/\.temp$/;

/** Every file below a folder, by its path from the root, in order. */
export function filesBelow(folder: string): string[] {
  const entries = readdirSync(join(root, folder), { withFileTypes: true });
  return entries
    .flatMap((entry) => {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (!entry.isDirectory()) return [path];
      // Only at the top: test/data is ours.
      if (folder === "" && notOurs.has(entry.name)) return [];
      return generated.test(path) ? [] : filesBelow(path);
    })
    .sort();
}

/** Folders with files: git does not keep empty folders. */
export const foldersIn = (folder: string): string[] =>
  readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && filesBelow(`${folder}/${entry.name}`).length > 0)
    .map(({ name }) => name)
    .sort();

export const textOf = (path: string): string => readFileSync(join(root, path), "utf8");

const isCode = (path: string): boolean => /\.(ts|tsx|mjs)$/.test(path);

/** The production code and the benchmarks. */
export const sources = (): string[] =>
  ["bench", "bin", "cli", "contract", ...inPackages("src"), "server"]
    .flatMap(filesBelow)
    .filter(isCode);

export const tests = (): string[] =>
  ["test", ...inPackages("test")].flatMap(filesBelow).filter(isCode);

/** The folder with this name of every npm workspace. */
const inPackages = (folder: string): string[] =>
  foldersIn("packages").map((name) => `packages/${name}/${folder}`);

/** Without comments. */
export const uncommented = (path: string): string =>
  textOf(path)
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .replace(/(^|\s)\/\/.*$/gm, "$1");

/** Without comments and with empty strings, so that their text is not mistaken for code. */
export const codeOf = (path: string): string =>
  uncommented(path).replace(/"(?:[^"\\\n]|\\.)*"/g, '""');
