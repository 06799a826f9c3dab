/**
 * A change of the configuration is applied to what changed: after any program of changes of the file, the store and the
 * keys, the configuration in force is the one that a gateway composes from scratch.
 */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { Composer, type Composition } from "../../server/config/build/load-snapshot.ts";
import { StoredKeys } from "../../server/config/build/stored-keys.ts";
import type { Key } from "../../server/config/snapshot.ts";
import { fromEnvironment } from "../../server/config/sources/environment-source.ts";
import { StoredConfigReader } from "../../server/config/sources/stored-config.ts";
import { parseFile } from "../../server/config/yaml/parse-file.ts";
import { readConfig, type YamlConfig } from "../../server/config/yaml/read-config.ts";
import { readText } from "../../server/config/yaml/yaml-file.ts";
import { runAtOnce } from "../../server/lib/tasks.ts";
import { SecretBox } from "../../server/storage/encrypt-secret.ts";
import { PostgresDatabase } from "../../server/storage/postgres/database.ts";
import {
  type ConfigEntityStore,
  createConfigEntityStore,
} from "../../server/storage/sql/config-entity-store.ts";
import { openConfigEntityStore } from "../../server/storage/sqlite/gateway-database.ts";
import { tries } from "../depth.ts";
import { temporaryFolder } from "../harness.ts";
import { sharedPostgres, testWithPostgres } from "../storage/postgres-server.ts";

/** One entity, with values that conflict with each other, with the file and with the environment now and then. */
const upstreamIds = ["openai", "one", "two"] as const;
const modelIds = ["text-embedding-3-small", "a", "b", "c"] as const;
const projectNames = ["web", "app"] as const;

const upstream = fc.record({
  kind: fc.constantFrom("openai", "ollama", "bfl", "nonsense"),
  apiKey: fc.constantFrom("sk-1", "sk-2"),
});
const targets = fc.array(
  fc.record({
    upstream: fc.constantFrom(...upstreamIds, "vexel-minilm"),
    model: fc.constantFrom("text-embedding-3-small", "other"),
  }),
  { minLength: 1, maxLength: 2 },
);
const model = fc.oneof(
  fc.record({ kind: fc.constant("embedding"), targets }),
  fc.record({ kind: fc.constantFrom("embedding", "image"), targets, color: fc.constant(1) }),
  fc.record({ kind: fc.constant("image"), targets }),
);
const project = fc.record({ limits: fc.record({ concurrent: fc.integer({ min: 0, max: 3 }) }) });
const webhook = fc.record({
  url: fc.constantFrom("https://a.example/", "https://b.example/"),
  format: fc.constantFrom("slack", "discord"),
});
const put = fc.oneof(
  fc.tuple(fc.constant("upstream"), fc.constantFrom(...upstreamIds), upstream),
  fc.tuple(fc.constant("model"), fc.constantFrom(...modelIds), model),
  fc.tuple(fc.constant("project"), fc.constantFrom(...projectNames), project),
  fc.tuple(fc.constant("webhook"), fc.constantFrom("w1", "w2"), webhook),
);

const lists = ["upstreams", "models", "projects"] as const;
type File = Partial<Record<(typeof lists)[number] | "keys", readonly object[]>> & {
  readonly defaults?: object;
  readonly environment?: boolean;
};

const entries = <T extends object>(name: string, ids: readonly string[], value: fc.Arbitrary<T>) =>
  fc.uniqueArray(
    fc.tuple(fc.constantFrom(...ids), value).map(([id, members]) => ({ [name]: id, ...members })),
    { maxLength: 2, selector: (entry) => (entry as Record<string, unknown>)[name] },
  );
const anyFile: fc.Arbitrary<File> = fc.record(
  {
    upstreams: entries("id", upstreamIds, upstream),
    models: entries("id", modelIds, model),
    projects: entries("name", projectNames, project),
    keys: fc.constant([{ name: "ci", key: "sk-0123456789abcdef", models: ["a", "x*"] }]),
    defaults: fc.record({ embedding: fc.constantFrom(...modelIds) }),
    environment: fc.boolean(),
  },
  { requiredKeys: [] },
);

const key = fc.record({
  at: fc.integer({ min: 0, max: 3 }),
  project: fc.constantFrom(...projectNames, undefined),
  isLimited: fc.boolean(),
  isRevoked: fc.boolean(),
});

type Change =
  | { readonly put: readonly [string, string, object] }
  | { readonly remove: readonly [string, string] }
  | { readonly file: File }
  | {
      readonly key: {
        readonly at: number;
        readonly project: string | undefined;
        readonly isLimited: boolean;
        readonly isRevoked: boolean;
      };
    };

const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 5, arbitrary: put.map((values) => ({ put: values })) },
  { weight: 2, arbitrary: put.map(([kind, id]) => ({ remove: [kind, id] as const })) },
  { weight: 2, arbitrary: anyFile.map((changed) => ({ file: changed })) },
  { weight: 2, arbitrary: key.map((changed) => ({ key: changed })) },
);

const environment = fromEnvironment({ OPENAI_API_KEY: "sk-env", MISTRAL_API_KEY: "k" }, 0);

const provisioned = environment.upstreams;
const file = "vexel.yaml";

/** JSON is YAML. In lines, so that entries move. */
const textOf = (changed: File): string => JSON.stringify(changed, null, 1);

const readFile = (changed: File) => readText({ text: textOf(changed), file, env: {}, provisioned });

const asRead = (read: ReturnType<typeof readFile>): YamlConfig | undefined =>
  read.ok ? read : undefined;

/** As a running gateway reads it. Undefined if it is invalid. */
function reload(changed: File, { readEntries: inForce }: YamlConfig): YamlConfig | undefined {
  const text = textOf(changed);
  const { file: parsed } = parseFile({ text, env: {} });
  const read = runAtOnce(readConfig(parsed, { text, file, provisioned, inForce }));
  return read.ok ? read : undefined;
}

