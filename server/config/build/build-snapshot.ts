/**
 * Builds one frozen config snapshot. Precedence: the configuration of file and store, then the environment, then the
 * built-in models.
 */
import { durationMs } from "../../../contract/schemas/models.ts";
import { deepFreeze } from "../../lib/deep-freeze.ts";
import { secretHash } from "../../lib/secret-hash.ts";
import { knownEmbedding, vectorSpaceOf } from "../../upstream/catalog/index.ts";
import { withTokenPrice } from "../../upstream/catalog/prices/model-price.ts";
import { isContextualModel } from "../../upstream/contextual.ts";
import type { Target, Upstream } from "../../upstream/contract.ts";
import { type OriginKind, originKey } from "../origin.ts";
import type { EntityOrigin, Key, Model, Project, Snapshot, Source } from "../snapshot.ts";
import type { ProvisionedUpstream } from "../sources/provision.ts";
import type { Config } from "../validate/validate-config.ts";
import { buildWebhooks } from "../validate/webhooks.ts";
import {
  embeddingWarnings,
  modelShutdownDate,
  shutdownWarnings,
  unknownReferenceWarnings,
  unusedGlobWarnings,
} from "./config-warnings.ts";
import { budgetOf } from "./key-budgets.ts";
import { KeyMap } from "./key-map.ts";
import { configuredLimits, limitTable, modelLimits, targetLimits } from "./limit-scopes.ts";
import { resolveKey, type StoredKeyChange, StoredKeys } from "./stored-keys.ts";
import { orderOf } from "./target-order.ts";

export interface SnapshotSources {
  readonly version: number;
  readonly config: Config;
  readonly environment: readonly ProvisionedUpstream[];
  readonly builtInModels: readonly ProvisionedUpstream[];
  readonly storedKeys: StoredKeys;
  /** The origin of an entry of the configuration. Absent: the file. */
  readonly originAt?: (list: ConfigList, index: number) => EntityOrigin;
  /** Unix milliseconds, to compare shutdown dates with. Absent: no warnings about them. */
  readonly now?: number;
}

/** The lists of the configuration whose entries have an origin. */
export type ConfigList = "upstreams" | "models" | "projects" | "webhooks" | "keys";

export interface BuildResult {
  readonly snapshot: Snapshot;
  readonly warnings: readonly string[];
}

const defaultMaxImages = 10;
const yamlOrigin: EntityOrigin = { source: "yaml" };

const provisionedOrigin = (source: Source, variable: string | undefined): EntityOrigin => ({
  source,
  ...(variable !== undefined && { location: variable }),
});

export function buildSnapshot(parts: SnapshotSources): BuildResult {
  const { version, config, environment, builtInModels, now, originAt = () => yamlOrigin } = parts;
  const origins = new Map<string, EntityOrigin>();
  const upstreams = new Map<string, Upstream>(config.upstreams.map((row) => [row.id, row]));
  const setOrigins = <R>(kind: OriginKind, rows: readonly R[], idOf: (row: R) => string): void => {
    for (const [index, row] of rows.entries())
      origins.set(originKey(kind, idOf(row)), originAt(`${kind}s` as const, index));
  };
  setOrigins("upstream", config.upstreams, ({ id }) => id);
  const provisioned = [
    ...(config.environment ? environment.map((row) => [row, "environment"] as const) : []),
    ...(config.builtInModels ? builtInModels.map((row) => [row, "built-in"] as const) : []),
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
    const { project, limits, budget, expires, defaults, priority } = more;
    return {
      ...identity,
      ...(expires !== undefined && { expiresAt: Date.parse(expires) }),
      ...(parameters && { parameters }),
      ...(defaults && { defaults }),
      ...(priority && { priority }),
      ...(project !== undefined && { project }),
      ...configuredLimits(limits),
      ...budgetOf(budget),
      source: "yaml",
    };
  });
  const projects = new Map<string, Project>(
    config.projects.map(({ name, limits, budget }) => [
      name,
      { name, ...configuredLimits(limits), ...budgetOf(budget) },
    ]),
  );
  const webhooks = buildWebhooks(config.webhooks);
  setOrigins("key", fileKeys, ({ id }) => id);
  setOrigins("project", config.projects, ({ name }) => name);
  setOrigins("webhook", webhooks, ([id]) => id);
  const storedKeys = parts.storedKeys.withProjects(projects);
  const configuredKeys = new Map(fileKeys.map((key) => [key.hash, resolveKey(key, projects)]));
  const tables = {
    upstreams: freezeAll(upstreams),
    models: freezeAll(models),
    keys: new KeyMap(configuredKeys, storedKeys),
    projects: freezeAll(projects),
  };
  const snapshot = {
    version,
    ...tables,
    ...(config.defaults && { defaults: config.defaults }),
    limits: limitTable({ ...tables, keys: configuredKeys }, storedKeys.limits),
    webhooks: freezeAll(new Map(webhooks)),
    origins: freezeAll(origins),
  };
  return {
    snapshot: Object.freeze(snapshot),
    warnings: [
      ...unusedGlobWarnings(configuredKeys.values(), models),
      ...unknownReferenceWarnings(storedKeys.byHash.values(), snapshot),
      ...embeddingWarnings(snapshot),
      ...(now === undefined ? [] : shutdownWarnings(snapshot, now)),
    ],
  };
}

