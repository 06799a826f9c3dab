/** Builds a config snapshot from all sources. Config precedence: file, store, environment, built-in models. */

import { missingLib } from "../../lib/executable.ts";
import type { Snapshot } from "../snapshot.ts";
import { type FromEnvironment, fromEnvironment } from "../sources/environment-source.ts";
import { describeLeftOut, emptyStoredConfig, type StoredConfig } from "../sources/stored-config.ts";
import type { InspectFolder } from "../validate/validate-references.ts";
import type { Environment } from "../yaml/parse-yaml.ts";
import type { Problem } from "../yaml/problem.ts";
import type { YamlConfig } from "../yaml/read-yaml.ts";
import { readYaml } from "../yaml/yaml-file.ts";
import { buildSnapshot } from "./build-snapshot.ts";
import { missingPartWarnings } from "./config-warnings.ts";
import { mergeStored } from "./merge-stored.ts";
import { StoredKeys } from "./stored-keys.ts";

export interface LoadOptions {
  readonly path: string;
  /** The setting or option that names the file: it must exist. Absent: the path is the default. */
  readonly namedBy?: string | undefined;
  readonly env: Environment;
  readonly stored?: StoredConfig;
  readonly storedKeys?: StoredKeys;
  readonly version?: number;
  /** Unix milliseconds, to compare the shutdown dates of models with. Absent: none has passed. */
  readonly now?: number;
  /** Checks the folders of local models, so that a problem shows before the first request. */
  readonly inspectFolder?: InspectFolder;
}

export interface LoadedSnapshot {
  readonly ok: true;
  readonly snapshot: Snapshot;
  readonly warnings: readonly string[];
}

export type Loaded = LoadedSnapshot | { readonly ok: false; readonly problems: readonly Problem[] };

/** All of which a snapshot is composed, besides the built-in models, in the order of precedence. */
export interface Sources {
  readonly yaml: YamlConfig;
  readonly stored: StoredConfig;
  readonly environment: FromEnvironment;
  readonly storedKeys: StoredKeys;
}

interface ComposeOptions {
  readonly version: number;
  readonly now: LoadOptions["now"] | undefined;
  readonly inspectFolder: InspectFolder | undefined;
}

/** Reads the file and the environment. */
export function loadSnapshot(options: LoadOptions): Loaded {
  const { path, namedBy, env, version = 1, now, inspectFolder } = options;
  const environment = fromEnvironment(env, now);
  const provisioned = environment.upstreams;
  const yaml = readYaml({ path, namedBy, env, provisioned, inspectFolder });
  if (!yaml.ok) return yaml;
  const { stored = emptyStoredConfig, storedKeys = StoredKeys.empty } = options;
  const sources = { yaml, environment, stored, storedKeys };
  return composeSnapshot(sources, { version, now, inspectFolder });
}

export function composeSnapshot(
  { yaml, environment, stored, storedKeys }: Sources,
  { version, now, inspectFolder }: ComposeOptions,
): LoadedSnapshot {
  const provisioned = environment.upstreams;
  const { config, leftOut, originAt } = mergeStored(yaml, stored, { provisioned, inspectFolder });
  const built = buildSnapshot({
    version,
    config,
    environment: provisioned,
    storedKeys,
    originAt,
    ...(now !== undefined && { now }),
  });
  // A provider that is configured needs no warning.
  const isConfigured = (id: string) => config.upstreams.some((upstream) => upstream.id === id);
  const environmentWarnings = config.environment
    ? environment.warnings.filter(({ id }) => !isConfigured(id))
    : [];
  const warnings = [
    ...missingPartWarnings(built.snapshot, missingLib),
    ...environmentWarnings.map(({ message }) => message),
    ...leftOut.map(describeLeftOut),
    ...built.warnings,
  ];
  return { ok: true, snapshot: built.snapshot, warnings };
}
