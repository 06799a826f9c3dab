// Archives with equal bytes for equal files: names are sorted, times are those of the commit, and owners are fixed.
import { readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { run } from "./run.mjs";

/** Options of GNU tar. `mode`: folders and programs 755, other files 644, so that no umask decides. */
const fixed = (seconds) => [
  "--format=gnu",
  "--sort=name",
  `--mtime=@${seconds}`,
  "--numeric-owner",
  "--mode=u=rwX,go=rX",
];

/**
 * Writes a tar archive of these names in `folder`.
 *
 * @param owned Names that belong to the user `id`; the others belong to root.
 */
export function writeTar(file, folder, names, { seconds, owned = [], id = 0 }) {
  const root = ["--owner=0", "--group=0"];
  run("tar", ["-C", folder, ...fixed(seconds), ...root, "-cf", file, ...names]);
  if (owned.length === 0) return;
  const owner = [`--owner=${id}`, `--group=${id}`];
  run("tar", ["-C", folder, ...fixed(seconds), ...owner, "-rf", file, ...owned]);
}

export function writeTarGz(file, folder, names, options) {
  writeTar(file, folder, names, options);
  // zlib of Node writes neither a name nor a time.
  writeFileSync(file, gzipSync(readFileSync(file), { level: 6 }));
}
