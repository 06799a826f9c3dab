/** Warnings about API keys that name models or projects that do not exist. */
import { matchesGlob } from "../lib/glob.ts";
import type { Key, Model, Snapshot } from "./snapshot.ts";

/** The most warnings about stored keys. There may be 100,000 keys in a project that was removed. */
const maxWarnings = 20;

/** Globs of keys in the file that match no model are usually a mistake. */
export function unusedGlobWarnings(
  keys: ReadonlyMap<string, Key>,
  models: ReadonlyMap<string, Model>,
): string[] {
  const ids = [...models.keys()];
  const isUnused = (glob: string) => !models.has(glob) && !ids.some((id) => matchesGlob(glob, id));
  return [...keys.values()].flatMap(({ name, models: globs }) =>
    globs
      .filter(isUnused)
      .map((glob) => `the key ${JSON.stringify(name)} may use ${glob}, but no model id matches it`),
  );
}

/**
 * Stored keys refer to projects and models that may not exist. Such a key has no project limits and no project budget,
 * or no default model of its own. In the file, these references are errors.
 */
export function unknownReferenceWarnings(
  keys: Iterable<Key>,
  { projects, models }: Pick<Snapshot, "projects" | "models">,
): string[] {
  const warnings: string[] = [];
  let more = 0;
  const add = (warning: string): void => {
    if (warnings.length < maxWarnings) warnings.push(warning);
    else more += 1;
  };
  for (const { name, project, defaults = {} } of keys) {
    if (project !== undefined && !projects?.has(project)) {
      add(
        `the key ${JSON.stringify(name)} belongs to the project ${JSON.stringify(project)}, which does not exist: only the key's own limits and budget apply`,
      );
    }
    for (const [kind, id] of Object.entries(defaults)) {
      if (models.get(id)?.kind === kind) continue;
      add(
        `the key ${JSON.stringify(name)} has the default ${kind} model ${JSON.stringify(id)}, but there is no ${kind} model of that name: the defaults of the configuration apply`,
      );
    }
  }
  if (more > 0) warnings.push(`${more} more warnings of this kind about stored keys`);
  return warnings;
}
