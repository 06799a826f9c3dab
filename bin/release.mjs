// `npm run release`: makes the files of a release in the folder release/, and their checksums. Nothing is published.
//   vexel-VERSION.tgz                   the npm package
//   vexel-VERSION-PLATFORM-ARCH.tar.gz  the executable, with the workers and built-in models in lib/
//   vexel-VERSION.cdx.json              the software bill of materials (CycloneDX), without development dependencies
//   SHA256SUMS
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ensureInstalled, root } from "./install.mjs";

ensureInstalled("all");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const folder = join(root, "release");
rmSync(folder, { recursive: true, force: true });
const name = `vexel-${version}`;
const platform = `${name}-${process.platform}-${process.arch}`;
const staging = join(folder, platform);
const lib = join(staging, "lib");
mkdirSync(lib, { recursive: true });

run("npm", "pack", "--pack-destination", folder);
run("node", join("bin", "build-executable.mjs"), join(staging, "vexel"));
writeFileSync(join(lib, "package.json"), '{"private":true}\n');
run("npm", "install", "--prefix", lib, "--no-audit", "--no-fund", join(folder, `${name}.tgz`));
// The executable is Bun itself.
for (const part of ["bun", "@oven", ".bin"]) {
  rmSync(join(lib, "node_modules", part), { recursive: true, force: true });
}
run("tar", "-C", folder, "-czf", join(folder, `${platform}.tar.gz`), platform);
rmSync(staging, { recursive: true });
const bill = run("npm", "sbom", "--sbom-format=cyclonedx", "--omit=dev");
writeFileSync(join(folder, `${name}.cdx.json`), bill);

const files = readdirSync(folder).sort();
const lines = files.map((file) => `${sha256(join(folder, file))}  ${file}\n`);
writeFileSync(join(folder, "SHA256SUMS"), lines.join(""));
process.stdout.write(lines.join(""));

/** Returns the standard output. */
function run(command, ...args) {
  const { status, stdout } = spawnSync(command, args, {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status === 0) return stdout;
  process.stderr.write(`${command} ${args.join(" ")} failed.\n`);
  process.exit(1);
}

function sha256(path) {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}
