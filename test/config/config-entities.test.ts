/**
 * Configuration entities of the store: validated with the whole configuration, below the file, never able to stop the
 * gateway.
 */
import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Composer, readSources } from "../../server/config/build/load-snapshot.ts";
import { StoredKeys } from "../../server/config/build/stored-keys.ts";
import { EntityRefused } from "../../server/config/entities/config-entities.ts";
import { openConfigEntities } from "../../server/config/entities/open-config-entities.ts";
import { secretFieldsOf } from "../../server/config/entities/secret-fields.ts";
import { describeOrigin, originOf } from "../../server/config/snapshot.ts";
import { readStoredConfig } from "../../server/config/sources/stored-config.ts";
import { describeProblems } from "../../server/config/yaml/problem.ts";
import { runAtOnce } from "../../server/lib/tasks.ts";
import { SecretBox } from "../../server/storage/encrypt-secret.ts";
import type { ConfigEntityStore } from "../../server/storage/sql/config-entity-store.ts";
import type { KeyStore } from "../../server/storage/sql/key-store.ts";
import { openConfigEntityStore } from "../../server/storage/sqlite/gateway-database.ts";
import { kinds } from "../../server/upstream/kinds.ts";
import { temporaryFolder } from "../harness.ts";
import { until } from "../until.ts";
import { openTestConfiguration } from "./configuration-fixture.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

interface Options {
  readonly yaml?: string;
  readonly env?: Record<string, string>;
  readonly secret?: string;
  readonly previous?: readonly string[];
  readonly folder?: string;
}

function newFolder(): string {
  const folder = temporaryFolder();
  cleanups.push(() => folder[Symbol.dispose]());
  return folder.path;
}

function open({ yaml = "", env = {}, secret = "a-secret-0123456789", ...more }: Options = {}) {
  const folder = more.folder ?? newFolder();
  const path = join(folder, "vexel.yaml");
  writeFileSync(path, yaml);
  const store: ConfigEntityStore = openConfigEntityStore(folder, Date.now);
  cleanups.push(() => store.close());
  const secrets = new SecretBox({ folder, secret, previous: more.previous ?? [] });
  const sources = () => {
    const read = readSources({ path, env, now: 0 });
    if (!read.ok) throw new Error(describeProblems(read.problems));
    return read;
  };
  const entities = openConfigEntities({ store, secrets, sources, now: () => 5000 });
  const snapshot = async () => {
    const stored = await readStoredConfig(store, secrets);
    const all = { ...sources(), stored, storedKeys: StoredKeys.empty };
    return runAtOnce(new Composer(undefined).compose(all, { version: 1, now: undefined }));
  };
  return { folder, store, secrets, sources, entities, snapshot };
}

const upstream = { kind: "openai", apiKey: "sk-live-secret-1", headers: { "x-org": "org-secret" } };
const model = (at = "cloud") => ({
  kind: "embedding",
  targets: [{ upstream: at, model: "text-embedding-3-small" }],
});

