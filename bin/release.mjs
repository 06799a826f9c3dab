// `npm run release`: makes the files of a release in the folder release/, or in the folder that is named. Nothing is
// published.
//   vexel-VERSION.tgz                  the npm package
//   vexel-VERSION-PLATFORM.tar.gz      the executable, with the workers and built-in models in lib/
//   vexel-VERSION-image-ARCH.tar       the image, for `docker load`
//   vexel-VERSION-chart.tgz            the Helm chart
//   vexel-VERSION.cdx.json             the software bill of materials (CycloneDX)
//   vexel-VERSION-notes.md             the part of the changelog
//   vexel-VERSION.json                 the commit, the programs that made the files, and their checksums
//   SHA256SUMS
// Two builds of one commit with the same versions of these programs have the same checksums.
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { bunPath, ensureInstalled, root } from "./install.mjs";
import { billOfMaterials } from "./release/bill-of-materials.mjs";
import { writeChart } from "./release/chart.mjs";
import { consoleComponents, debianComponents, installedComponents } from "./release/components.mjs";
import { startInEmulator, writeExecutable } from "./release/executables.mjs";
import { writeImage, writeOwnFiles, writeRootfs } from "./release/image.mjs";
import { installFor } from "./release/locked-packages.mjs";
import { noticesOf } from "./release/notices.mjs";
import { platforms } from "./release/platforms.mjs";
import { firstLine, readJson, run, sha256 } from "./release/run.mjs";

ensureInstalled("all");
const { name: product, version } = readJson(join(root, "package.json"));
const name = `${product}-${version}`;
const folder = resolve(process.argv[2] ?? join(root, "release"));
const commit = run("git", ["describe", "--always", "--abbrev=40", "--exclude=*", "--dirty"])
  .toString()
  .trim();
const seconds = Number(run("git", ["log", "-1", "--format=%ct"]));
const created = new Date(seconds * 1000).toISOString();
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const staging = mkdtempSync(join(tmpdir(), "vexel-release-"));
const contents = {};
/** How each program was started here. Images are started by the tests. */
const started = {};
const notRun = "built, not run";
try {
  run("npm", ["pack", "--pack-destination", folder]);
  contents[`${name}.tgz`] = consoleComponents();
  const helm = writeChart(join(folder, `${name}-chart.tgz`), { staging, seconds });
  for (const platform of platforms) await writePlatform(platform);
  const bill = billOfMaterials({ name: product, version, commit, created, contents });
  writeFileSync(join(folder, `${name}.cdx.json`), `${JSON.stringify(bill, undefined, 2)}\n`);
  writeFileSync(join(folder, `${name}-notes.md`), notesOf(version));
  writeRecord(helm);
} finally {
  rmSync(staging, { recursive: true, force: true });
}
process.stdout.write(readFileSync(join(folder, "SHA256SUMS")));

async function writePlatform(platform) {
  const installed = join(staging, "installed");
  installFor(platform, installed, join(folder, `${name}.tgz`));
  const [base, own] = ["base", "own"].map((each) => join(staging, `${each}-${platform.name}`));
  await writeRootfs(platform, base);
  writeOwnFiles(platform, { installed, folder: own });
  const image = `${name}-image-${platform.debian}.tar`;
  const inImage = [
    ...installedComponents(platform, join(own, "opt/vexel")),
    ...consoleComponents(),
    ...debianComponents(platform, base),
  ];
  contents[image] = unique(inImage);
  const document = join(own, "usr/share/doc/vexel");
  mkdirSync(document, { recursive: true });
  const texts = commonTexts(base);
  writeFileSync(join(document, "THIRD-PARTY-NOTICES"), noticesFor(image, texts));
  started[image] = notRun;
  writeImage(platform, { base, own, staging, file: join(folder, image), version, commit, seconds });

  const archive = `${name}-${platform.name}.tar.gz`;
  contents[archive] = unique([...installedComponents(platform, installed), ...consoleComponents()]);
  const files = writeExecutable(platform, {
    name: `${name}-${platform.name}`,
    installed,
    staging,
    notices: noticesFor(archive, texts),
    file: join(folder, archive),
    seconds,
  });
  const executable = join(files, "vexel");
  started[archive] = startOnce(platform, { executable, rootfs: base });
  for (const each of [base, own, files]) rmSync(each, { recursive: true });
}

function noticesFor(file, texts) {
  return noticesOf(`Software of others in ${file}.`, contents[file], texts);
}

function startOnce(platform, { executable, rootfs }) {
  if (platform.name !== `${process.platform}-${process.arch}`) {
    return startInEmulator(platform, { executable, rootfs, version }) ?? notRun;
  }
  const printed = run(executable, ["--version"]).toString().trim();
  if (printed !== version) throw new Error(`${executable} printed ${printed}`);
  return "printed its version";
}

/** The licenses that notices refer to by name, from Debian's package base-files. */
function commonTexts(rootfs) {
  const names = [
    "Apache-2.0",
    "GPL-2",
    "GPL-3",
    "LGPL-2",
    "LGPL-2.1",
    "LGPL-3",
    "MPL-1.1",
    "MPL-2.0",
  ];
  const read = (name) => readFileSync(join(rootfs, "usr/share/common-licenses", name), "utf8");
  return Object.fromEntries(names.map((name) => [name, read(name)]));
}

function unique(components) {
  const byPurl = new Map(components.map((each) => [each.purl, each]));
  return [...byPurl.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The part of the changelog about a version, with its heading. */
function notesOf(version) {
  const changelog = readFileSync(join(root, "CHANGELOG.md"), "utf8");
  const part = changelog.split(/^(?=## )/m).find((each) => each.startsWith(`## ${version}`));
  if (part === undefined) throw new Error(`CHANGELOG.md has no part about ${version}`);
  return `${part.trim()}\n`;
}

function writeRecord(helm) {
  const files = readdirSync(folder).sort();
  const record = {
    name: product,
    version,
    commit,
    created,
    programs: {
      node: process.version,
      npm: firstLine("npm", "--version"),
      bun: firstLine(bunPath(), "--version"),
      helm,
      tar: firstLine("tar", "--version"),
      "dpkg-deb": firstLine("dpkg-deb", "--version"),
    },
    files: files.map((file) => ({
      file,
      bytes: statSync(join(folder, file)).size,
      sha256: sumOf(file),
      ...(started[file] && { started: started[file] }),
    })),
  };
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(record, undefined, 2)}\n`);
  const sums = readdirSync(folder)
    .sort()
    .map((file) => `${sumOf(file)}  ${file}\n`);
  writeFileSync(join(folder, "SHA256SUMS"), sums.join(""));
}

function sumOf(file) {
  return sha256(readFileSync(join(folder, file)));
}
