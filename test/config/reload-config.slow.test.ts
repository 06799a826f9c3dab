/** A saved file is in force within a second; a bad one changes nothing and is reported with its file, line and key. */
import { afterAll, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadSnapshot } from "../../server/config/load-snapshot.ts";
import { maxPollDelayMs } from "../../server/config/poll-files.ts";
import { describeProblems, type Problem } from "../../server/config/problem.ts";
import { SnapshotHolder } from "../../server/config/snapshot-holder.ts";
import { watchFile } from "../../server/config/sources/yaml-source.ts";
import { watchConfig } from "../../server/config/watch-config.ts";
import { until } from "../until.ts";

const model = (...ids: string[]) =>
  `models:\n${ids.map((id) => `  - { id: ${id}, kind: image, targets: [{ upstream: vexel-sketch, model: s }] }\n`).join("")}`;

const open: (() => void)[] = [];
afterAll(() => {
  for (const close of open.splice(0)) close();
});

function watching(first?: string, pace: { pollMs?: number; settleMs?: number } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "vexel-reload-"));
  const path = join(folder, "vexel.yaml");
  if (first !== undefined) writeFileSync(path, first);
  return { folder, path, ...watchAt(path, () => rmSync(folder, { recursive: true }), pace) };
}

function watchAt(
  path: string,
  clean: () => void,
  pace: { pollMs?: number; settleMs?: number } = {},
) {
  const load = (version: number) => loadSnapshot({ path, env: {}, version });
  const start = load(1);
  if (!start.ok) throw new Error(describeProblems(start.problems));
  const holder = new SnapshotHolder(start.snapshot);
  const reports: (readonly Problem[])[] = [];
  const reloads: string[] = [];
  const stop = watchConfig({
    path,
    holder,
    startsEmpty: !existsSync(path),
    load: async (version) => load(version),
    report: (problems) => reports.push(problems),
    reloaded: (what) => reloads.push(what),
    watch: (onChange) => watchFile({ path, onChange, ...pace }),
  });
  open.push(() => {
    stop();
    clean();
  });
  const has = (id: string) => holder.current().models.has(id);
  return { holder, reports, reloads, has, stop };
}

/** The watch has seen the file: a change is in force. */
async function applied({ path, has }: { path: string; has(id: string): boolean }): Promise<void> {
  writeFileSync(path, model("a", "seen"));
  await until(() => has("seen"));
}

test("a changed file is read within a second", () => {
  expect(maxPollDelayMs).toBeLessThan(1000);
});

test.concurrent("a change is in force as a whole, and is reported", async () => {
  const { path, holder, reloads, has, reports } = watching(model("a", "b"));
  const before = holder.current();
  writeFileSync(path, model("a", "c", "d"));
  await until(() => has("c"));
  expect(reloads).toEqual(["2 models added, 1 model removed"]);
  expect(holder.current().version).toBe(2);
  // A request that holds the old snapshot keeps it.
  expect(before.models.has("b")).toBe(true);
  expect(reports).toEqual([]);
});

test.concurrent("an invalid file changes nothing, is reported once, and is replaced by the corrected file", async () => {
  const { path, holder, reloads, has, reports } = watching(model("a"));
  const before = holder.current();
  writeFileSync(path, `${model("a", "b")}keys: [{ name: web, kei: x }]\n`);
  await until(() => reports.length > 0);
  expect(reports[0]).toContainEqual({
    file: path,
    line: 4,
    column: 21,
    key: "keys[0].kei",
    message: "unknown key (did you mean `key`?)",
  });
  await Bun.sleep(700);
  expect(reports).toHaveLength(1);
  expect(holder.current()).toBe(before);
  writeFileSync(path, model("a"));
  await until(() => reloads.length > 0);
  expect(reloads).toEqual(["nothing changed"]);
  writeFileSync(path, model("a", "b"));
  await until(() => has("b"));
});

test.concurrent("a file that is written in chunks is applied in its final state", async () => {
  const { path, has } = watching(model("a"));
  const text = model("b", "c", "d");
  for (let end = 0; end < text.length; end += 40) {
    writeFileSync(path, text.slice(0, end));
    await Bun.sleep(120);
  }
  writeFileSync(path, text);
  await until(() => has("b") && has("d") && !has("a"));
});

test.concurrent("a file is not read while it is being written, even if its first half is valid", async () => {
  const { path, has, reloads, reports } = watching(model("a"), { pollMs: 50, settleMs: 400 });
  await Bun.sleep(600);
  for (const text of ["", model("b"), `${model("b")}nonsense`]) {
    writeFileSync(path, text);
    await Bun.sleep(60);
  }
  writeFileSync(path, model("b", "c"));
  await until(() => has("c"));
  expect(reloads).toEqual(["2 models added, 1 model removed"]);
  expect(reports).toEqual([]);
});

