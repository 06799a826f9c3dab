/** The holder: one snapshot at a time, swapped whole, and every subscriber is notified. */
import { expect, test } from "bun:test";
import { withKeyChanges } from "../../server/config/build/build-snapshot.ts";
import { loadSnapshot } from "../../server/config/build/load-snapshot.ts";
import { describeChanges } from "../../server/config/reload/publish-changes.ts";
import { SnapshotHolder } from "../../server/config/reload/snapshot-holder.ts";
import type { Snapshot } from "../../server/config/snapshot.ts";

const snapshot = (version: number, env: Record<string, string> = {}): Snapshot => {
  const loaded = loadSnapshot({ path: "/nowhere/vexel.yaml", env, version });
  if (!loaded.ok) throw new Error("refused");
  return loaded.snapshot;
};

test("a replacement that throws keeps the old snapshot and calls no subscriber", () => {
  const first = snapshot(1);
  const holder = new SnapshotHolder(first);
  let notified = 0;
  holder.subscribe(() => notified++);
  expect(() =>
    holder.replace(() => {
      throw new Error("half built");
    }),
  ).toThrow("half built");
  expect(holder.current()).toBe(first);
  expect(notified).toBe(0);
});

test("subscribers are called when the new snapshot is in force, and not if it is the same", () => {
  const holder = new SnapshotHolder(snapshot(1));
  const notified: number[] = [];
  holder.subscribe(() => notified.push(holder.current().version));
  holder.replace(({ version }) => snapshot(version + 1));
  holder.replace((current) => current);
  expect(notified).toEqual([2]);
});

test("a subscriber that throws does not prevent the others from being notified", () => {
  const holder = new SnapshotHolder(snapshot(1));
  let notified = 0;
  holder.subscribe(() => {
    throw new Error("mine");
  });
  holder.subscribe(() => notified++);
  expect(() => holder.replace(() => snapshot(2))).toThrow(AggregateError);
  expect([notified, holder.current().version]).toEqual([1, 2]);
});

test("changes are described as counts, and as nothing if nothing changed", () => {
  expect(describeChanges(snapshot(1), snapshot(2))).toBe("");
  expect(describeChanges(snapshot(1), snapshot(2, { MISTRAL_API_KEY: "k" }))).toBe(
    "1 upstream added, 2 models added",
  );
  const [a, b] = [snapshot(1, { JINA_API_KEY: "a" }), snapshot(2, { JINA_API_KEY: "b" })];
  expect(describeChanges(a, b)).toBe("1 upstream changed, 4 models changed");
});

test("keys that were created on the command line meanwhile are no change of the configuration", () => {
  const now = snapshot(1);
  const created = {
    id: "key_1",
    name: "night",
    hash: "h",
    models: ["*"],
    source: "store",
  } as const;
  const changed = withKeyChanges(now, [{ key: created, isRevoked: false }]);
  expect(changed.keys.get("h")?.id).toBe("key_1");
  expect(describeChanges(now, changed)).toBe("");
  const written = { ...created, source: "yaml" } as const;
  expect(describeChanges(now, { ...now, keys: new Map([...now.keys, ["h", written]]) })).toBe(
    "1 key added",
  );
});
