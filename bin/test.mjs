// `npm test`: installs missing dependencies, then runs every test. The last line counts them. Types and lint are
// `npm run check`.
// `npm run test:long`: the files named *.long.test.ts, which `npm test` leaves out: rare faults of several processes,
// large data, tests that need a minute of CPU or more, and most of the browser tests. `npm run test:release` runs those of
// test/release, which make every file of a release several times.
// `npm run test:fast`: without the files named *.slow.test.ts, which start child processes, wait or need much CPU, and
// with 3 % of the random and listed cases of laws and property tests.
// `--timings` lists the CPU and wall seconds of each file. Other arguments are folders or files: only their tests run.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { bunPath, ensureInstalled, root } from "./install.mjs";

ensureInstalled("all");
const bun = bunPath();
const flags = new Set(["--fast", "--long", "--timings"]);
const isFast = process.argv.includes("--fast");
const isLong = process.argv.includes("--long");
const isTimed = process.argv.includes("--timings");
const only = process.argv.slice(2).filter((argument) => !flags.has(argument));

const counted = { passed: 0, failed: 0, skipped: 0 };
const failures = [];
const timings = [];
const folder = mkdtempSync(join(tmpdir(), "vexel-test-"));

/**
 * The single executable, which test/harness.ts starts instead of the sources: a start takes a third of the CPU time,
 * and the tests start hundreds of gateways.
 */
const executable = join(folder, "vexel");
const needsExecutable = !isFast && only.length === 0;
/** Resolves with whether there is an executable. */
const isBuilt = needsExecutable ? buildExecutable() : Promise.resolve(false);

/** Six more than there are cores, because most tests wait: for a child process, for a timer. */
const workers = availableParallelism() + 6;
/**
 * Many small processes instead of one per core: after a few thousand tests JavaScriptCore's memory for compiled code is
 * full, and every test after that runs interpreted, up to fifty times slower.
 */
const maxFilesPerProcess = 32;
/** How many times longer a file with child processes and waits takes than another, on average. */
const slowWeight = 10;
/** Smaller shares are not worth a process of their own, which takes half a second to load the gateway. */
const minShare = 64;
const files = testFolders().flatMap(testFiles);
/** Files with PostgreSQL. The files of one process share a server: `initdb` takes a second of CPU. */
const withPostgres = files.filter((file) =>
  /sharedPostgres|postgres-implementations/.test(readFileSync(join(root, file), "utf8")),
);
/** More than a thousand tests, which start no child process: they begin while the executable is built. */
const imageLaws = files.filter((file) => file.startsWith("./test/laws/images."));
/**
 * Groups that run in one process each, with the halves of the files with PostgreSQL, and the files that share a browser.
 * They take longest, so they start first.
 */
const groups = [
  imageLaws,
  files.filter((file) => file.startsWith("./test/browser/")),
  ...[0, 1].map((half) => withPostgres.filter((_, at) => at % 2 === half)),
];
const others = files.filter((file) => !groups.flat().includes(file));
const shards = shardsOf().filter((shard) => shard.length > 0);
if (shards.length === 0) console.log(`No test file has ${only.join(" or ")} in its path.`);
const work = shards.map((files, at) => () => runTests(files, join(folder, `${at}.xml`)));
await runPool(work, workers);
await isBuilt;
rmSync(folder, { recursive: true, force: true });

if (isTimed) printTimings();
// Failures are repeated at the end: thousands of lines may separate them from the count.
for (const failure of failures) console.log(`\n${failure}`);
if (counted.skipped > 0) {
  const { output } = await run([bun, "test/programs.ts"], process.env);
  console.log(`\n${output.trimEnd()}`);
}
const skipped = counted.skipped > 0 ? `, ${counted.skipped} skipped` : "";
console.log(`${counted.passed} passed, ${counted.failed} failed${skipped}`);
// Not process.exit, which may lose the end of the output in a pipe.
process.exitCode = counted.failed === 0 && counted.passed > 0 ? 0 : 1;

/** Runs all functions, at most `limit` at the same time. */
async function runPool(functions, limit) {
  const queue = functions.values();
  const worker = async () => {
    for (const run of queue) await run();
  };
  await Promise.all(Array.from({ length: limit }, worker));
}

/** The executable uses the workers and packages of this repository. If the build fails, tests start the sources. */
async function buildExecutable() {
  mkdirSync(join(folder, "lib", "node_modules"), { recursive: true });
  symlinkSync(root, join(folder, "lib", "node_modules", "vexel"));
  const script = join(root, "bin", "build-executable.mjs");
  const { succeeded, output } = await run([process.execPath, script, executable], process.env);
  report("executable", succeeded, output);
  return succeeded;
}

function runBun(args, more = {}) {
  // A fraction of the random cases: test/depth.ts.
  const env = { ...(isFast && { LAW_DEPTH: "0.03" }), ...process.env, ...more };
  // The shell prints the CPU time of the process and of its child processes after their output.
  const command = isTimed ? ["bash", "-c", '"$@"; code=$?; times; exit $code', "-", bun] : [bun];
  return run([...command, ...args], env);
}

/** Resolves with the output of both streams, and with how the process ended. */
function run([program, ...args], env) {
  const child = spawn(program, args, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  }
  return new Promise((resolve) =>
    child.on("close", (code, signal) => {
      const ending = signal ? `signal ${signal}` : `exit code ${code}`;
      resolve({ succeeded: code === 0, output, ending });
    }),
  );
}

