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
import { pollFilesEveryMs } from "../../server/lib/poll-files.ts";
import { until } from "../until.ts";
import { openTestConfiguration } from "./configuration-fixture.ts";

const model = (...ids: string[]) =>
  `models:\n${ids.map((id) => `  - { id: ${id}, kind: image, targets: [{ upstream: vexel-sketch, model: s }] }\n`).join("")}`;

const open: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of open.splice(0)) await close();
});

interface Options {
  readonly pollMs?: number;
  readonly now?: () => number;
}

async function watching(first?: string, options: Options = {}) {
  const folder = mkdtempSync(join(tmpdir(), "vexel-reload-"));
  const path = join(folder, "vexel.yaml");
  if (first !== undefined) writeFileSync(path, first);
  const clean = () => rmSync(folder, { recursive: true });
  return { folder, path, ...(await watchAt(path, clean, options)) };
}

async function watchAt(path: string, clean: () => void, { pollMs, now }: Options = {}) {
  const configuration = await openTestConfiguration({
    path,
    ...(now && { now }),
    ...(pollMs !== undefined && { pollMs: { file: pollMs } }),
  });
  open.push(async () => {
    await configuration.close();
    clean();
  });
  return configuration;
}

/** The watch has seen the file: a change is in force. */
async function applied({ path, has }: { path: string; has(id: string): boolean }): Promise<void> {
  writeFileSync(path, model("a", "seen"));
  await until(() => has("seen"));
}

test("a changed file is read within a second", () => {
  // A file that differs from the poll before is read at the next poll.
  expect(2 * pollFilesEveryMs).toBeLessThan(1000);
});

test.concurrent("a change is in force as a whole, and is reported", async () => {
  const { path, snapshot, reloads, has, reports } = await watching(model("a", "b"));
  const before = snapshot();
  writeFileSync(path, model("a", "c", "d"));
  await until(() => has("c"));
  expect(reloads).toEqual(["2 models added, 1 model removed"]);
  expect(snapshot().version).toBe(2);
  // A request that holds the old snapshot keeps it.
  expect(before.models.has("b")).toBe(true);
  expect(reports).toEqual([]);
});

test.concurrent("an invalid file changes nothing, is reported once, and is replaced by the corrected file", async () => {
  const { path, snapshot, reloads, has, reports } = await watching(model("a"));
  const before = snapshot();
  writeFileSync(path, `${model("a", "b")}keys: [{ name: web, kei: x }]\n`);
  await until(() => reports.length > 0);
  expect(reports[0]).toContain(`${path}:4:21 keys[0].kei: unknown key (did you mean \`key\`?)`);
  await Bun.sleep(700);
  expect(reports).toHaveLength(1);
  expect(snapshot()).toBe(before);
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
  const { path, has, reloads, reports } = await watching(model("a"), { pollMs: 400 });
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
  expect(reports[0]?.[0]).toContain("is empty");
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
    expect(reports[0]?.[0]).toContain(what);
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
  expect(reports[0]?.[0]).toStartWith(`${path}: was deleted`);
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
  const { path, snapshot, reloads } = await watching(model("a"));
  const before = snapshot();
  chmodSync(path, 0o600);
  writeFileSync(path, `${model("a")}# a comment\n`);
  await Bun.sleep(700);
  expect(snapshot()).toBe(before);
  expect(reloads).toEqual([]);
});

test.concurrent("no change is applied after the watch was closed", async () => {
  const { path, has, close } = await watching(model("a"));
  await close();
  writeFileSync(path, model("b"));
  await Bun.sleep(700);
  expect(has("b")).toBe(false);
});

test.concurrent("an internal error while loading is reported and does not end the watch", async () => {
  let broken = false;
  const { path, has, reports } = await watching(model("a"), {
    now: () => {
      if (broken) throw new Error("a defect");
      return Date.now();
    },
  });
  broken = true;
  writeFileSync(path, model("b"));
  await until(() => reports.length > 0);
  expect(reports[0]?.[0]).toContain("could not be applied: Error: a defect");
  broken = false;
  writeFileSync(path, model("c"));
  await until(() => has("c"));
});
