/** A saved file is in force within a second; a bad one changes nothing and is reported with its file, line and key. */
import { afterAll, expect, test } from "bun:test";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { composeSnapshot } from "../../server/config/build/load-snapshot.ts";
import { StoredKeys } from "../../server/config/build/stored-keys.ts";
import { SnapshotHolder } from "../../server/config/reload/snapshot-holder.ts";
import { watchConfig } from "../../server/config/reload/watch-config.ts";
import { builtInUpstreams } from "../../server/config/sources/built-in-upstreams.ts";
import { emptyStoredConfig } from "../../server/config/sources/stored-config.ts";
import { describeProblems, type Problem } from "../../server/config/yaml/problem.ts";
import { yamlSource } from "../../server/config/yaml/yaml-source.ts";
import { maxPollDelayMs } from "../../server/lib/poll-files.ts";
import { createSerialize } from "../../server/lib/tasks.ts";
import { until } from "../until.ts";

const model = (...ids: string[]) =>
  `models:\n${ids.map((id) => `  - { id: ${id}, kind: image, targets: [{ upstream: vexel-sketch, model: s }] }\n`).join("")}`;

const open: (() => void)[] = [];
afterAll(() => {
  for (const close of open.splice(0)) close();
});

async function watching(
  first?: string,
  pace: { pollMs?: number; settleMs?: number } = {},
  beforeCompose?: () => void,
) {
  const folder = mkdtempSync(join(tmpdir(), "vexel-reload-"));
  const path = join(folder, "vexel.yaml");
  if (first !== undefined) writeFileSync(path, first);
  const clean = () => rmSync(folder, { recursive: true });
  return { folder, path, ...(await watchAt(path, clean, pace, beforeCompose)) };
}

async function watchAt(
  path: string,
  clean: () => void,
  pace: { pollMs?: number; settleMs?: number } = {},
  beforeCompose = () => {},
) {
  const provisioned = { environment: [], builtInModels: builtInUpstreams };
  const reports: (readonly Problem[])[] = [];
  const reportRejected = (problems: readonly Problem[]) => void reports.push(problems);
  const sources = { yaml: yamlSource({ path, env: {}, provisioned, reportRejected, ...pace }) };
  const contents = { yaml: await sources.yaml.load() };
  const others = {
    environment: { upstreams: [], warnings: [] },
    builtInModels: provisioned.builtInModels,
    stored: emptyStoredConfig,
    storedKeys: StoredKeys.empty,
  };
  const compose = (version: number) =>
    composeSnapshot(
      { ...contents, ...others },
      { version, now: undefined, inspectFolder: undefined },
    );
  const { snapshot, warnings } = compose(1);
  const holder = new SnapshotHolder(snapshot);
  const reloads: string[] = [];
  const { close: stop } = watchConfig({
    sources,
    contents,
    holder,
    warnings,
    serialize: createSerialize(),
    compose: (version) => {
      beforeCompose();
      return compose(version);
    },
    reloaded: ({ changes }) => void reloads.push(changes),
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
  const { path, holder, reloads, has, reports } = await watching(model("a", "b"));
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
  const { path, holder, reloads, has, reports } = await watching(model("a"));
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
  const { path, has } = await watching(model("a"));
  const text = model("b", "c", "d");
  for (let end = 0; end < text.length; end += 40) {
    writeFileSync(path, text.slice(0, end));
    await Bun.sleep(120);
  }
  writeFileSync(path, text);
  await until(() => has("b") && has("d") && !has("a"));
});

test.concurrent("a file is not read while it is being written, even if its first half is valid", async () => {
  const { path, has, reloads, reports } = await watching(model("a"), { pollMs: 50, settleMs: 400 });
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
  const { path, has, reports } = await watching(model("a"));
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
    const { path, has, reports } = await watching(model("a"));
    change(path);
    await until(() => reports.length > 0);
    expect(reports[0]?.[0]?.message).toContain(what);
    expect(has("a")).toBe(true);
    writeFileSync(path, model("b"));
    await until(() => has("b"));
  });
}

test.concurrent("an empty file that is created after the start is no error", async () => {
  const { path, has, reports } = await watching();
  writeFileSync(path, "");
  await Bun.sleep(700);
  expect(reports).toEqual([]);
  writeFileSync(path, model("a"));
  await until(() => has("a"));
});

test.concurrent("a file that an editor renames into place is applied", async () => {
  const { path, has } = await watching(model("a"));
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
  const { has } = await watchAt(join(folder, "vexel.yaml"), () =>
    rmSync(folder, { recursive: true }),
  );
  expect(has("a")).toBe(true);
  symlinkSync("..2", join(folder, "..new"));
  renameSync(join(folder, "..new"), join(folder, "..data"));
  await until(() => has("b") && !has("a"));
});

test.concurrent("a deleted file is reported once and the last configuration stays in force; a new file is applied", async () => {
  const { path, has, reports } = await watching(model("a"));
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
  const { path, has, reports } = await watching();
  await Bun.sleep(500);
  expect(reports).toEqual([]);
  writeFileSync(path, model("a"));
  await until(() => has("a"));
});

test.concurrent("a file that was only touched changes nothing", async () => {
  const { path, holder, reloads } = await watching(model("a"));
  const before = holder.current();
  chmodSync(path, 0o600);
  writeFileSync(path, `${model("a")}# a comment\n`);
  await Bun.sleep(700);
  expect(holder.current()).toBe(before);
  expect(reloads).toEqual([]);
});

test.concurrent("no change is applied after the watch was closed", async () => {
  const { path, has, stop } = await watching(model("a"));
  stop();
  writeFileSync(path, model("b"));
  await Bun.sleep(700);
  expect(has("b")).toBe(false);
});

test.concurrent("an internal error while loading is reported and does not end the watch", async () => {
  let broken = true;
  const { path, holder, reports } = await watching(model("a"), {}, () => {
    if (broken) throw new Error("a defect");
  });
  await until(() => reports.length > 0);
  expect(describeProblems(reports[0] ?? [])).toContain("could not be applied: Error: a defect");
  broken = false;
  writeFileSync(path, model("b"));
  await until(() => holder.current().models.has("b"));
});
