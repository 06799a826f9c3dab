/**
 * Builds one frozen config snapshot. Precedence: the configuration of file and store, then the environment, then the
 * built-in models.
 */
import { deepFreeze } from "../../lib/deep-freeze.ts";
import { secretHash } from "../../lib/secret-hash.ts";
import type { Upstream } from "../../upstream/contract.ts";
import {
  type AlertRule,
  configuredKeys,
  type EntityOrigin,
  type Key,
  type Model,
  type OriginKind,
  originKey,
  type Project,
  type Snapshot,
  type Source,
} from "../snapshot.ts";
import { builtInUpstreams, type ProvisionedUpstream } from "../sources/provisioned-upstreams.ts";
import type { Config } from "../validate/validate-config.ts";
import { buildWebhooks } from "../validate/webhooks.ts";
import { configuredModel, provisionedModels } from "./build-models.ts";
import {
  embeddingWarnings,
  expiredKeyWarnings,
  shutdownWarnings,
  unknownReferenceWarnings,
  unusedGlobWarnings,
} from "./config-warnings.ts";
import { budgetOf, configuredLimits, labelLimitsOf, limitTable } from "./limits-and-budgets.ts";
import { resolveKey, type StoredKeys } from "./stored-keys.ts";

interface SnapshotSources {
  readonly version: number;
  readonly config: Config;
  readonly environment: readonly ProvisionedUpstream[];
  readonly storedKeys: StoredKeys;
  /** The origin of an entry of the configuration. Absent: the file. */
  readonly originAt?: (list: ConfigList, index: number) => EntityOrigin;
  /** Unix milliseconds, to compare shutdown dates with. Absent: no warnings about them. */
  readonly now?: number;
}

/** The lists of the configuration whose entries have an origin. */
type ConfigList = "upstreams" | "models" | "projects" | "webhooks" | "alerts" | "keys";

interface BuildResult {
  readonly snapshot: Snapshot;
  readonly warnings: readonly string[];
}

const yamlOrigin: EntityOrigin = { source: "yaml" };

const provisionedOrigin = (source: Source, variable: string | undefined): EntityOrigin => ({
  source,
  ...(variable !== undefined && { location: variable }),
});

export function buildSnapshot(parts: SnapshotSources): BuildResult {
  const { version, config, environment, now, originAt = () => yamlOrigin } = parts;
  const origins = new Map<string, EntityOrigin>();
  const upstreams = new Map<string, Upstream>(config.upstreams.map((row) => [row.id, row]));
  const setOrigins = <R>(kind: OriginKind, rows: readonly R[], idOf: (row: R) => string): void => {
    for (const [index, row] of rows.entries())
      origins.set(originKey(kind, idOf(row)), originAt(`${kind}s` as const, index));
  };
  setOrigins("upstream", config.upstreams, ({ id }) => id);
  const provisioned = [
    ...(config.environment ? environment.map((row) => [row, "environment"] as const) : []),
    ...(config.builtInModels ? builtInUpstreams.map((row) => [row, "built-in"] as const) : []),
    // An upstream in the file replaces the provisioned one, with its models.
  ].filter(([{ upstream }]) => !upstreams.has(upstream.id));
  for (const [{ upstream, variable }, source] of provisioned) {
    upstreams.set(upstream.id, upstream);
    origins.set(originKey("upstream", upstream.id), provisionedOrigin(source, variable));
  }

  const models = new Map<string, Model>();
  for (const [index, row] of config.models.entries()) {
    const origin = originAt("models", index);
    models.set(row.id, configuredModel(row, upstreams, origin.source));
    origins.set(originKey("model", row.id), origin);
  }
  for (const [row, source] of provisioned) {
    for (const model of provisionedModels(row, source)) {
      if (models.has(model.id)) continue;
      models.set(model.id, model);
      origins.set(originKey("model", model.id), provisionedOrigin(source, row.variable));
    }
  }

  const fileKeys = config.keys.map(({ name, key, models: globs, parameters, ...more }): Key => {
    const identity = { id: `file:${name}`, name, hash: secretHash(key), models: globs };
    const { project, limits, budget, expires, defaults, priority, showCost } = more;
    return {
      ...identity,
      ...(expires !== undefined && { expiresAt: Date.parse(expires) }),
      ...(parameters && { parameters }),
      ...(defaults && { defaults }),
      ...(priority && { priority }),
      ...(showCost && { showCost }),
      ...(project !== undefined && { project }),
      ...configuredLimits(limits),
      ...budgetOf(budget),
      source: "yaml",
    };
  });
  const projects = new Map<string, Project>(
    config.projects.map(({ name, limits, budget, ...labels }) => [
      name,
      { name, ...configuredLimits(limits), ...budgetOf(budget), ...labelLimitsOf(labels) },
    ]),
  );
  const webhooks = buildWebhooks(config.webhooks);
  setOrigins("key", fileKeys, ({ id }) => id);
  setOrigins("project", config.projects, ({ name }) => name);
  setOrigins("webhook", webhooks, ([id]) => id);
  setOrigins("alert", config.alerts, ({ name }) => name);
  const storedKeys = parts.storedKeys.withProjects(projects);
  const configured = new Map(fileKeys.map((key) => [key.hash, resolveKey(key, projects)]));
  const tables = {
    upstreams: freezeAll(upstreams),
    models: freezeAll(models),
    ...(models.values().some(({ readsImages }) => readsImages) && { embedsImages: true }),
    keys: mergeKeys(configured, storedKeys),
    projects: freezeAll(projects),
  };
  const snapshot = {
    version,
    ...tables,
    ...(config.defaults && { defaults: config.defaults }),
    limits: limitTable({ ...tables, keys: configured }, storedKeys.limits),
    webhooks: freezeAll(new Map(webhooks)),
    alerts: freezeAll(new Map<string, AlertRule>(config.alerts.map((rule) => [rule.name, rule]))),
    origins: freezeAll(origins),
  };
  return {
    snapshot: Object.freeze(snapshot),
    warnings: [
      ...unusedGlobWarnings(configured.values(), models),
      ...unknownReferenceWarnings(storedKeys.byHash.values(), snapshot),
      ...embeddingWarnings(snapshot),
      ...(now === undefined
        ? []
        : [...expiredKeyWarnings(configured.values(), now), ...shutdownWarnings(snapshot, now)]),
    ],
  };
}

/**
 * The same snapshot with other stored keys, which are resolved with its projects. Does not read the file, which may be
 * invalid or deleted.
 */
export function withStoredKeys(current: Snapshot, storedKeys: StoredKeys): Snapshot {
  const configured = configuredKeys(current);
  return Object.freeze({
    ...current,
    version: current.version + 1,
    keys: mergeKeys(configured, storedKeys),
    limits: limitTable({ ...current, keys: configured }, storedKeys.limits),
  });
}

/** By hash. A key of the file takes precedence over a stored key. */
function mergeKeys(configured: Snapshot["keys"], { byHash }: StoredKeys): Snapshot["keys"] {
  const merged = new Map(byHash);
  for (const [hash, key] of configured) merged.set(hash, key);
  return merged;
}

function freezeAll<V>(map: ReadonlyMap<string, V>): ReadonlyMap<string, V> {
  for (const value of map.values()) deepFreeze(value);
  return map;
}
