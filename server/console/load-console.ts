/**
 * The built console. In a checkout it is built once for each state of its sources, in a child process, and cached in
 * node_modules. The npm package contains the build instead of the sources.
 */
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isExecutable } from "../lib/executable.ts";
import { sourcesIn } from "./sources-in.ts";

const root = join(import.meta.dir, "../..");
const sources = join(root, "console/src");
const cache = join(root, "node_modules/.cache/vexel-console");

/** File names, without the folder, and their gzipped bytes. */
export type ConsoleFiles = ReadonlyMap<string, Uint8Array>;

/** Throws with the output of the build if it fails. */
export async function loadConsole(): Promise<ConsoleFiles> {
  if (isExecutable) return embeddedConsole();
  const folder = existsSync(join(sources, "main.tsx"))
    ? await buildOnce()
    : join(root, "console/dist");
  const names = readdirSync(folder);
  return new Map(
    names.map((name) => [name.slice(0, -".gz".length), readFileSync(join(folder, name))]),
  );
}

/** The embedded files of the executable whose names end with .gz are those of the console. */
async function embeddedConsole(): Promise<ConsoleFiles> {
  const files = Bun.embeddedFiles as readonly (Blob & { readonly name: string })[];
  const gzipped = files.filter(({ name }) => name.endsWith(".gz"));
  return new Map(
    await Promise.all(
      gzipped.map(async (file) => [file.name.slice(0, -".gz".length), await file.bytes()] as const),
    ),
  );
}

async function buildOnce(): Promise<string> {
  const folder = join(cache, hashOfSources());
  if (!existsSync(folder)) await build(folder);
  return folder;
}

async function build(folder: string): Promise<void> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "build.ts"), sources, folder], {
    stdout: "ignore",
    stderr: "pipe",
  });
  const output = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(`The console could not be built: ${output}`);
  // Builds of earlier states are of no use any more. A name with a dot is a build that another process has not
  // finished.
  for (const name of readdirSync(cache)) {
    const path = join(cache, name);
    if (path !== folder && !name.includes(".")) rmSync(path, { recursive: true, force: true });
  }
}

/** Changes with every source file of the console and every version of a package. */
function hashOfSources(): string {
  const hash = new Bun.CryptoHasher("sha256");
  const paths = [
    ...sourcesIn(sources),
    ...sourcesIn(join(root, "contract")),
    join(root, "package-lock.json"),
  ];
  for (const path of paths) hash.update(`${path}\0`).update(readFileSync(path));
  return hash.digest("hex").slice(0, 16);
}
