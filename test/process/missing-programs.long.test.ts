/** `npm test` passes whichever of the programs that some tests start are installed. */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../harness.ts";
import { allPrograms, installCommand, isSkipped, type Program, packages } from "../programs.ts";

/** All sets of programs. */
const combinations: readonly (readonly Program[])[] = Array.from(
  { length: 2 ** allPrograms.length },
  (_, bits) => allPrograms.filter((_program, at) => (bits >> at) % 2 === 1),
);

test("with each combination of missing programs, a test is skipped if and only if it needs a missing one", () => {
  const wrong = combinations.flatMap((missing) =>
    combinations
      .filter(({ length }) => length <= 3)
      .filter((needed) => {
        const lacks = needed.some((program) => missing.includes(program));
        return isSkipped(needed, missing, false) !== lacks || isSkipped(needed, missing, true);
      })
      .map((needed) => ({ needed, missing })),
  );
  expect(wrong).toEqual([]);
});

const source = (path: string): string => readFileSync(join(root, path), "utf8");
/** Those of a release have a command of their own. */
const testFiles = readdirSync(join(root, "test"), { recursive: true })
  .map((name) => `./test/${name}`)
  .filter((path) => !path.startsWith("./test/release/"))
  .filter((path) => path.endsWith(".test.ts") && path !== `./test/process/${import.meta.file}`);
/** The files whose tests need a program, by the name of the function that says so, and by their fixtures. */
const usesPrograms = /programs\.ts|(?:postgres|redis)-server\.ts|topology\.ts|promtool\.ts/;
const files = testFiles.filter((path) => usesPrograms.test(source(path)));
const hasHook = /\b(?:before|after)(?:All|Each)/;
const mentions = (path: string, program: Program): boolean =>
  (program === "postgresql" ? /postgres/ : new RegExp(`\\b${program}\\b`, "i")).test(source(path));
/** Files with a hook whose tests need several programs. */
const mixedFiles = files.filter(
  (path) =>
    hasHook.test(source(path)) &&
    allPrograms.filter((program) => mentions(path, program)).length > 1,
);
/** The mixed files with a test that needs this program. */
const filesWith = (program: Program): readonly string[] =>
  mixedFiles.filter((path) => mentions(path, program));

/** Declares the tests with empty bodies, so that only hooks run and what is created outside of tests. */
async function declareTests(files: readonly string[], hidden: readonly Program[]) {
  const preload = join(import.meta.dir, "preload/declare-only.ts");
  // A hook takes longer than the usual 5 s on a busy machine.
  const options = ["--timeout=120000", `--preload=${preload}`];
  const child = Bun.spawn([process.execPath, "test", ...options, ...files], {
    cwd: root,
    env: { ...process.env, CI: "false", VEXEL_TEST_WITHOUT: hidden.join(",") },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, errors, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, output: out + errors };
}

test("no hook needs a program when none is installed", async () => {
  const { code, output } = await declareTests(files, allPrograms);
  expect(code === 0 ? "" : output).toBe("");
  expect(output).toContain(" skip\n");
});

// A hook fails if its program is missing and a test of its file runs because another program is installed. So it is
// enough to install each program alone.
test.each(allPrograms.filter((program) => filesWith(program).length > 0))(
  "no hook needs a missing program when only this one is installed: %s",
  async (installed) => {
    const hidden = allPrograms.filter((program) => program !== installed);
    const { code, output } = await declareTests(filesWith(installed), hidden);
    expect(code === 0 ? "" : output).toBe("");
  },
);

test("one command installs all programs, and CI installs the same packages", () => {
  const listed = [...source(".ci/run").matchAll(/missing\+=\((\S+)\)/g)].map(([, name]) => name);
  expect(listed.toSorted()).toEqual(Object.values(packages).toSorted());
  expect(installCommand(["redis", "nginx"])).toEndWith(" redis-server nginx");
});
