/** Checks the project and the models that a new API key names against the configuration: most likely a typo. */
import {
  unknownReferenceWarnings,
  unusedGlobWarnings,
} from "../server/config/build/config-warnings.ts";
import type { Model } from "../server/config/snapshot.ts";
import { didYouMean } from "../server/lib/edit-distance.ts";
import type { Settings } from "../server/settings.ts";
import type { KeyUpdate } from "../server/storage/sql/stored-key.ts";
import { configNamedBy, UsageError } from "./command.ts";
import { loadConfig } from "./load-config.ts";
import { writeError } from "./write.ts";

/** The most model ids that the warning lists. */
const maxListed = 20;

/**
 * Warns about unknown models: they may be added later, and the gateway may run with another configuration. Refuses an
 * unknown project, without whose limits and budget the key would work. Does nothing if the configuration has an error.
 */
export async function checkKeyReferences(
  { name, models: globs, project, defaults = {} }: KeyUpdate,
  settings: Settings,
): Promise<void> {
  if (globs.includes("*") && project === undefined && Object.keys(defaults).length === 0) return;
  const loaded = await loadConfig(settings, configNamedBy("", undefined));
  if (!loaded.ok) return;
  const { models, projects } = loaded.snapshot;
  if (project !== undefined && !projects?.has(project)) {
    const names = [...(projects?.keys() ?? [])];
    throw new UsageError(
      `--project is ${JSON.stringify(project)}, but there is no such project${didYouMean(project, names, (each) => each)}. Create it first, in the console or in vexel.yaml.`,
    );
  }
  const warnings = [
    ...unusedGlobWarnings([{ name, models: globs }], models),
    ...unknownReferenceWarnings([{ name, defaults }], loaded.snapshot),
  ];
  if (warnings.length > 0) writeWarnings(warnings, models);
}

function writeWarnings(warnings: readonly string[], models: ReadonlyMap<string, Model>): void {
  const ids = [...models.keys()];
  const more = ids.length > maxListed ? ` and ${ids.length - maxListed} more` : "";
  const list = ids.length === 0 ? "none" : `${ids.slice(0, maxListed).join(", ")}${more}`;
  const lines = [...warnings.map((warning) => `warning: ${warning}`), `Models that exist: ${list}`];
  writeError(lines.map((line) => `${line}.\n`).join(""));
}
