/** Everything that is configured, from whatever source -> one frozen snapshot. Above wins: file, environment, embedded. */
import { freeze } from "../std/freeze.ts";
import { FrozenMap } from "../std/frozen-map.ts";
import { matches } from "../std/glob.ts";
import { keyHash } from "../std/key-hash.ts";
import { knownEmbedding, spaceOf } from "../upstream/catalogue/index.ts";
import type { Target, Upstream } from "../upstream/contract.ts";
import type { Provided } from "./provision.ts";
import type { Config } from "./read.ts";
import type { Key, Model, Snapshot, Source } from "./snapshot.ts";

export interface Parts {
  readonly version: number;
  readonly config: Config;
  readonly environment: readonly Provided[];
  readonly embedded: readonly Provided[];
  readonly storedKeys: readonly Key[];
}

export interface Built {
  readonly snapshot: Snapshot;
  readonly warnings: readonly string[];
}

const mostImages = 10;

export function build({ version, config, environment, embedded, storedKeys }: Parts): Built {
  const upstreams = new Map<string, Upstream>(config.upstreams.map((row) => [row.id, row]));
  const provided = [
    ...(config.environment ? environment.map((row) => [row, "environment"] as const) : []),
    ...(config.embedded ? embedded.map((row) => [row, "embedded"] as const) : []),
    // Who names an upstream in the file says there what it serves.
  ].filter(([{ upstream }]) => !upstreams.has(upstream.id));
  for (const [{ upstream }] of provided) upstreams.set(upstream.id, upstream);

  const models = new Map<string, Model>();
  for (const row of config.models) models.set(row.id, fileModel(row, upstreams));
  for (const [row, source] of provided)
    for (const model of providedModels(row, source))
      if (!models.has(model.id)) models.set(model.id, model);

  const fileKeys = config.keys.map(({ name, key, models: globs }): Key => {
    return { id: `file:${name}`, name, hash: keyHash(key), models: globs, source: "file" };
  });
  const snapshot = {
    version,
    upstreams: new FrozenMap(freezeAll(upstreams)),
    models: new FrozenMap(freezeAll(models)),
    keys: keyring(fileKeys, storedKeys),
  };
  return { snapshot: Object.freeze(snapshot), warnings: idleGlobs(snapshot) };
}

/** The same snapshot with other keys from the store. The file need not be read for it, and may be bad or gone. */
export const withStoredKeys = (current: Snapshot, storedKeys: readonly Key[]): Snapshot =>
  Object.freeze({
    ...current,
    version: current.version + 1,
    keys: keyring(
      [...current.keys.values()].filter(({ source }) => source !== "store"),
      storedKeys,
    ),
  });

/** By hash. What the file says of a key wins. */
function keyring(fileKeys: readonly Key[], stored: readonly Key[]): ReadonlyMap<string, Key> {
  const copies = stored.map((key): Key => ({ ...key, models: [...key.models] }));
  return new FrozenMap([...copies, ...fileKeys].map((key) => [key.hash, freeze(key)]));
}

const providedModels = ({ upstream, models }: Provided, source: Source): Model[] =>
  models.map(({ name, ...row }) => {
    const targets = [{ upstream, model: name }];
    return {
      maxImages: mostImages,
      ...(row.kind === "embedding" && vectorsOf(row.id, targets)),
      ...row,
      targets,
      source,
      ownedBy: source === "embedded" ? "vexel" : upstream.kind,
    };
  });

function fileModel(
  { targets, ...row }: Config["models"][number],
  upstreams: ReadonlyMap<string, Upstream>,
): Model {
  const resolved = targets.map(({ upstream: id, model }) => {
    const upstream = upstreams.get(id);
    if (!upstream) throw new Error(`model ${row.id} has a target at ${id}, which is not there`);
    return { upstream, model };
  });
  return {
    id: row.id,
    kind: row.kind,
    targets: resolved,
    source: "file",
    ownedBy: resolved[0]?.upstream.kind ?? "vexel",
    ...(row.description !== undefined && { description: row.description }),
    ...(row.kind === "embedding" && vectorsOf(row.id, resolved)),
    ...(row.kind === "embedding" && row.dimensions !== undefined && { dimensions: row.dimensions }),
    ...(row.kind === "embedding" && !row.cache && { uncached: true }),
    ...(row.kind === "embedding" && !row.batch && { unbatched: true }),
    maxImages: row.kind === "image" ? row.maxImages : mostImages,
  };
}

/** What the names of an embedding model's targets say of its vectors. What the configuration says itself comes after. */
function vectorsOf(id: string, targets: readonly Target[]) {
  const spaces = new Set(targets.map(({ upstream, model }) => spaceOf(model, upstream.kind)));
  const known = targets.map(({ upstream, model }) => knownEmbedding(model, upstream.kind));
  const [first] = known;
  const [space = ""] = spaces;
  const dimensions = first?.dimensions;
  return {
    // Of several the author vouches that they are one. Which one nobody knows, so it is no other model's.
    space: spaces.size > 1 ? `vouched:${id}` : space,
    ...(first && known.every((row) => row === first) && { known: first }),
    ...(dimensions !== undefined &&
      known.every((row) => row?.dimensions === dimensions) && { dimensions }),
  };
}

const freezeAll = <V>(map: ReadonlyMap<string, V>): [string, V][] =>
  [...map].map(([id, value]) => [id, freeze(value)]);

/** A glob that lets a key use nothing is more often a slip than a plan. */
function idleGlobs({ keys, models }: Snapshot): string[] {
  const ids = [...models.keys()];
  const idle = (glob: string) => !models.has(glob) && !ids.some((id) => matches(glob, id));
  return [...keys.values()]
    .filter(({ source }) => source === "file")
    .flatMap(({ name, models: globs }) =>
      globs
        .filter(idle)
        .map(
          (glob) => `the key ${JSON.stringify(name)} may use ${glob}, but no model has such an id`,
        ),
    );
}
