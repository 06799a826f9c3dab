/**
 * Entry point of the configuration: the file (optional), the environment and the store -> a config snapshot, or all
 * problems.
 */
import { buildSnapshot } from "./build-snapshot.ts";
import { embedded } from "./embedded.ts";
import { fromEnvironment } from "./environment.ts";
import { fileText } from "./file-text.ts";
import type { Environment } from "./parse-yaml.ts";
import { aboutFile, type Problem } from "./problem.ts";
import { readConfig } from "./read-yaml.ts";
import type { Snapshot } from "./snapshot.ts";
import { StoredKeys } from "./stored-keys.ts";
import type { InspectFolder } from "./validate-references.ts";

export interface LoadOptions {
  readonly path: string;
  /** The file was named explicitly, so its absence is a problem. */
  readonly required?: boolean;
  readonly env: Environment;
  readonly storedKeys?: StoredKeys;
  /** Whether the optional inpainting model is installed. */
  readonly migan?: boolean;
  readonly version?: number;
  /** Unix milliseconds, to compare the end dates of models with. Absent: none has passed. */
  readonly now?: number;
  /** Checks the folders of local models, so that a problem shows before the first request. */
  readonly inspectFolder?: InspectFolder;
}

export type Loaded =
  | { readonly ok: true; readonly snapshot: Snapshot; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly problems: readonly Problem[] };

export function loadSnapshot(options: LoadOptions): Loaded {
  const {
    path: file,
    env,
    storedKeys = StoredKeys.empty,
    migan = false,
    version = 1,
    now,
  } = options;
  const { text, error } = fileText(file);
  if (error !== undefined) return { ok: false, problems: [aboutFile(file, error)] };
  if (text === undefined && options.required)
    return { ok: false, problems: [aboutFile(file, "does not exist")] };
  const environment = fromEnvironment(env, now);
  const embeddedModels = embedded({ migan });
  const provisioned = { environment: environment.upstreams, embedded: embeddedModels };
  const read = readConfig({
    text: text ?? "",
    file,
    env,
    provisioned,
    ...(options.inspectFolder && { inspectFolder: options.inspectFolder }),
  });
  if (!read.ok) return read;
  const { config } = read;
  const built = buildSnapshot({
    version,
    config,
    environment: environment.upstreams,
    embedded: embeddedModels,
    storedKeys,
    ...(now !== undefined && { now }),
  });
  // A provider that the file configures needs no warning.
  const isInFile = (id: string) => config.upstreams.some((upstream) => upstream.id === id);
  const environmentWarnings = config.environment
    ? environment.warnings.filter(({ id }) => !isInFile(id))
    : [];
  const warnings = [...environmentWarnings.map(({ message }) => message), ...built.warnings];
  return { ok: true, snapshot: built.snapshot, warnings };
}
