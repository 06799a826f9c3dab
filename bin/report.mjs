// `npm run report`: how large the code is, folder by folder, and which files are long. A report and not a test: a file
// is split when it does two things, not when it reaches a number of lines. `npm run report -- --path`: the files that
// run for one request.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { bunPath, root } from "./install.mjs";

const longFile = 300;

/** @returns {{ path: string, lines: number }[]} */
function codeFiles(folder) {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|tsx|mjs)$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((path) => !path.split(sep).includes("node_modules"))
    .map((path) => ({
      path,
      lines: readFileSync(join(root, path), "utf8").split("\n").length - 1,
    }));
}

const sum = (files) => files.reduce((total, { lines }) => total + lines, 0);
const row = (name, files) =>
  console.log(
    `${name.padEnd(24)}${String(files.length).padStart(6)} files${String(sum(files)).padStart(9)} lines`,
  );

if (process.argv.includes("--path")) {
  const program = join(root, "bench", "request-path.ts");
  const { status } = spawnSync(bunPath(), [program, ...process.argv.slice(2)], {
    stdio: "inherit",
  });
  process.exit(status ?? 1);
}

const server = codeFiles("server");
for (const entry of readdirSync(join(root, "server"), { withFileTypes: true }))
  if (entry.isDirectory()) row(`server/${entry.name}`, codeFiles(join("server", entry.name)));
row("server", server);
const others = ["contract", "cli", "bin", "console", "packages", "bench", "test"];
for (const name of others) row(name, codeFiles(name));

const long = [
  ...server,
  ...["contract", "cli", "bin", "console", "packages", "bench"].flatMap(codeFiles),
]
  .filter(({ lines }) => lines > longFile)
  .sort((a, b) => b.lines - a.lines);
console.log(`\n${long.length} files have more than ${longFile} lines:`);
for (const { path, lines } of long) console.log(`${String(lines).padStart(6)}  ${path}`);
