// The executable of a platform in an archive, with the workers and built-in models in `lib`.
import { copyFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../install.mjs";
import { writeTarGz } from "./archive.mjs";
import { readJson, run } from "./run.mjs";

/** @returns The path of Bun's program for the platform, among its installed packages. */
export const bunOf = (platform, installed) =>
  join(installed, "node_modules", platform.bunPackage, "bin", "bun");

/**
 * Writes FOLDER/vexel-VERSION-PLATFORM.tar.gz.
 *
 * @param installed A folder with the installed packages of the platform. They are moved into the archive.
 * @returns The folder with the files of the archive.
 */
export function writeExecutable(platform, { name, installed, staging, notices, file, seconds }) {
  const folder = join(staging, name);
  mkdirSync(folder);
  const script = join(root, "bin", "build-executable.mjs");
  const bun = bunOf(platform, installed);
  run(process.execPath, [script, join(folder, "vexel"), platform.bunTarget, bun]);
  // The executable is Bun itself.
  for (const part of ["bun", "@oven"]) {
    rmSync(join(installed, "node_modules", part), { recursive: true });
  }
  renameSync(installed, join(folder, "lib"));
  writeFileSync(join(folder, "THIRD-PARTY-NOTICES"), notices);
  copyFileSync(join(root, "LICENSE"), join(folder, "LICENSE"));
  writeTarGz(file, staging, [name], { seconds });
  return folder;
}

/**
 * Prints the version with an executable for another processor, in an emulator with the libraries of the image.
 *
 * @returns How it was started. Undefined: this machine has no such emulator.
 */
export function startInEmulator({ cpu }, { executable, rootfs, version }) {
  const emulator = `qemu-${cpu === "arm64" ? "aarch64" : "x86_64"}-static`;
  if (run("which", [emulator], { mayFail: true }) === undefined) return undefined;
  // An emulated program cannot replace itself by a program of its own processor, so it gets what it would set.
  const env = { VEXEL_COMMAND: "vexel", ...bunSettings() };
  const printed = run(emulator, ["-L", rootfs, executable, "--version"], { env });
  if (printed.toString().trim() !== version) throw new Error(`${executable} printed ${printed}`);
  return `printed its version under ${emulator}`;
}

const bunSettings = () => readJson(join(root, "bin", "environment.json"));