/** The same snapshot with some stored keys changed. Does not read the file, which may be invalid or deleted. */
export function withKeyChanges(current: Snapshot, changes: readonly StoredKeyChange[]): Snapshot {
  const keys =
    current.keys instanceof KeyMap ? current.keys : new KeyMap(current.keys, StoredKeys.empty);
  const storedKeys = keys.stored.withChanges(changes);
  return Object.freeze({
    ...current,
    version: current.version + 1,
    keys: new KeyMap(keys.configured, storedKeys),
    limits: limitTable({ ...current, keys: keys.configured }, storedKeys.limits),
  });
}

const provisionedModels = ({ upstream, models }: ProvisionedUpstream, source: Source): Model[] =>
  models.map(({ name, ...row }) => {
    const target = { upstream, model: name };
    const targets = [row.kind === "embedding" ? withTokenPrice(target) : target];
    return {
      maxImages: defaultMaxImages,
      ...(row.kind === "embedding" && vectorProperties(row.id, targets)),
      ...(row.kind === "embedding" && contextualFlag(targets)),
      ...row,
      targets,
      ...shutdownDate(targets),
      source,
      ownedBy: source === "built-in" ? "vexel" : upstream.kind,
    };
  });

/** A model of the file. Its id may be a model alias: each target has the name of the model at its upstream. */
function configuredModel(
  { targets, ...row }: ModelRow,
  upstreams: ReadonlyMap<string, Upstream>,
  source: Source,
): Model {
  const upstreamAt = (id: string): Upstream => {
    const upstream = upstreams.get(id);
    if (!upstream)
      throw new Error(`model ${row.id} has a target at the upstream ${id}, which does not exist`);
    return upstream;
  };
  const order = orderOf(row.kind, targets);
  const resolved = targets.map(({ upstream, model, ...more }, at): Target => {
    const { surface, via } = more as { surface?: string; via?: string };
    const price = more.price ?? row.price;
    const target = targetLimits(row.id, more.limits, {
      upstream: upstreamAt(upstream),
      model,
      ...(surface === "responses" && { surface }),
      ...(via !== undefined && { via }),
      ...(price && { price }),
      ...order[at],
    });
    return row.kind === "embedding" ? withTokenPrice(target) : target;
  });
  return {
    id: row.id,
    kind: row.kind,
    targets: resolved,
    ...shutdownDate(resolved),
    source,
    ownedBy: resolved[0]?.upstream.kind ?? "vexel",
    ...(row.description !== undefined && { description: row.description }),
    ...(row.timeout !== undefined && { timeoutMs: row.timeout * 1000 }),
    ...(row.storeContent && { storeContentMs: durationMs(row.storeContent.for) }),
    ...modelLimits(row.id, row.limits),
    maxImages: defaultMaxImages,
    ...(row.policy && { policy: row.policy }),
    ...(row.kind === "embedding"
      ? embeddingProperties(row, resolved)
      : imageProperties(row, upstreamAt)),
  };
}

type ModelRow = Config["models"][number];

const embeddingProperties = (
  row: Omit<Extract<ModelRow, { kind: "embedding" }>, "targets">,
  targets: readonly Target[],
): Partial<Model> => ({
  ...vectorProperties(row.id, targets),
  ...(row.dimensions !== undefined && { dimensions: row.dimensions }),
  ...contextualFlag(targets, row.contextual),
  ...(!row.cache && { uncached: true }),
  ...(!row.batch && { unbatched: true }),
  ...(row.tokenArrays !== "decode" && { tokenArrays: row.tokenArrays }),
});

const imageProperties = (
  row: Omit<Extract<ModelRow, { kind: "image" }>, "targets">,
  upstreamAt: (id: string) => Upstream,
): Partial<Model> => ({
  maxImages: row.maxImages,
  ...(row.parameters && { parameters: row.parameters }),
  ...(row.retryPaid && { retryPaid: true }),
  ...(row.onDisconnect && { onDisconnect: row.onDisconnect }),
  ...(row.moderation && {
    moderation: {
      target: targetLimits(row.id, undefined, {
        upstream: upstreamAt(row.moderation.upstream),
        model: row.moderation.model,
        ...(row.moderation.price && { price: row.moderation.price }),
      }),
      onFailure: row.moderation.onFailure,
      timeoutMs: row.moderation.timeout * 1000,
    },
  }),
});

/** The configured value, else derived from the names of the targets: a deployment may have any name. */
const contextualFlag = (
  targets: readonly Target[],
  configured = targets.some(({ model }) => isContextualModel(model)),
): Pick<Model, "contextual"> => (configured ? { contextual: true } : {});

const shutdownDate = (targets: readonly Target[]): Pick<Model, "shutdownDate"> => {
  const date = modelShutdownDate(targets);
  return date === undefined ? {} : { shutdownDate: date };
};

/**
 * Vector space, known model and dimensions, derived from the names of the targets. Configured values override these.
 */
function vectorProperties(id: string, targets: readonly Target[]) {
  const spaces = new Set(targets.map(({ upstream, model }) => vectorSpaceOf(model, upstream.kind)));
  const known = targets.map(({ upstream, model }) => knownEmbedding(model, upstream.kind));
  const [first] = known;
  const [space = ""] = spaces;
  const dimensions = first?.dimensions;
  return {
    // `sameSpace` declares several spaces to be one. It is unknown which, so no other model shares it. The prefix is
    // part of stored cache keys: another one would make every stored vector of such a model a cache miss.
    space: spaces.size > 1 ? `vouched:${id}` : space,
    ...(first && known.every((row) => row === first) && { known: first }),
    ...(dimensions !== undefined &&
      known.every((row) => row?.dimensions === dimensions) && { dimensions }),
  };
}

function freezeAll<V>(map: ReadonlyMap<string, V>): ReadonlyMap<string, V> {
  for (const value of map.values()) deepFreeze(value);
  return map;
}