function report(name, succeeded, output) {
  console.log(`${output}${succeeded ? "ok    " : "FAILED"} ${name}`);
  counted[succeeded ? "passed" : "failed"]++;
  if (!succeeded) failures.push(`${output}FAILED ${name}`);
}

/** Prints the output of one process in one piece, when the process has ended. */
async function runTests(files, path) {
  const isUsed = files !== imageLaws && (await isBuilt);
  const env = isUsed ? { TEST_EXECUTABLE: executable } : {};
  const start = performance.now();
  const args = [
    "test",
    // Only a test that hangs takes this long, even on a busy machine.
    "--timeout=300000",
    // Most concurrent tests wait for a poll or a timeout.
    "--max-concurrency=64",
    "--reporter=junit",
    `--reporter-outfile=${path}`,
    ...files,
  ];
  const { succeeded, output, ending } = await runBun(args, env);
  process.stdout.write(output);
  if (isTimed) timings.push(timingOf(files, output, (performance.now() - start) / 1000));
  const counts = readReport(path);
  for (const name of Object.keys(counted)) counted[name] += counts?.[name] ?? 0;
  failures.push(...failuresIn(output));
  // A test process that crashed, or ran no test, is a failure even if no test failed.
  if (!counts || (!succeeded && counts.failed === 0)) {
    counted.failed++;
    const last = output.trimEnd().split("\n").slice(-40).join("\n");
    failures.push(
      `${last}\nA test process ended with ${ending} before all of its tests had run: ${files.join(" ")}`,
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

/** The files of the command. A file that is named runs with every command. */
function testFiles(path) {
  const isNamed = (name) => only.some((argument) => `/${argument}`.endsWith(`/${name}`));
  const isOfRelease = (name) => name.startsWith("release/");
  const isOfCommand = (name) =>
    name.endsWith(".long.test.ts") === isLong &&
    !(isFast && isSlow(name)) &&
    !(isLong && only.length === 0 && isOfRelease(name));
  return readdirSync(join(root, path), { recursive: true })
    .filter((name) => name.endsWith(".test.ts") && (isOfCommand(name) || isNamed(name)))
    .map((name) => `./${join(path, name)}`)
    .sort();
}

function shardsOf() {
  const isChosen = (file) => only.length === 0 || only.some((path) => file.includes(path));
  const chosen = files.filter(isChosen);
  if (isTimed) return chosen.map((file) => [file]);
  return only.length > 0 ? [chosen] : [...groups, ...split(others)];
}

/**
 * Guided self-scheduling: each process gets a share of the remaining work, so that the last processes are short and all
 * workers end at about the same time.
 */
function split(files) {
  const queue = inOrder(files);
  let remaining = queue.reduce((sum, file) => sum + weightOf(file), 0);
  const shards = [];
  while (queue.length > 0) {
    const share = Math.max(minShare, remaining / (2 * workers));
    const shard = [];
    for (let weight = 0; queue.length > 0 && shard.length < maxFilesPerProcess; ) {
      if (shard.length > 0 && weight + weightOf(queue[0]) > share) break;
      weight += weightOf(queue[0]);
      shard.push(queue.shift());
    }
    remaining -= shard.reduce((sum, file) => sum + weightOf(file), 0);
    shards.push(shard);
  }
  return shards;
}

/** Slow files wait and fast files compute, so they are mixed, two fast files for each slow one. The last are fast. */
function inOrder(files) {
  const slow = files.filter(isSlow);
  const fast = files.filter((file) => !isSlow(file));
  const mixed = slow.flatMap((file, at) => [file, ...fast.slice(2 * at, 2 * at + 2)]);
  return [...mixed, ...fast.slice(2 * slow.length)];
}

function isSlow(file) {
  return file.endsWith(".slow.test.ts");
}

function weightOf(file) {
  return isSlow(file) ? slowWeight : 1;
}

/** The counts of a test process. Undefined: it ended before it wrote them. */
function readReport(path) {
  let text = "";
  try {
    text = readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
  const [head = ""] = /<testsuites[^>]*>/.exec(text) ?? [];
  const number = (name) => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(head)?.[1] ?? 0);
  const failed = number("failures") + number("errors");
  const skipped = number("skipped");
  return { passed: number("tests") - failed - skipped, failed, skipped };
}

/** The last line of the output is the user and the system time of the child processes of the shell: `0m1.5s 0m0.2s`. */
function timingOf(files, output, wallSeconds) {
  const times = output
    .trimEnd()
    .split("\n")
    .at(-1)
    .matchAll(/(\d+)m([\d.]+)s/g);
  const cpuSeconds = Array.from(times).reduce((sum, [, m, s]) => sum + 60 * m + Number(s), 0);
  return { name: files.join(" "), cpuSeconds, wallSeconds };
}

/** Prints the files with the most CPU time first. Half a second of each is the start of its own process. */
function printTimings() {
  const total = { name: "all files", cpuSeconds: 0, wallSeconds: 0 };
  for (const { cpuSeconds, wallSeconds } of timings) {
    total.cpuSeconds += cpuSeconds;
    total.wallSeconds += wallSeconds;
  }
  console.log("\n    CPU     wall  file");
  for (const each of [...timings.toSorted((a, b) => b.cpuSeconds - a.cpuSeconds), total]) {
    const columns = [each.cpuSeconds, each.wallSeconds].map((n) => n.toFixed(1).padStart(7));
    console.log(`${columns.join("  ")}  ${each.name}`);
  }
}
