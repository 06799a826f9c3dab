/**
 * The snapshot: the file wins over the environment and the built-in models, keys are hashed, nothing in it can change.
 */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: such text is what the file is about
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { withStoredKeys } from "../../server/config/build/build-snapshot.ts";
import { StoredKeys } from "../../server/config/build/stored-keys.ts";
import type { Key } from "../../server/config/snapshot.ts";
import { secretHash } from "../../server/lib/secret-hash.ts";
import { loadYaml } from "./load-yaml.ts";

const stored: Key = {
  id: "k1",
  name: "made in the console",
  hash: secretHash("vx-stored-0123456789"),
  models: ["*"],
  source: "store",
};
const storedKeys = (...keys: Key[]): StoredKeys =>
  StoredKeys.empty.withChanges(keys.map((key) => ({ key, isRevoked: false })));

test("the example file is valid", () => {
  const example = readFileSync(join(import.meta.dir, "../../vexel.example.yaml"), "utf8");
  const env = {
    OPENAI_API_KEY: "sk-1",
    WEB_KEY: "0123456789abcdef",
    STUDIO_KEY: "fedcba9876543210",
  };
  const { snapshot, warnings } = loadYaml(example, { env });
  expect(warnings).toEqual([]);
  expect([...snapshot.models.keys()]).toEqual([
    "text-embedding-3-small",
    "search",
    "images",
    "all-minilm-l6-v2",
    "vexel-sketch",
  ]);
  expect(snapshot.models.get("images")?.maxImages).toBe(4);
  expect(snapshot.models.get("search")?.dimensions).toBe(1024);
});

test("an empty configuration has the built-in models", () => {
  const { snapshot } = loadYaml("");
  expect(snapshot.version).toBe(1);
  expect(
    [...snapshot.models.values()].map(({ id, source, ownedBy }) => [id, source, ownedBy]),
  ).toEqual([
    ["all-minilm-l6-v2", "built-in", "vexel"],
    ["vexel-sketch", "built-in", "vexel"],
  ]);
});

describe("the file has precedence:", () => {
  const env = { OPENAI_API_KEY: "from-env" };
  test("a model in the file replaces a provisioned model of the same id", () => {
    const { snapshot } = loadYaml(
      `models:
  - { id: text-embedding-3-small, kind: embedding, targets: [{ upstream: vexel-minilm, model: x }] }
  - { id: vexel-sketch, kind: image, targets: [{ upstream: openai, model: gpt-image-2 }] }
`,
      { env },
    );
    expect(snapshot.models.get("text-embedding-3-small")).toMatchObject({ source: "yaml" });
    expect(snapshot.models.get("vexel-sketch")?.targets[0]?.upstream.id).toBe("openai");
    expect(snapshot.models.get("text-embedding-3-large")).toMatchObject({ source: "environment" });
  });
  test("an upstream in the file replaces a provisioned upstream of the same id, with its models", () => {
    const { snapshot } = loadYaml("upstreams: [{ id: openai, kind: openai, apiKey: from-file }]", {
      env,
    });
    expect(snapshot.upstreams.get("openai")?.apiKey).toBe("from-file");
    expect(snapshot.models.has("text-embedding-3-small")).toBe(false);
  });
  test("the file can remove the built-in models and the environment", () => {
    const none = loadYaml("builtInModels: false\nenvironment: false\n", { env }).snapshot;
    expect([none.models.size, none.upstreams.size]).toEqual([0, 0]);
    expect(loadYaml("builtInModels: false", { env }).snapshot.models.has("vexel-sketch")).toBe(
      false,
    );
  });
  test("incomplete variables of a provider that the file defines cause no warning", () => {
    const half = { AZURE_OPENAI_API_KEY: "k" };
    expect(loadYaml("", { env: half }).warnings).toHaveLength(1);
    expect(loadYaml("environment: false", { env: half }).warnings).toHaveLength(0);
    const defined =
      'upstreams: [{ id: azure, kind: azure, apiKey: "${AZURE_OPENAI_API_KEY}", baseUrl: http://z }]';
    expect(loadYaml(defined, { env: half }).warnings).toHaveLength(0);
  });
});

describe("keys", () => {
  const text = "keys: [{ name: web, key: vx-file-0123456789 }]";
  test("are found by the hash of the client's API key, from the file and from the store", () => {
    const { snapshot } = loadYaml(text, { storedKeys: storedKeys(stored) });
    expect(snapshot.keys.get(secretHash("vx-file-0123456789"))).toMatchObject({
      id: "file:web",
      models: ["*"],
    });
    expect(snapshot.keys.get(secretHash("vx-stored-0123456789"))?.id).toBe("k1");
  });
  test("of the store can be replaced without reading the file, and keys of the file have precedence", () => {
    const before = storedKeys(stored);
    const { snapshot } = loadYaml(text, { storedKeys: before });
    const twin: Key = { ...stored, id: "k2", hash: secretHash("vx-file-0123456789") };
    const after = before.withChanges([
      { key: stored, isRevoked: true },
      { key: twin, isRevoked: false },
      { key: { ...stored, id: "k3", hash: "h" }, isRevoked: false },
    ]);
    const next = withStoredKeys(snapshot, after);
    expect([...next.keys.values()].map(({ id }) => id)).toEqual(["file:web", "k3"]);
    expect([next.version, next.models]).toEqual([2, snapshot.models]);
    expect(snapshot.keys.has(stored.hash)).toBe(true);
  });
  test("are not in the snapshot, only their hashes", () => {
    const { snapshot } = loadYaml(text);
    expect(JSON.stringify([...snapshot.keys.values()])).not.toContain("vx-file");
  });
  test("that may use no existing model cause a warning", () => {
    const { warnings } = loadYaml(
      "keys: [{ name: web, key: vx-file-0123456789, models: [txt-*, '*'] }]",
    );
    expect(warnings).toEqual(['the key "web" may use txt-*, but no model id matches it']);
  });
});

test("the entities of a snapshot are frozen, and share no mutable object with its sources", () => {
  const own = { ...stored, models: ["a"] };
  const { snapshot } = loadYaml(
    "upstreams: [{ id: u, kind: openai, apiKey: k, headers: { a: b } }]",
    {
      storedKeys: storedKeys(own),
      env: { MISTRAL_API_KEY: "k" },
    },
  );
  own.models.push("*");
  expect(snapshot.keys.get(stored.hash)?.models).toEqual(["a"]);
  const visited = new Set<unknown>();
  const frozen = (value: unknown): void => {
    if (typeof value !== "object" || value === null || visited.has(value)) return;
    visited.add(value);
    expect(Object.isFrozen(value)).toBe(true);
    for (const member of Object.values(value)) frozen(member);
  };
  expect(Object.isFrozen(snapshot)).toBe(true);
  for (const map of [snapshot.upstreams, snapshot.models, snapshot.keys]) {
    for (const value of map.values()) frozen(value);
  }
});
