/** The source files of the console. A file of its own: the bundler and Tailwind must not be loaded at the start. */
import { readdirSync } from "node:fs";
import { join } from "node:path";

const sourceNames = /\.(?:tsx?|css|html|svg)$/;

/** The paths of all source files in a folder, in a fixed order. */
export const sourcesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => sourceNames.test(name))
    .sort()
    .map((name) => join(folder, name));
