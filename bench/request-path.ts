/**
 * `npm run report -- --path`: the files of server/ that run for one request, by coverage: lines that run with the
 * request and not without it. `--list` names the files.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dir, "..");

const measuredRequests = ["embedding", "generation", "edit"] as const;
export type MeasuredRequest = (typeof measuredRequests)[number];

export interface PathFile {
  readonly file: string;
  /** The lines that run with the request and not without it. */
  readonly lines: number;
}

/** How often each line of each file ran, in the order of the coverage report. */
type Coverage = ReadonlyMap<string, readonly number[]>;

async function coverageOf(request: MeasuredRequest | "none"): Promise<Coverage> {
  const folder = mkdtempSync(join(tmpdir(), "vexel-path-"));
  try {
    const options = ["--coverage", "--coverage-reporter=lcov", `--coverage-dir=${folder}`];
    const child = Bun.spawn(
      [process.execPath, "test", ...options, "--timeout=60000", "./bench/request-path-gateway.ts"],
      {
        cwd: root,
        env: { ...process.env, REQUEST: request },
        stdout: "ignore",
        stderr: "pipe",
      },
    );
    const output = await child.stderr.text();
    if ((await child.exited) !== 0) throw new Error(`The request "${request}" failed:\n${output}`);
    return parseLcov(readFileSync(join(folder, "lcov.info"), "utf8"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function parseLcov(text: string): Coverage {
  const files = new Map<string, readonly number[]>();
  for (const record of text.split("end_of_record")) {
    const name = /^SF:(.*)$/m.exec(record)?.[1];
    const counts = [...record.matchAll(/^DA:\d+,(\d+)/gm)].map(([, count]) => Number(count));
    if (name !== undefined) files.set(name, counts);
  }
  return files;
}

function filesOnPath(covered: Coverage, startUp: Coverage): PathFile[] {
  const found: PathFile[] = [];
  for (const [file, counts] of covered) {
    if (!file.startsWith("server/")) continue;
    const before = startUp.get(file) ?? [];
    const lines = counts.filter((count, at) => count > 0 && !((before[at] ?? 0) > 0)).length;
    if (lines > 0) found.push({ file, lines });
  }
  return found;
}

export async function measureRequestPath(): Promise<Record<MeasuredRequest, PathFile[]>> {
  const [startUp, embedding, generation, edit] = await Promise.all([
    coverageOf("none"),
    coverageOf("embedding"),
    coverageOf("generation"),
    coverageOf("edit"),
  ]);
  return {
    embedding: filesOnPath(embedding, startUp),
    generation: filesOnPath(generation, startUp),
    edit: filesOnPath(edit, startUp),
  };
}

if (import.meta.main) {
  const paths = await measureRequestPath();
  for (const request of measuredRequests) {
    const files = paths[request];
    const lines = files.reduce((sum, one) => sum + one.lines, 0);
    console.log(`${request.padEnd(12)}${files.length} files, ${lines} lines`);
    if (!process.argv.includes("--list")) continue;
    for (const one of files) console.log(`${String(one.lines).padStart(6)}  ${one.file}`);
  }
}