describe("a stored entity", () => {
  test("is in force with its origin, beside the entities of the file and the environment", async () => {
    const yaml = "projects:\n  - name: web\nkeys:\n  - { name: ci, key: sk-0123456789abcdef }\n";
    const { entities, snapshot } = open({ yaml, env: { MISTRAL_API_KEY: "k" } });
    await entities.put("upstream", "cloud", upstream, 0);
    await entities.put("model", "search", model(), 0);
    await entities.put("project", "mobile", { limits: { concurrent: 2 } }, 0);
    await entities.put("webhook", "alerts", { url: "https://a.example/x", secret: whsec }, 0);
    const { snapshot: now, warnings } = await snapshot();
    expect(warnings).toEqual([]);
    expect(now.models.get("search")).toMatchObject({ source: "store", dimensions: 1536 });
    expect(now.upstreams.get("cloud")).toMatchObject({ apiKey: "sk-live-secret-1" });
    expect(now.limits?.get("project:mobile")).toEqual({ concurrent: 2 });
    expect(now.webhooks?.size).toBe(1);
    const origin = (kind: Parameters<typeof originOf>[1], id: string) => {
      const found = originOf(now, kind, id);
      return found && describeOrigin(found);
    };
    expect(origin("model", "search")).toBe("store");
    expect(origin("upstream", "cloud")).toBe("store");
    expect(origin("project", "web")).toMatch(/^yaml: .*vexel\.yaml line 2$/);
    expect(origin("key", "file:ci")).toMatch(/^yaml: .*vexel\.yaml line 4$/);
    expect(origin("upstream", "mistral")).toBe("environment: MISTRAL_API_KEY");
    expect(origin("model", "mistral-embed")).toBe("environment: MISTRAL_API_KEY");
    expect(origin("model", "vexel-sketch")).toBe("built-in");
    expect(origin("webhook", [...(now.webhooks?.keys() ?? [])][0] ?? "")).toBe("store");
  });

  test("is listed with its version, and locked entities with their origin", async () => {
    const { entities } = open({ yaml: "projects: [{ name: web }]\nbuiltInModels: false\n" });
    await entities.put("upstream", "cloud", upstream, 0);
    const location = expect.stringMatching(/vexel\.yaml line 1$/);
    expect(await entities.list()).toEqual([
      {
        kind: "project",
        id: "web",
        readOnly: true,
        value: {},
        origin: { source: "yaml", location },
      },
      {
        kind: "upstream",
        id: "cloud",
        origin: { source: "store" },
        readOnly: false,
        version: 1,
        createdAt: 5000,
        updatedAt: 5000,
        value: {
          kind: "openai",
          apiKey: { $secret: true, lastFour: "et-1" },
          headers: { "x-org": { $secret: true } },
        },
      },
    ]);
  });

  test("that the file defines later is left out with a warning that names it", async () => {
    const { folder, entities, snapshot } = open();
    await entities.put("project", "web", { limits: { concurrent: 2 } }, 0);
    writeFileSync(join(folder, "vexel.yaml"), "projects:\n  - name: web\n");
    const { snapshot: now, warnings } = await snapshot();
    expect(warnings).toEqual([
      expect.stringMatching(
        /^the stored project "web" is left out: .*vexel\.yaml line 2 has a project with this id/,
      ),
    ]);
    expect(now.projects?.get("web")).toEqual({ name: "web" });
    expect((await entities.get("project", "web"))?.problem).toContain("takes precedence");
  });

  test("that has become invalid is left out with the entities that refer to it, and the others stay", async () => {
    const { store, entities, snapshot } = open();
    await entities.put("upstream", "cloud", upstream, 0);
    await entities.put("model", "search", model(), 0);
    await entities.put("project", "mobile", {}, 0);
    // Written by a version that knew a kind which this one does not know.
    await store.put({ kind: "upstream", id: "cloud", value: { kind: "oldvendor" } }, undefined, 1);
    await store.put({ kind: "gadget", id: "g", value: {} }, undefined, 1);
    const { snapshot: now, warnings } = await snapshot();
    expect(warnings).toEqual([
      'the stored gadget "g" is left out: gadget is not a kind of entity',
      expect.stringMatching(
        /^the stored upstream "cloud" is left out: kind: "oldvendor" is no kind/,
      ),
      'the stored model "search" is left out: targets[0].upstream: there is no upstream "cloud"',
    ]);
    expect([...now.models.keys()]).toEqual(["all-minilm-l6-v2", "vexel-sketch"]);
    expect(now.projects?.has("mobile")).toBe(true);
  });

  test("overrides an entity provisioned from the environment, as the file does", async () => {
    const { entities, snapshot } = open({ env: { OPENAI_API_KEY: "sk-env" } });
    const before = (await snapshot()).snapshot;
    expect(before.models.get("text-embedding-3-small")?.source).toBe("environment");
    await entities.put("model", "text-embedding-3-small", model("openai"), 0);
    const after = (await snapshot()).snapshot;
    expect(after.models.get("text-embedding-3-small")?.source).toBe("store");
    expect(after.models.has("text-embedding-3-large")).toBe(true);
  });
});

const whsec = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

