/** vexel models: lists the models that a gateway with this configuration serves. */
import { describeProblems } from "../server/config/yaml/problem.ts";
import {
  type Command,
  configNamedBy,
  readArguments,
  settingsOrUsage,
  table,
  UsageError,
} from "./command.ts";
import { loadConfig } from "./load-config.ts";
import { writeError, writeOutput } from "./write.ts";

export const models: Command = {
  name: "models",
  summary: "List the models of this configuration and their targets.",
  help: `Usage: vexel models [--config FILE] [--json]

Lists the models of the configuration file, the stored models (in the database or the
data folder), the models of providers whose API key is in the environment, and the
built-in models. Exit code 1: the configuration is invalid.`,
  run: async (args) => {
    const { values, positionals } = readArguments(args, {
      config: { type: "string" },
      json: { type: "boolean" },
    });
    if (positionals.length > 0) {
      throw new UsageError(`unexpected argument "${positionals[0]}".`);
    }
    const settings = settingsOrUsage({ VEXEL_CONFIG: values.config });
    const loaded = await loadConfig(settings, configNamedBy("--config", values.config));
    if (!loaded.ok) {
      writeError(`${describeProblems(loaded.problems)}\n`);
      return 1;
    }
    const rows = [...loaded.snapshot.models.values()].map((model) => ({
      id: model.id,
      kind: model.kind,
      source: model.source,
      targets: model.targets.map(({ upstream, model: name }) => `${upstream.id}:${name}`),
      ...(model.description !== undefined && { description: model.description }),
    }));
    const text = values.json
      ? JSON.stringify(rows, null, 2)
      : table([
          ["MODEL", "KIND", "SOURCE", "TARGETS"],
          ...rows.map(({ id, kind, source, targets }) => [id, kind, source, targets.join(", ")]),
        ]);
    writeOutput(`${text}\n`);
    // The warnings say why there are no models.
    for (const warning of rows.length === 0 ? loaded.warnings : []) {
      writeError(`warning: ${warning}\n`);
    }
    return 0;
  },
};