test.concurrent("an empty file does not remove the configuration", async () => {
  const { path, has, reports } = watching(model("a"));
  await applied({ path, has });
  writeFileSync(path, "");
  await until(() => reports.length > 0);
  expect(reports[0]?.[0]?.message).toContain("is empty");
  expect(has("a")).toBe(true);
  writeFileSync(path, "{}");
  await until(() => !has("a"));
});

for (const [what, change] of [
  ["is empty", (path: string) => writeFileSync(path, "")],
  ["was deleted", (path: string) => rmSync(path)],
] as const) {
  test.concurrent(`a file that ${what} before the first poll does not remove the configuration`, async () => {
    const { path, has, reports } = watching(model("a"));
    change(path);
    await until(() => reports.length > 0);
    expect(reports[0]?.[0]?.message).toContain(what);
    expect(has("a")).toBe(true);
    writeFileSync(path, model("b"));
    await until(() => has("b"));
  });
}

test.concurrent("an empty file that is created after the start is no error", async () => {
  const { path, has, reports } = watching();
  writeFileSync(path, "");
  await Bun.sleep(700);
  expect(reports).toEqual([]);
  writeFileSync(path, model("a"));
  await until(() => has("a"));
});

test.concurrent("a file that an editor renames into place is applied", async () => {
  const { path, has } = watching(model("a"));
  writeFileSync(`${path}.new`, model("b"));
  renameSync(`${path}.new`, path);
  await until(() => has("b"));
  // The same length, and saved as vim does: the old file is renamed away first.
  renameSync(path, `${path}~`);
  writeFileSync(path, model("c"));
  await until(() => has("c"));
});

test.concurrent("a Kubernetes volume, whose symlink to a folder is swapped, is applied", async () => {
  const folder = mkdtempSync(join(tmpdir(), "vexel-volume-"));
  for (const [name, id] of [
    ["..1", "a"],
    ["..2", "b"],
  ] as const) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, "vexel.yaml"), model(id));
  }
  symlinkSync("..1", join(folder, "..data"));
  symlinkSync("..data/vexel.yaml", join(folder, "vexel.yaml"));
  const { has } = watchAt(join(folder, "vexel.yaml"), () => rmSync(folder, { recursive: true }));
  expect(has("a")).toBe(true);
  symlinkSync("..2", join(folder, "..new"));
  renameSync(join(folder, "..new"), join(folder, "..data"));
  await until(() => has("b") && !has("a"));
});

test.concurrent("a deleted file is reported once and the last configuration stays in force; a new file is applied", async () => {
  const { path, has, reports } = watching(model("a"));
  await applied({ path, has });
  rmSync(path);
  await until(() => reports.length > 0);
  await Bun.sleep(700);
  expect(reports).toHaveLength(1);
  expect(reports[0]?.[0]).toMatchObject({ file: path, line: 0 });
  expect(has("a")).toBe(true);
  writeFileSync(path, model("b"));
  await until(() => has("b"));
});

test.concurrent("a file created after the start is applied", async () => {
  const { path, has, reports } = watching();
  await Bun.sleep(500);
  expect(reports).toEqual([]);
  writeFileSync(path, model("a"));
  await until(() => has("a"));
});

test.concurrent("a file that was only touched changes nothing", async () => {
  const { path, holder, reloads } = watching(model("a"));
  const before = holder.current();
  chmodSync(path, 0o600);
  writeFileSync(path, `${model("a")}# a comment\n`);
  await Bun.sleep(700);
  expect(holder.current()).toBe(before);
  expect(reloads).toEqual([]);
});

test.concurrent("no change is applied after the watch was closed", async () => {
  const { path, has, stop } = watching(model("a"));
  stop();
  writeFileSync(path, model("b"));
  await Bun.sleep(700);
  expect(has("b")).toBe(false);
});

test.concurrent("an internal error while loading is reported and does not end the watch", async () => {
  const { path, holder } = watching(model("a"));
  const reports: string[] = [];
  let broken = true;
  const stop = watchConfig({
    path,
    holder,
    startsEmpty: false,
    load: async (version) => {
      if (broken) throw new Error("a defect");
      return loadSnapshot({ path, env: {}, version });
    },
    report: (problems) => reports.push(describeProblems(problems)),
    reloaded: () => {},
    watch: (onChange) => watchFile({ path, onChange }),
  });
  open.push(stop);
  await until(() => reports.length > 0);
  expect(reports[0]).toContain("could not be applied: Error: a defect");
  broken = false;
  writeFileSync(path, model("b"));
  await until(() => holder.current().models.has("b"));
});
