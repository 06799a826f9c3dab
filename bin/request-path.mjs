// `npm run report -- --path`: the files of server/ that run for one request, by coverage: lines that run with the
// request and not without it. `--list` names the files.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bunPath, root } from "./install.mjs";

/** @returns {Map<string, number[]>} how often each line of each file ran, in the order of the coverage report */
function coverage(request) {
  const folder = mkdtempSync(join(tmpdir(), "vexel-path-"));
  try {
    const options = ["--coverage", "--coverage-reporter=lcov", `--coverage-dir=${folder}`];
    const { status, stderr } = spawnSync(
      bunPath(),
      ["test", ...options, "--timeout=60000", "./bench/request-path.ts"],
      { cwd: root, env: { ...process.env, REQUEST: request }, encoding: "utf8" },
    );
    if (status !== 0) throw new Error(`The request "${request}" failed:\n${stderr}`);
    const files = new Map();
    for (const record of readFileSync(join(folder, "lcov.info"), "utf8").split("end_of_record")) {
      const name = /^SF:(.*)$/m.exec(record)?.[1];
      if (name)
        files.set(
          name,
          [...record.matchAll(/^DA:\d+,(\d+)/gm)].map(([, n]) => Number(n)),
        );
    }
    return files;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export function printRequestPath(isList) {
  const startUp = coverage("none");
  for (const request of ["embedding", "generation", "edit"]) {
    const found = [];
    for (const [file, counts] of coverage(request)) {
      if (!file.startsWith("server/")) continue;
      const before = startUp.get(file) ?? [];
      const lines = counts.filter((count, at) => count > 0 && !(before[at] > 0)).length;
      if (lines > 0) found.push({ file, lines });
    }
    const lines = found.reduce((sum, one) => sum + one.lines, 0);
    console.log(`${request.padEnd(12)}${found.length} files, ${lines} lines`);
    if (!isList) continue;
    for (const one of found) console.log(`${String(one.lines).padStart(6)}  ${one.file}`);
  }
}
