/** `vexel embed` as a process: kill -9, Ctrl-C and standard input. */
import { afterAll, afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { startFake } from "../fake-upstream.ts";
import { command, commandEnvironment, temporaryFolder } from "../harness.ts";
import { cleanEnvironment } from "../process/process-fixture.ts";
import { until } from "../until.ts";
import {
  modelArguments,
  readJsonLines,
  readParquetFile,
  serverEnvironment,
  texts,
  vectorOf,
  writeJsonl,
} from "./embed-fixture.ts";

const fake = startFake();
let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => {
  fake.clear();
  folder[Symbol.dispose]();
});
afterAll(() => fake.close());

function start(env: Record<string, string>, args: readonly string[], stdin?: Blob) {
  return Bun.spawn([...command, "embed", ...args], {
    cwd: folder.path,
    env: { ...cleanEnvironment(env), ...commandEnvironment },
    stdin: stdin ?? "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
}

/** The settled rows of the unfinished run. */
function settledRows(output: string): number {
  const path = join(folder.path, `${output}.checkpoint`);
  if (!existsSync(path)) return 0;
  const { rows }: { rows: number } = JSON.parse(readFileSync(path, "utf8"));
  return rows;
}

test("after kill -9 at any time, the next run continues, and every row is in the output exactly once", async () => {
  const rows = texts(400);
  writeJsonl(folder.path, "docs.jsonl", [...rows, { id: "empty", text: "" }]);
  fake.script({ delayMs: 60 }, { times: 100_000 });
  const output = "vectors.parquet";
  const args = [
    ...[...modelArguments, "--input", "docs.jsonl", "--output", output],
    ...["--batch-size", "5", "--concurrency", "2"],
  ];
  let settled = 0;
  for (let kills = 0; kills < 3; kills++) {
    const child = start(serverEnvironment(fake), args);
    const arrived = fake.requests.length;
    // Once in the first request, later between two checkpoints.
    await until(() =>
      kills === 0 ? fake.requests.length > arrived : settledRows(output) > settled,
    );
    child.kill("SIGKILL");
    await child.exited;
    settled = settledRows(output);
    expect(existsSync(join(folder.path, output))).toBe(false);
  }
  expect(settled).toBeGreaterThan(0);
  fake.clear();
  const last = start(serverEnvironment(fake), args);
  const err = await new Response(last.stderr).text();
  expect(err).toContain(`Continues after ${settled} rows.`);
  expect(await last.exited).toBe(3);
  const read = await readParquetFile(folder.path, output);
  expect(read).toEqual(rows.map(({ id, text }) => ({ id, embedding: vectorOf(text) })));
  expect(readJsonLines<object>(folder.path, `${output}.errors.jsonl`)).toEqual([
    { id: "empty", text: "", error: "The text is empty." },
  ]);
  expect(readdirSync(folder.path).sort()).toEqual(["docs.jsonl", output, `${output}.errors.jsonl`]);
});

test("Ctrl-C stores the requests in flight, exits with 130, and the next run goes on", async () => {
  const rows = texts(60);
  writeJsonl(folder.path, "docs.jsonl", rows);
  const held = Promise.withResolvers<void>();
  fake.script({ until: held.promise }, { times: 4 });
  const args = [
    ...[...modelArguments, "--input", "docs.jsonl", "--output", "vectors.jsonl"],
    ...["--batch-size", "1", "--concurrency", "4"],
  ];
  const child = start(serverEnvironment(fake), args);
  await fake.arrived(4);
  child.kill("SIGINT");
  const errors = new TextDecoderStream();
  void child.stderr.pipeTo(errors.writable);
  let text = "";
  for await (const chunk of errors.readable) {
    text += chunk;
    if (text.includes("Stopping: ")) held.resolve();
  }
  expect(await child.exited).toBe(130);
  expect(text).toContain("Stopped. Give the same command again to continue.");
  expect(fake.requests).toHaveLength(4);
  expect(settledRows("vectors.jsonl")).toBe(4);
  const next = start(serverEnvironment(fake), args);
  expect(await next.exited).toBe(0);
  expect(fake.requests).toHaveLength(60);
  expect(readJsonLines(folder.path, "vectors.jsonl").map(({ id }) => id)).toEqual(
    rows.map(({ id }) => id),
  );
});

/** Starts a run and kills it after it has stored some of its rows. */
async function runAndKill(args: readonly string[], output: string): Promise<number> {
  const child = start(serverEnvironment(fake), args);
  await until(() => settledRows(output) > 0);
  child.kill("SIGKILL");
  await child.exited;
  return settledRows(output);
}

test("an input of which an embedded row was changed after kill -9 is refused, and as it was it is continued", async () => {
  const rows = texts(400);
  writeJsonl(folder.path, "docs.jsonl", rows);
  fake.script({ delayMs: 60 }, { times: 100_000 });
  const output = "vectors.jsonl";
  const args = [
    ...[...modelArguments, "--input", "docs.jsonl", "--output", output],
    ...["--batch-size", "5", "--concurrency", "2"],
  ];
  const settled = await runAndKill(args, output);
  fake.clear();
  for (const changed of [
    rows.with(0, { id: "doc-0", text: "text number 0, corrected" }),
    rows.with(1, { id: "doc-x", text: "text number 1" }),
    rows.slice(0, settled - 1),
  ]) {
    writeJsonl(folder.path, "docs.jsonl", changed);
    const child = start(serverEnvironment(fake), args);
    const err = await new Response(child.stderr).text();
    expect(err).toContain("--input has changed since the run began");
    expect(err).toContain(`delete ${output}.checkpoint to embed all of it from the beginning.`);
    expect(await child.exited).toBe(2);
  }
  expect(fake.requests).toHaveLength(0);
  // A row that was not embedded yet may change.
  const last = rows.with(-1, { id: "doc-399", text: "another text" });
  writeJsonl(folder.path, "docs.jsonl", last);
  expect(await start(serverEnvironment(fake), args).exited).toBe(0);
  const read = readJsonLines(folder.path, output);
  expect(read.map(({ embedding }) => [...new Float32Array(embedding)])).toEqual(
    last.map(({ text }) => vectorOf(text)),
  );
});

test("a second run with the same output exits with 2 and pays for nothing; after kill -9 of the first it continues", async () => {
  const rows = texts(400);
  writeJsonl(folder.path, "docs.jsonl", rows);
  fake.script({ delayMs: 60 }, { times: 100_000 });
  const output = "vectors.parquet";
  const args = [
    ...[...modelArguments, "--input", "docs.jsonl", "--output", output],
    ...["--batch-size", "5", "--concurrency", "2"],
  ];
  const first = start(serverEnvironment(fake), args);
  await until(() => settledRows(output) > 0);
  const second = start(serverEnvironment(fake, "sk-second"), args);
  const err = await new Response(second.stderr).text();
  expect(err).toContain(`--output: another run is writing ${output}.`);
  expect(await second.exited).toBe(2);
  const ofSecond = fake.requests.filter(({ headers }) =>
    headers.authorization?.includes("sk-second"),
  );
  expect(ofSecond).toHaveLength(0);
  first.kill("SIGKILL");
  await first.exited;
  expect(existsSync(join(folder.path, `${output}.lock`))).toBe(true);
  fake.clear();
  const third = start(serverEnvironment(fake), args);
  expect(await new Response(third.stderr).text()).toContain("Continues after");
  expect(await third.exited).toBe(0);
  const read = await readParquetFile(folder.path, output);
  expect(read).toEqual(rows.map(({ id, text }) => ({ id, embedding: vectorOf(text) })));
  expect(readdirSync(folder.path).sort()).toEqual(["docs.jsonl", output]);
});

test("JSON Lines on standard input are embedded", async () => {
  const rows = texts(7);
  const stdin = new Blob([rows.map((row) => JSON.stringify(row)).join("\n")]);
  const args = [...modelArguments, "--input", "-", "--output", "vectors.jsonl"];
  const child = start(serverEnvironment(fake), args, stdin);
  expect(await child.exited).toBe(0);
  expect(readJsonLines(folder.path, "vectors.jsonl").map(({ id }) => id)).toEqual(
    rows.map(({ id }) => id),
  );
});
