/** Composes a config snapshot from all sources. Config precedence: file, store, environment, built-in models. */

import { missingLib } from "../../lib/executable.ts";
import { runAtOnce } from "../../lib/tasks.ts";
import type { StoredEntity } from "../../storage/sql/config-entity-store.ts";
import { type EntityView, EntityViews } from "../entities/entity-views.ts";
import type { Snapshot } from "../snapshot.ts";
import { type FromEnvironment, fromEnvironment } from "../sources/environment-source.ts";
import {
  describeLeftOut,
  emptyStoredConfig,
  type LeftOutEntity,
  type StoredConfig,
} from "../sources/stored-config.ts";
import type { InspectFolder } from "../validate/validate-references.ts";
import type { Environment } from "../yaml/parse-yaml.ts";
import type { Problem } from "../yaml/problem.ts";
import type { YamlConfig } from "../yaml/read-config.ts";
import { readYaml } from "../yaml/yaml-file.ts";
import { buildSnapshot, FileKeys } from "./build-snapshot.ts";
import { configWarnings, missingPartWarnings } from "./config-warnings.ts";
import { EntityResolver, type ResolvedEntities } from "./resolve-entities.ts";
import { StoredKeys } from "./stored-keys.ts";

export interface SourceOptions {
  readonly path: string;
  /** The setting or option that names the file: it must exist. If absent, the path is the default. */
  readonly namedBy?: string | undefined;
  readonly env: Environment;
  /** Unix milliseconds, to compare the shutdown dates of models with. If absent, none has passed. */
  readonly now?: number;
  /** Checks the folders of local models, so that a problem shows before the first request. */
  readonly inspectFolder?: InspectFolder | undefined;
}

export interface LoadOptions extends SourceOptions {
  readonly stored?: StoredConfig;
  readonly storedKeys?: StoredKeys;
}

/** All of which a snapshot is composed, besides the built-in models, in the order of precedence. */
export interface Sources {
  readonly yaml: YamlConfig;
  readonly stored: StoredConfig;
  readonly environment: FromEnvironment;
  readonly storedKeys: StoredKeys;
}

export interface Composition {
  readonly sources: Sources;
  readonly snapshot: Snapshot;
  /** The stored keys with the limits and budgets of their projects. */
  readonly storedKeys: StoredKeys;
  readonly warnings: readonly string[];
  /** The entities of all sources, with their origins and problems. */
  readonly entities: readonly EntityView[];
  /** The stored entities that are not in force. */
  readonly leftOut: readonly LeftOutEntity[];
}

export type Loaded =
  | ({ readonly ok: true } & Pick<Composition, "snapshot" | "warnings">)
  | { readonly ok: false; readonly problems: readonly Problem[] };

interface ComposeOptions {
  readonly version: number;
  /** Unix milliseconds, to compare shutdown dates with. If undefined, there are no warnings about them. */
  readonly now: LoadOptions["now"] | undefined;
}

/** Reads the environment and the file, which may refer to what the environment provisions. */
export function readSources({ env, now, ...file }: SourceOptions) {
  const environment = fromEnvironment(env, now);
  const yaml = readYaml({ ...file, env, provisioned: environment.upstreams });
  return yaml.ok ? ({ ok: true, yaml, environment } as const) : yaml;
}

export function loadSnapshot(options: LoadOptions): Loaded {
  const read = readSources(options);
  if (!read.ok) return read;
  const { stored = emptyStoredConfig, storedKeys = StoredKeys.empty } = options;
  const sources = { ...read, stored, storedKeys };
  const composer = new Composer(options.inspectFolder);
  const composed = runAtOnce(composer.compose(sources, { version: 1, now: options.now }));
  return { ok: true, snapshot: composed.snapshot, warnings: composed.warnings };
}

/**
 * Composes one snapshot after the other, in steps between which the gateway serves requests. An entity that has not
 * changed since the last snapshot is neither validated nor built again.
 */
export class Composer {
  readonly #resolver: EntityResolver;
  readonly #fileKeys = new FileKeys();
  readonly #views = new EntityViews();

  constructor(inspectFolder: InspectFolder | undefined) {
    this.#resolver = new EntityResolver(inspectFolder);
  }

  /** The entities as they would be in force with these stored ones. */
  resolve(
    sources: Pick<Sources, "yaml" | "environment">,
    stored: readonly StoredEntity[],
  ): Generator<void, ResolvedEntities> {
    return this.#resolver.resolve({ ...sources, stored: { entities: stored, leftOut: [] } });
  }

  *compose(sources: Sources, { version, now }: ComposeOptions): Generator<void, Composition> {
    const { yaml, stored, environment } = sources;
    const entities = yield* this.#resolver.resolve(sources);
    const { projects } = entities;
    const fileKeys = yield* this.#fileKeys.resolve(yaml.config.keys, projects);
    const storedKeys = yield* sources.storedKeys.withProjects(projects);
    yield;
    const snapshot = buildSnapshot({ version, yaml, entities, fileKeys, storedKeys });
    yield;
    // A provider that is configured needs no warning.
    const isConfigured = (id: string) =>
      entities.upstreams.has(id) && !entities.provisioned.has(`upstream ${id}`);
    const environmentWarnings = yaml.config.environment
      ? environment.warnings.filter(({ id }) => !isConfigured(id))
      : [];
    const { leftOut } = entities;
    const warnings = [
      ...missingPartWarnings(snapshot, missingLib),
      ...environmentWarnings.map(({ message }) => message),
      ...leftOut.map(describeLeftOut),
      ...(yield* configWarnings(snapshot, storedKeys, now)),
    ];
    yield;
    const views = yield* this.#views.of({ yaml, entities, stored });
    return { sources, snapshot, storedKeys, warnings, entities: views, leftOut };
  }
}