describe("a refused change names the field and writes nothing", () => {
  const cases: [string, string, string, object, string][] = [
    [
      "an unknown kind",
      "gadget",
      "x",
      {},
      '"gadget" is not a kind of entity; known: upstream, model',
    ],
    ["a missing upstream", "model", "m", model("nowhere"), "targets[0].upstream: there is no"],
    ["an unknown key", "model", "m", { ...model("vexel-minilm"), color: 1 }, "color: unknown key"],
    ["a wrong type", "project", "p", { limits: { concurrent: "2" } }, "limits.concurrent: must be"],
    ["an invalid id", "model", "a b", model("vexel-minilm"), "id: must not contain spaces"],
    ["another id", "model", "m", { ...model("vexel-minilm"), id: "n" }, 'id: must be "m"'],
    ["a missing credential", "upstream", "u", { kind: "openai" }, "apiKey: is missing"],
    ["a placeholder", "upstream", "u", { kind: "openai", apiKey: { $secret: true } }, "$secret"],
  ];
  for (const [name, kind, id, value, message] of cases) {
    test(name, async () => {
      const { store, entities } = open();
      const put = entities.put(kind, id, value as Record<string, unknown>, undefined);
      await expect(put).rejects.toThrow(message);
      await expect(put).rejects.toBeInstanceOf(EntityRefused);
      expect(await store.revision()).toBe(0);
    });
  }

  test("if another stored entity refers to the deleted one, which is named", async () => {
    const { entities } = open();
    await entities.put("upstream", "cloud", upstream, 0);
    await entities.put("model", "search", model(), 0);
    const message = 'it is used by the model "search": change or delete what uses it first';
    await expect(entities.delete("upstream", "cloud", undefined)).rejects.toThrow(message);
    expect(await entities.delete("model", "search", undefined)).toBe(true);
    expect(await entities.delete("upstream", "cloud", undefined)).toBe(true);
    expect(await entities.delete("upstream", "cloud", undefined)).toBe(false);
  });
});

describe("secrets of stored entities", () => {
  test("of cloud credentials are hidden one by one, and stay when placeholders are written", async () => {
    const { entities, snapshot } = open();
    const auth = { type: "client-secret", tenantId: "t", clientId: "c", clientSecret: "entra-1" };
    const azure = { kind: "azure", baseUrl: "https://a.example", auth };
    const { version } = await entities.put("upstream", "azure", azure, 0);
    const read = await entities.get("upstream", "azure");
    expect(read?.value).toEqual({ ...azure, auth: { ...auth, clientSecret: { $secret: true } } });
    await entities.put("upstream", "azure", { ...read?.value, limits: { concurrent: 3 } }, version);
    const { options } = (await snapshot()).snapshot.upstreams.get("azure") ?? {};
    expect(options?.auth).toEqual(auth);
  });

  test("that cannot be decrypted leave only their own entity out", async () => {
    const first = open();
    await first.entities.put("upstream", "cloud", upstream, 0);
    await first.entities.put("model", "search", model(), 0);
    await first.entities.put("project", "web", {}, 0);
    const { snapshot } = open({ folder: first.folder, secret: "another-secret-0123" });
    const { snapshot: now, warnings } = await snapshot();
    expect(warnings[0]).toContain('the stored upstream "cloud" is left out: the stored secret was');
    expect(warnings[0]).toContain("VEXEL_SECRET_PREVIOUS");
    expect(warnings[1]).toContain('the stored model "search" is left out');
    expect(now.projects?.has("web")).toBe(true);
  });

  test("are encrypted again with the new key after a rotation", async () => {
    const first = open();
    await first.entities.put("upstream", "cloud", upstream, 0);
    const rotated = open({
      folder: first.folder,
      secret: "another-secret-0123",
      previous: ["a-secret-0123456789"],
    });
    expect(await rotated.entities.reencrypt()).toBe(1);
    expect(await rotated.entities.reencrypt()).toBe(0);
    const later = open({ folder: first.folder, secret: "another-secret-0123" });
    const { snapshot, warnings } = await later.snapshot();
    expect(warnings).toEqual([]);
    expect(snapshot.upstreams.get("cloud")?.apiKey).toBe("sk-live-secret-1");
    await expect(first.entities.reencrypt()).rejects.toThrow("encrypted with another key");
  });

  test("cover every option of an upstream that is named like a secret", () => {
    const harmless = ["accessKeyId", "accountId", "maxTokens", "tokenType"];
    const options = new Set([...kinds.values()].flatMap((kind) => Object.keys(kind.options)));
    const suspicious = [...options].filter((name) =>
      /key|secret|token|account|password|credential/i.test(name),
    );
    expect(suspicious.length).toBeGreaterThan(4);
    const open = suspicious.filter(
      (name) => !secretFieldsOf("upstream").includes(name) && !harmless.includes(name),
    );
    expect(open).toEqual([]);
  });
});

test("a change of the store is in force at the next poll, and an unreadable store is logged once", async () => {
  let isReadable = true;
  const configuration = await openTestConfiguration({
    path: "/nowhere/vexel.yaml",
    pollMs: { store: 10 },
    entities: (entities) => ({
      ...entities,
      revision: () =>
        isReadable ? entities.revision() : Promise.reject(new Error("the disk is gone")),
    }),
  });
  cleanups.push(configuration.close);
  const { store, snapshot, log } = configuration;
  const hasProject = () => snapshot().projects?.has("a");
  await store.put({ kind: "project", id: "a", value: {} }, 0, 1);
  await until(() => hasProject() === true);
  await store.delete({ kind: "project", id: "a" }, undefined);
  await until(() => hasProject() === false);
  isReadable = false;
  const reported = () => log().split('"config-store-unreadable"').length - 1;
  await until(() => reported() > 0);
  await Bun.sleep(50);
  expect(reported()).toBe(1);
});

