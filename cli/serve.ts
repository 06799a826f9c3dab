/** vexel serve: runs the gateway until it is told to stop. */
import { run } from "../server/main.ts";
import { type Command, readArguments, settingsOrUsage, UsageError } from "./command.ts";

export const serve: Command = {
  name: "serve",
  summary: "Run the gateway (this is what happens without a command).",
  help: `Usage: vexel serve [--port N] [--host ADDRESS] [--config FILE] [--data FOLDER]

Runs the gateway until it is told to stop (Ctrl-C). Each option stands for the
setting PORT, HOST, VEXEL_CONFIG or VEXEL_DATA; docs/settings.md lists them all.`,
  run: async (args) => {
    const { values, positionals } = readArguments(args, {
      port: { type: "string" },
      host: { type: "string" },
      config: { type: "string" },
      data: { type: "string" },
    });
    if (positionals.length > 0) {
      throw new UsageError(`it does not know what to do with "${positionals[0]}".`);
    }
    const overrides = {
      PORT: values.port,
      HOST: values.host,
      VEXEL_CONFIG: values.config,
      VEXEL_DATA: values.data,
    };
    const settings = settingsOrUsage(overrides);
    const configNamed = Boolean(values.config ?? process.env.VEXEL_CONFIG);
    return run({ settings, configNamed, env: process.env });
  },
};
