/**
 * A child process that builds the console into a folder: `bun build.ts SOURCES FOLDER`. The gateway keeps serving
 * meanwhile.
 */
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bundleConsole } from "./bundle.ts";

const [sources, folder] = process.argv.slice(2);
if (!sources || !folder) throw new Error("build.ts needs the folder of the sources and the target");

// Written under another name first, so that a reader never sees half a build.
const unfinished = `${folder}.${process.pid}`;
mkdirSync(unfinished, { recursive: true });
for (const { name, bytes } of await bundleConsole(sources)) {
  writeFileSync(join(unfinished, `${name}.gz`), Bun.gzipSync(new Uint8Array(bytes), { level: 9 }));
}
try {
  renameSync(unfinished, folder);
} catch (error) {
  // Another process has finished the same build first.
  if (!(await Bun.file(join(folder, "index.html.gz")).exists())) throw error;
}
