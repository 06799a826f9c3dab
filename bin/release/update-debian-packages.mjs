// `node bin/release/update-debian-packages.mjs`: writes the current versions of the image's Debian packages, with their
// checksums, to deploy/docker/debian-packages.json. An image is made of exactly these files.
import { readFileSync, writeFileSync } from "node:fs";
import { debianFile, mirror } from "./debian.mjs";
import { run } from "./run.mjs";

const { suite, packages } = JSON.parse(readFileSync(debianFile, "utf8"));
const sources = [
  { archive: "debian", suite },
  { archive: "debian", suite: `${suite}-updates` },
  { archive: "debian-security", suite: `${suite}-security` },
];
const found = new Map();
for (const architecture of ["amd64", "arm64"]) {
  for (const { archive, suite } of sources) {
    const url = `${mirror}/${archive}/dists/${suite}/main/binary-${architecture}/Packages.xz`;
    const response = await fetch(url);
    if (!response.ok) throw new Error(`${url}: ${response.status}`);
    const index = run("xz", ["-dc"], { input: Buffer.from(await response.arrayBuffer()) });
    for (const paragraph of index.toString().split("\n\n"))
      keepNewest(paragraph, archive, architecture);
  }
}
const updated = packages.map(({ name, license }) => {
  const [amd64, arm64] = ["amd64", "arm64"].map((each) => found.get(`${name} ${each}`));
  if (!amd64 || !arm64) throw new Error(`Debian ${suite} has no package ${name}`);
  if (amd64.version !== arm64.version) throw new Error(`${name} has two versions`);
  const files = { amd64: fileOf(amd64), arm64: fileOf(arm64) };
  return { name, version: amd64.version, license, files };
});
writeFileSync(debianFile, `${JSON.stringify({ suite, packages: updated }, undefined, 2)}\n`);

function keepNewest(paragraph, archive, architecture) {
  const field = (name) => new RegExp(`^${name}: (.+)$`, "m").exec(paragraph)?.[1];
  const name = field("Package");
  if (!packages.some((each) => each.name === name)) return;
  const [key, version] = [`${name} ${architecture}`, field("Version")];
  const known = found.get(key);
  if (known && !isNewer(version, known.version)) return;
  found.set(key, { version, path: `${archive}/${field("Filename")}`, sha256: field("SHA256") });
}

function isNewer(one, other) {
  return run("dpkg", ["--compare-versions", one, "gt", other], { mayFail: true }) !== undefined;
}

function fileOf({ path, sha256 }) {
  return { path, sha256 };
}
