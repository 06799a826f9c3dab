// `npm test`: installs missing dependencies, then checks types and lint and runs every test. The last line counts them.
// `npm run test:fast`: without the files named *.slow.test.ts, which start child processes or wait.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { bunPath, ensureInstalled, root } from "./install.mjs";

ensureInstalled("all");
const bun = bunPath();
const isFast = process.argv.includes("--fast");
const only = process.argv.slice(2).filter((argument) => argument !== "--fast");
let passed = 0;
let failed = 0;

const run = (args) => spawnSync(bun, args, { cwd: root, stdio: "inherit" }).status === 0;
const check = (name, args) => {
  const succeeded = run(args);
  console.log(`${succeeded ? "ok    " : "FAILED"} ${name}`);
  if (succeeded) passed++;
  else failed++;
};

if (only.length === 0) {
  check("types", ["x", "--bun", "tsc", "-p", "."]);
  check("lint and format", ["x", "biome", "check", "--error-on-warnings", "."]);
}

const folder = mkdtempSync(join(tmpdir(), "vexel-test-"));
const counted = { passed: 0, failed: 0, skipped: 0 };
const failures = [];
/**
 * Many small processes instead of one per core: after a few thousand tests JavaScriptCore's memory for compiled code is
 * full, and every test after that runs interpreted, up to fifty times slower.
 */
const shardCount = 16;
const shards = only.length > 0 ? [only] : split(testFolders().flatMap(testFiles), shardCount);
// One more than there are cores, because most tests wait: for a child process, for a timer.
await runPool(shards, availableParallelism() + 1, (files, at) =>
  runTests(files, join(folder, `${at}.xml`)),
);
passed += counted.passed;
failed += counted.failed;
rmSync(folder, { recursive: true, force: true });

// Failures are repeated at the end: thousands of lines may separate them from the count.
for (const failure of failures) console.log(`\n${failure}`);
const skipped = counted.skipped > 0 ? `, ${counted.skipped} skipped` : "";
console.log(`${passed} passed, ${failed} failed${skipped}`);
process.exit(failed === 0 && counted.passed > 0 ? 0 : 1);

/** Runs `work` for every item, at most `limit` at the same time. */
async function runPool(items, limit, work) {
  const queue = items.entries();
  const worker = async () => {
    for (const [at, item] of queue) await work(item, at);
  };
  await Promise.all(Array.from({ length: limit }, worker));
}

/** Prints the output of one process in one piece, when the process has ended. */
async function runTests(files, report) {
  const args = [
    "test",
    "--timeout=30000",
    // Most concurrent tests wait for a poll or a timeout.
    "--max-concurrency=64",
    "--reporter=junit",
    `--reporter-outfile=${report}`,
    ...files,
  ];
  const child = spawn(bun, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  }
  const succeeded = await new Promise((resolve) =>
    child.on("close", (code) => resolve(code === 0)),
  );
  process.stdout.write(output);
  const counts = readCounts(report);
  for (const name of Object.keys(counted)) counted[name] += counts[name];
  failures.push(...failuresIn(output));
  // A test process that crashed, or ran no test, is a failure even if no test failed.
  if (!succeeded && counts.failed === 0) {
    counted.failed++;
    failures.push(
      `A test process with ${files.length} files ended before all of its tests had run.`,
    );
  }
}

/** Each failure with the output since the previous test: the runner prints the reason first, then the name. */
function failuresIn(output) {
  const found = [];
  let since = [];
  for (const line of output.split("\n")) {
    // The runner's own summary, without reasons.
    if (/^\d+ tests? failed:$/.test(line)) break;
    if (line.startsWith("(fail)")) found.push([...since.slice(-40), line].join("\n"));
    since = /^\((pass|fail|skip)\)/.test(line) ? [] : [...since, line];
  }
  return found;
}

/** The tests of the gateway and those of the packages. */
function testFolders() {
  const packages = readdirSync(join(root, "packages"));
  return ["test", ...packages.map((name) => join("packages", name, "test"))];
}

function testFiles(path) {
  return readdirSync(join(root, path), { recursive: true })
    .filter((name) => name.endsWith(".test.ts") && !(isFast && name.endsWith(".slow.test.ts")))
    .map((name) => `./${join(path, name)}`)
    .sort();
}

/** Round robin: neighboring files, which often take equally long, go to different processes. */
function split(files, count) {
  return Array.from({ length: count }, (_, at) => files.filter((_, i) => i % count === at));
}

function readCounts(path) {
  let text = "";
  try {
    text = readFileSync(path, "utf8");
  } catch {
    return { passed: 0, failed: 1, skipped: 0 };
  }
  const [head = ""] = /<testsuites[^>]*>/.exec(text) ?? [];
  const number = (name) => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(head)?.[1] ?? 0);
  const failures = number("failures") + number("errors");
  const skips = number("skipped");
  return { passed: number("tests") - failures - skips, failed: failures, skipped: skips };
}