test("a change of the store is read again after a read that failed", async () => {
  let failures = 0;
  const configuration = await openTestConfiguration({
    path: "/nowhere/vexel.yaml",
    pollMs: { store: 10 },
    entities: (entities) => ({
      ...entities,
      changesSince: async (version) => {
        if (failures-- > 0) throw new Error("the disk is gone");
        return entities.changesSince(version);
      },
    }),
  });
  cleanups.push(configuration.close);
  failures = 1;
  await configuration.store.put({ kind: "project", id: "a", value: {} }, 0, 1);
  await until(() => configuration.snapshot().projects?.has("a") === true);
  expect(configuration.log()).toContain("config-store-unreadable");
});

test("a stored local upstream is in force after a reload exactly if its folder then exists", async () => {
  const { store, secrets, sources, folder } = open();
  const path = join(folder, "minilm");
  await store.put({ kind: "upstream", id: "own", value: { kind: "local", path } }, 0, 1);
  const stored = await readStoredConfig(store, secrets);
  const composer = new Composer((inspected) => (existsSync(inspected) ? [] : ["does not exist"]));
  const reload = () => {
    const all = { ...sources(), stored, storedKeys: StoredKeys.empty };
    const { snapshot, leftOut } = runAtOnce(composer.compose(all, { version: 1, now: 0 }));
    return { own: snapshot.upstreams.get("own"), leftOut };
  };
  expect(reload()).toEqual({
    own: undefined,
    leftOut: [{ kind: "upstream", id: "own", field: "path", reason: "does not exist" }],
  });
  mkdirSync(path);
  const { own, leftOut } = reload();
  expect(own?.kind).toBe("local");
  expect(leftOut).toEqual([]);
  expect(reload().own).toBe(own!);
  rmdirSync(path);
  expect(reload().leftOut).toHaveLength(1);
});

test("a change of the store that could not be applied is applied at the next poll", async () => {
  let failures = 0;
  const configuration = await openTestConfiguration({
    path: "/nowhere/vexel.yaml",
    pollMs: { store: 10 },
    now: () => {
      if (failures-- > 0) throw new Error("the clock is gone");
      return Date.now();
    },
  });
  cleanups.push(configuration.close);
  failures = 1;
  await configuration.store.put({ kind: "project", id: "a", value: {} }, 0, 1);
  await until(() => configuration.snapshot().projects?.has("a") === true);
  expect(configuration.log()).toContain("the clock is gone");
});

test("a revocation that could not be applied is applied at the next poll", async () => {
  const opened = Promise.withResolvers<KeyStore>();
  const configuration = await openTestConfiguration({
    path: "/nowhere/vexel.yaml",
    pollMs: { store: 10 },
    keys: (keys) => {
      opened.resolve(keys);
      return keys;
    },
  });
  cleanups.push(configuration.close);
  const keys = await opened.promise;
  const isKnown = () => configuration.snapshot().keys.has("hash");
  const key = { id: "key_1", name: "web", hash: "hash", hint: "sk-vx", createdAt: 1 };
  await keys.create({ ...key, models: ["*"] });
  await until(isKnown);
  let applied = 0;
  configuration.onReload(() => {
    if (!isKnown() && ++applied === 1) throw new Error("the gateway is busy");
  });
  await keys.revoke("key_1", 2);
  await until(() => applied === 2);
  expect(configuration.log()).toContain("the gateway is busy");
});

test("a poll that the end of the gateway interrupts is no unreadable store in the log", async () => {
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  let polls = 0;
  const configuration = await openTestConfiguration({
    path: "/nonexistent/vexel.yaml",
    pollMs: { store: 1 },
    keys: (keys) => ({
      ...keys,
      changesSince: async (...args) => {
        if (polls++ === 0) return keys.changesSince(...args);
        await closed;
        throw new RangeError("Cannot use a closed database");
      },
    }),
  });
  await until(() => polls > 1);
  await configuration.close();
  close();
  await Bun.sleep(1);
  expect(configuration.log()).not.toContain("unreadable");
});
