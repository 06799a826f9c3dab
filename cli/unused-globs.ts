/** Warns if a new API key may use models that the configuration does not have: most likely a typo. */
import { unusedGlobWarnings } from "../server/config/config-warnings.ts";
import type { Settings } from "../server/settings.ts";
import { configNamedBy } from "./command.ts";
import { loadConfig } from "./load-config.ts";

/** The most model ids that the warning lists. */
const maxListed = 20;

/** Not an error: the model may be added later, and the gateway may run with another configuration. */
export async function warnAboutUnusedGlobs(
  name: string,
  globs: readonly string[],
  settings: Settings,
): Promise<void> {
  if (globs.includes("*")) return;
  const loaded = await loadConfig(settings, configNamedBy("", undefined));
  if (!loaded.ok) return;
  const { models } = loaded.snapshot;
  const warnings = unusedGlobWarnings([{ name, models: globs }], models);
  if (warnings.length === 0) return;
  const ids = [...models.keys()];
  const more = ids.length > maxListed ? ` and ${ids.length - maxListed} more` : "";
  const list = ids.length === 0 ? "none" : `${ids.slice(0, maxListed).join(", ")}${more}`;
  const lines = [...warnings.map((warning) => `warning: ${warning}`), `Models that exist: ${list}`];
  process.stderr.write(lines.map((line) => `${line}.\n`).join(""));
}
