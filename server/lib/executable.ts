/**
 * The single executable (`npm run release`): the gateway and the console in one file. Workers with native libraries and
 * model weights run from the npm package in the folder `lib` beside it; without that folder there are no built-in
 * models and no image conversions.
 */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

export const isExecutable = import.meta.path.startsWith("/$bunfs/");

/** The folder of the sources that child processes run. */
export const sourceFolder = isExecutable
  ? join(dirname(process.execPath), "lib/node_modules/vexel")
  : join(import.meta.dir, "../..");

/** The first folder that is missing of a path: `lib` beside the executable, or a folder in it. Undefined if none is. */
export function firstMissing(path: string): string | undefined {
  if (existsSync(path)) return undefined;
  return firstMissing(dirname(path)) ?? path;
}

/** The folder that is missing beside the executable, or in its folder `lib`. */
export const missingLib = isExecutable ? firstMissing(sourceFolder) : undefined;

/** For child processes that run a source file: the executable then behaves as Bun itself. */
export const sourceEnvironment: Readonly<Record<string, string>> = isExecutable
  ? { BUN_BE_BUN: "1" }
  : {};

/** The arguments that start this program again. In the executable, `process.argv[1]` is not a file. */
export const ownArguments = (): string[] =>
  isExecutable ? process.argv.slice(2) : [...process.execArgv, ...process.argv.slice(1)];
