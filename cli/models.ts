/** vexel models: what a gateway with this configuration serves. */
import { existsSync } from "node:fs";
import { loadSnapshot } from "../server/config/load-snapshot.ts";
import { describeProblems } from "../server/config/problem.ts";
import { isMiganInstalled } from "../server/workers/inpainting/migan.ts";
import { type Command, readArguments, settingsOrUsage, table, UsageError } from "./command.ts";

export const models: Command = {
  name: "models",
  summary: "List the models this configuration serves, and where each goes.",
  help: `Usage: vexel models [--config FILE] [--json]

Lists the models of the configuration, of the environment's provider keys and the
embedded ones. Exit code 1 when the configuration is not valid.`,
  run: async (args) => {
    const { values, positionals } = readArguments(args, {
      config: { type: "string" },
      json: { type: "boolean" },
    });
    if (positionals.length > 0) {
      throw new UsageError(`it does not know what to do with "${positionals[0]}".`);
    }
    const settings = settingsOrUsage({ VEXEL_CONFIG: values.config });
    const path = settings.VEXEL_CONFIG;
    const required = existsSync(path) || Boolean(values.config ?? process.env.VEXEL_CONFIG);
    const loaded = loadSnapshot({
      path,
      required,
      env: process.env,
      migan: isMiganInstalled(),
      now: Date.now(),
    });
    if (!loaded.ok) {
      process.stderr.write(`${describeProblems(loaded.problems)}\n`);
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
          ["MODEL", "KIND", "FROM", "TARGETS"],
          ...rows.map(({ id, kind, source, targets }) => [id, kind, source, targets.join(", ")]),
        ]);
    process.stdout.write(`${text}\n`);
    return 0;
  },
};
