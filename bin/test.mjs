// `npm test`: installs what is missing, then types, lint and every test. The last line counts them.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bunPath, ensureInstalled, root } from "./install.mjs";

ensureInstalled("all");
const bun = bunPath();
const only = process.argv.slice(2);
let passed = 0;
let failed = 0;

const run = (args) => spawnSync(bun, args, { cwd: root, stdio: "inherit" }).status === 0;
const check = (name, args) => {
  const good = run(args);
  console.log(`${good ? "ok    " : "FAILED"} ${name}`);
  if (good) passed++;
  else failed++;
};

if (only.length === 0) {
  check("types", ["x", "--bun", "tsc", "-p", "."]);
  check("lint and format", ["x", "biome", "check", "--error-on-warnings", "."]);
}

const folder = mkdtempSync(join(tmpdir(), "vexel-test-"));
const report = join(folder, "junit.xml");
const good = run([
  "test",
  "--timeout=30000",
  // Most of what runs side by side waits: for a poll, for a deadline.
  "--max-concurrency=64",
  "--reporter=junit",
  `--reporter-outfile=${report}`,
  ...(only.length > 0 ? only : ["test"]),
]);
// A run that died, or ran nothing, is a failure even if no test failed.
const counted = count(report);
passed += counted.passed;
failed += counted.failed;
if (!good && counted.failed === 0) failed++;
rmSync(folder, { recursive: true, force: true });

const skipped = counted.skipped > 0 ? `, ${counted.skipped} skipped` : "";
console.log(`${passed} passed, ${failed} failed${skipped}`);
process.exit(failed === 0 && counted.passed > 0 ? 0 : 1);

function count(path) {
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
