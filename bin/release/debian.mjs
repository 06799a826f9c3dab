// The Debian packages of the image: the files that deploy/docker/debian-packages.json names, by checksum.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { root } from "../install.mjs";
import { readJson, run, sha256 } from "./run.mjs";

export const mirror = "http://deb.debian.org";
export const debianFile = join(root, "deploy", "docker", "debian-packages.json");
const cache = join(root, "node_modules", ".cache", "vexel", "debian");

/** @returns {{ name: string, version: string, license: string, path: string, sha256: string }[]} */
export function debianPackages(architecture) {
  return readJson(debianFile).packages.map(({ files, ...rest }) => ({
    ...rest,
    ...files[architecture],
  }));
}

/** The path of the package on this machine. Its checksum is that of the list. */
export async function downloadDebianPackage({ name, version, path, sha256: expected }) {
  mkdirSync(cache, { recursive: true });
  const file = join(cache, basename(path));
  if (sha256(readOrEmpty(file)) === expected) return file;
  const response = await fetch(`${mirror}/${path}`);
  if (response.status === 404) {
    throw new Error(
      `Debian no longer has ${name} ${version}: run "node bin/release/update-debian-packages.mjs" and commit the list.`,
    );
  }
  if (!response.ok) throw new Error(`${mirror}/${path}: status ${response.status}`);
  const bytes = Buffer.from(await response.arrayBuffer());
  if (sha256(bytes) !== expected) throw new Error(`${path} has another checksum than the list`);
  writeFileSync(file, bytes);
  return file;
}

/** Unpacks the files of the packages into a folder, and returns the packages with their control files. */
export async function unpackDebianPackages(architecture, folder) {
  const unpacked = [];
  for (const each of debianPackages(architecture)) {
    const file = await downloadDebianPackage(each);
    const files = run("dpkg-deb", ["--fsys-tarfile", file]);
    // Not -p: owners and special modes of these files do not matter, and the release may run as any user.
    run("tar", ["-C", folder, "--no-same-owner", "-xf", "-"], { input: files });
    unpacked.push({ ...each, control: run("dpkg-deb", ["--field", file]) });
  }
  return unpacked;
}

function readOrEmpty(path) {
  try {
    return readFileSync(path);
  } catch {
    // Not downloaded yet.
    return Buffer.alloc(0);
  }
}
