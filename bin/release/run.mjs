// Runs a program of the release, and reads and writes files with their checksums.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { root } from "../install.mjs";

/** Returns the standard output. A program that fails ends the release, unless it may fail: then `undefined`. */
export function run(program, args, { input, env, cwd = root, mayFail = false } = {}) {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    input,
    env: { ...process.env, ...env },
    maxBuffer: 1024 * 1024 * 1024,
    // A registry that does not respond ends the release.
    timeout: 600_000,
  });
  if (status === 0) return stdout;
  if (mayFail) return undefined;
  throw new Error(`${program} ${args.join(" ")} failed: ${error?.message ?? `${stdout}${stderr}`}`);
}

/** The first line that a program prints, such as its version. */
export function firstLine(program, ...args) {
  return run(program, args).toString().split("\n")[0].trim();
}

export function sha256(bytes) {
  return createHash("sha256").update(bytes).digest("hex");
}

export function readJson(path) {
  return JSON.parse(readFileSync(path, "utf8"));
}
