/** The changes of a reload, described for the log. */
import { expect, test } from "bun:test";
import { withKeyChanges } from "../../server/config/build/build-snapshot.ts";
import { loadSnapshot } from "../../server/config/build/load-snapshot.ts";
import { describeChanges } from "../../server/config/reload/describe-changes.ts";
import type { Snapshot } from "../../server/config/snapshot.ts";

const snapshot = (version: number, env: Record<string, string> = {}): Snapshot => {
  const loaded = loadSnapshot({ path: "/nowhere/vexel.yaml", env, version });
  if (!loaded.ok) throw new Error("refused");
  return loaded.snapshot;
};

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
