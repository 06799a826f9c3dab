/** vexel serve: runs the gateway until a signal stops it. */
import { run } from "../server/main.ts";
import { workerVariable } from "../server/process/worker-process.ts";
import {
  type Command,
  configNamedBy,
  readArguments,
  settingsOrUsage,
  UsageError,
} from "./command.ts";

export const serve: Command = {
  name: "serve",
  summary: "Run the gateway. This is the default command.",
  help: `Usage: vexel serve [--port N] [--host ADDRESS] [--config FILE] [--data FOLDER]

Runs the gateway until it receives a signal to stop (Ctrl-C). The options override the
settings PORT, HOST, VEXEL_CONFIG and VEXEL_DATA; docs/settings.md lists all settings.`,
  run: async (args) => {
    const { values, positionals } = readArguments(args, {
      port: { type: "string" },
      host: { type: "string" },
      config: { type: "string" },
      data: { type: "string" },
    });
    if (positionals.length > 0) {
      throw new UsageError(`unexpected argument "${positionals[0]}".`);
    }
    // A worker has the port and the folder that its supervisor gives it.
    const isWorker = process.env[workerVariable] !== undefined;
    const overrides = {
      ...(!isWorker && { PORT: values.port, VEXEL_DATA: values.data }),
      HOST: values.host,
      VEXEL_CONFIG: values.config,
    };
    const settings = settingsOrUsage(overrides);
    const namedBy = configNamedBy("--config", values.config);
    return run({ settings, configNamedBy: namedBy, env: process.env });
  },
};