const keyOf = ({
  at,
  project: name,
  isLimited,
}: Extract<Change, { key: unknown }>["key"]): Key => ({
  // Two of them replace each other.
  id: at < 2 ? `key_1${at === 0 ? "" : "-next"}` : `key_${at}`,
  name: `key ${at}`,
  hash: `hash-${at}`,
  models: ["*"],
  ...(name !== undefined && { project: name }),
  ...(isLimited && { limits: { concurrent: at + 1 } }),
  source: "store",
});

/** Everything that others see of a configuration. */
function seen({ snapshot, warnings, entities, leftOut }: Composition): object {
  const { upstreams, models, projects, webhooks, alerts, defaults, embedsImages } = snapshot;
  const keys = [...snapshot.keys.values()].sort((a, b) => (a.hash < b.hash ? -1 : 1));
  const scopes = [...keys.flatMap((each) => each.scopes ?? []), "project:web", "project:app"];
  return {
    ...{ upstreams, models, projects, webhooks, alerts, defaults, embedsImages },
    ...{ warnings, leftOut, keys, size: snapshot.keys.size },
    byId: keys.map(({ id }) => snapshot.keys.findById(id)),
    limits: scopes.map((scope) => [scope, snapshot.limits?.get(scope)]),
    limited: snapshot.limits?.size,
    entities: entities.toSorted((a, b) => (a.kind + a.id < b.kind + b.id ? -1 : 1)),
  };
}

async function holds(store: ConfigEntityStore, program: readonly Change[]): Promise<void> {
  using folder = temporaryFolder();
  const secrets = new SecretBox({ folder: folder.path, secret: "s".repeat(32), previous: [] });
  const reader = new StoredConfigReader(store, secrets);
  const composer = new Composer(undefined);
  const changesOfKeys: { key: Key; isRevoked: boolean }[] = [];
  let storedKeys = StoredKeys.empty;
  let yaml: YamlConfig | undefined;
  for (const each of [{ file: {} }, ...program] as const) {
    if ("put" in each) {
      const [kind, id, value] = each.put;
      await store.put({ kind, id, value: value as Record<string, unknown> }, undefined, 1);
    } else if ("remove" in each) {
      const [kind, id] = each.remove;
      await store.delete({ kind, id }, undefined);
    } else if ("key" in each) {
      const changed = { key: keyOf(each.key), isRevoked: each.key.isRevoked };
      changesOfKeys.push(changed);
      storedKeys = storedKeys.withChanges([changed]);
    } else {
      const read = readFile(each.file);
      const applied: YamlConfig | undefined = yaml ? reload(each.file, yaml) : asRead(read);
      // An invalid file changes nothing.
      expect(applied).toEqual(asRead(read));
      yaml = applied ?? yaml;
    }
    if (!yaml) continue;
    const options = { version: 1, now: 0 };
    const stored = await reader.read();
    const applied = runAtOnce(composer.compose({ yaml, stored, environment, storedKeys }, options));
    storedKeys = applied.storedKeys;
    const whole = runAtOnce(
      new Composer(undefined).compose(
        {
          yaml,
          stored: await new StoredConfigReader(store, secrets).read(),
          environment,
          storedKeys: StoredKeys.empty.withChanges(changesOfKeys),
        },
        options,
      ),
    );
    expect(seen(applied)).toEqual(seen(whole));
  }
}

const programs = fc.array(change, { minLength: 1, maxLength: 25 });

test("a configuration after any changes is the one that a start composes, in SQLite", async () => {
  await fc.assert(
    fc.asyncProperty(programs, async (program) => {
      using folder = temporaryFolder();
      const store = openConfigEntityStore(folder.path, Date.now);
      try {
        await holds(store, program);
      } finally {
        await store.close();
      }
    }),
    tries(200),
  );
});

testWithPostgres("and in PostgreSQL", async () => {
  const url = await (await sharedPostgres()).createDatabase();
  const db = new PostgresDatabase({ url, now: Date.now, maxConnections: 2 });
  await db.migrate();
  const store = createConfigEntityStore(db);
  try {
    await fc.assert(
      fc.asyncProperty(programs, async (program) => {
        for (const entity of await store.list()) await store.delete(entity, undefined);
        await holds(store, program);
      }),
      tries(60),
    );
  } finally {
    await store.close();
  }
});

test("a change builds only what depends on it again", () => {
  const given = {
    upstreams: [
      { id: "one", kind: "openai", apiKey: "k" },
      { id: "two", kind: "openai", apiKey: "k" },
    ],
    models: modelIds.slice(1).map((id) => ({
      id,
      kind: "embedding",
      targets: [{ upstream: id === "a" ? "one" : "two", model: "text-embedding-3-small" }],
    })),
  };
  const read = readFile(given);
  if (!read.ok) throw new Error("the file is valid");
  const composer = new Composer(undefined);
  const compose = (yaml: YamlConfig) =>
    runAtOnce(
      composer.compose(
        { yaml, stored: { entities: [], leftOut: [] }, environment, storedKeys: StoredKeys.empty },
        { version: 1, now: 0 },
      ),
    ).snapshot;
  const before = compose(read);
  const raw = structuredClone(given);
  raw.upstreams[0]!.apiKey = "another";
  const changed = reload(raw, read);
  if (!changed) throw new Error("the changed file is valid");
  const after = compose(changed);
  expect(after.models.get("a")).not.toBe(before.models.get("a")!);
  expect(after.models.get("b")).toBe(before.models.get("b")!);
  expect(after.models.get("vexel-sketch")).toBe(before.models.get("vexel-sketch")!);
});
