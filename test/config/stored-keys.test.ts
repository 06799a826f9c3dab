/** 100,000 stored API keys: a change of keys, projects or limits changes its own entries and no others. */
import { describe, expect, test } from "bun:test";
import { withStoredKeys } from "../../server/config/build/build-snapshot.ts";
import { StoredKeys } from "../../server/config/build/stored-keys.ts";
import type { Key, Snapshot } from "../../server/config/snapshot.ts";
import { createStoredKeyReader } from "../../server/config/sources/read-stored-keys.ts";
import { runAtOnce } from "../../server/lib/tasks.ts";
import { Limiter } from "../../server/limits/limiter.ts";
import { localRateLimitCounters } from "../../server/limits/rate-limit-counters.ts";
import type { StoredKey } from "../../server/storage/sql/stored-key.ts";
import { loadYaml } from "./load-yaml.ts";

const count = 100_000;
/** Has limits, and no project. */
const newcomer = count + 2;
const key = (at: number, more: Partial<Key> = {}): Key => ({
  id: `key_${at}`,
  name: `customer ${at}`,
  hash: `hash-${at}`,
  models: ["*"],
  ...(at % 2 === 0 && { limits: { requestsPerMinute: 60 } }),
  ...(at % 1000 === 0 && { project: "web" }),
  ...(at % 1000 === 1 && { project: "mobile" }),
  source: "store",
  ...more,
});
const many = StoredKeys.empty.withChanges(
  Array.from({ length: count }, (_, at) => ({ key: key(at), isRevoked: false })),
);

const load = (text: string, storedKeys: StoredKeys): Snapshot =>
  loadYaml(text, { storedKeys }).snapshot;

const withWeb = "projects: [{ name: web, limits: { concurrent: 3 } }, { name: mobile }]\n";

describe("with 100,000 stored keys", () => {
  test("one new key and one revoked key are in the next snapshot, and earlier snapshots stay as they were", () => {
    const before = load(withWeb, many);
    const resolved = runAtOnce(many.withProjects(before.projects));
    const added = resolved.withChanges([{ key: key(newcomer), isRevoked: false }]);
    let after = withStoredKeys(before, added);
    expect(after.keys.size).toBe(count + 1);
    expect(after.keys.get(`hash-${newcomer}`)?.scopes).toEqual([`key:key_${newcomer}`]);
    expect(after.limits?.get(`key:key_${newcomer}`)).toEqual({ requestsPerMinute: 60 });
    expect(before.keys.has(`hash-${newcomer}`)).toBe(false);
    expect(before.limits?.get(`key:key_${newcomer}`)).toBeUndefined();

    after = withStoredKeys(after, added.withChanges([{ key: key(8), isRevoked: true }]));
    expect(after.keys.has("hash-8")).toBe(false);
    expect(after.limits?.get("key:key_8")).toBeUndefined();
    expect(after.keys.size).toBe(count);
    // A request that began before keeps its snapshot.
    expect(before.keys.has("hash-8")).toBe(true);
    expect(before.keys.size).toBe(count);
  });

  test("a project that was removed gives a bounded number of warnings", () => {
    const { warnings } = loadYaml("", { storedKeys: many });
    expect(warnings).toHaveLength(21);
    expect(warnings.at(-1)).toBe("180 more warnings of this kind about stored keys");
  });

  test("limits of idle keys take no memory in the rate limiter, and changed limits apply to a used scope", () => {
    const limiter = new Limiter(localRateLimitCounters);
    const { limits } = load("", many);
    limiter.apply(limits ?? new Map(), 0);
    expect(limiter.size).toBe(0);
    const [scope] = limiter.find(0, ["key:key_2"]);
    expect(limiter.size).toBe(1);
    const changes = [
      { key: key(2, { limits: { requestsPerMinute: 5 } }), isRevoked: false },
      { key: key(4), isRevoked: true },
    ];
    const after = load("", many.withChanges(changes)).limits ?? new Map();
    limiter.apply(after, 0);
    expect(limiter.find(0, ["key:key_2"])[0]).toBe(scope!);
    expect(scope?.bucket("requests")?.limit).toBe(5);
    expect(limiter.find(0, ["key:key_4"])).toEqual([]);
  });
});

describe("the reader of stored keys", () => {
  type Apply = Parameters<ReturnType<typeof createStoredKeyReader>>[0];
  const stored = (at: number, revokedAt: number | null = null): StoredKey => ({
    id: `key_${at}`,
    name: `customer ${at}`,
    hash: `hash-${at}`,
    hint: "sk-vx",
    models: ["a", "b"],
    limits: { concurrent: 2 },
    createdAt: 0,
    revokedAt,
    version: 1,
  });

  test("reads the same changes again after the store has failed", async () => {
    const responses = [new Error("the disk is gone"), stored(1)];
    const read = createStoredKeyReader({
      changesSince: async () => {
        const next = responses.shift();
        if (next instanceof Error) throw next;
        return { changes: next ? [{ key: next, isNew: true }] : [], revision: 1, hasMore: false };
      },
    });
    const applied: string[] = [];
    const apply: Apply = async (changes) =>
      void applied.push(...changes.map(({ key: { id } }) => id));
    await expect(read(apply)).rejects.toThrow("the disk is gone");
    await read(apply);
    expect(applied).toEqual(["key_1"]);
  });

  test("reads a revocation again that could not be applied", async () => {
    const read = createStoredKeyReader({
      changesSince: async (revision) => ({
        changes: revision < 1 ? [{ key: stored(1, 5), isNew: false }] : [],
        revision: 1,
        hasMore: false,
      }),
    });
    const revoked: string[] = [];
    let failures = 1;
    const apply: Apply = async (changes) => {
      if (failures-- > 0) throw new Error("it is not applied");
      for (const { key, isRevoked } of changes) if (isRevoked) revoked.push(key.id);
    };
    await expect(read(apply)).rejects.toThrow("it is not applied");
    await read(apply);
    await read(apply);
    expect(revoked).toEqual(["key_1"]);
  });
});
