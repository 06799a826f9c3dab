/** The command line: finds a command by its name and runs it. Exit codes: 0 success, 1 failure, 2 invalid arguments. */

import { didYouMean } from "../server/lib/edit-distance.ts";
import { GatewayError } from "../server/lib/gateway-error.ts";
import { ownCommand, ownCommandNote } from "../server/process/own-command.ts";
import { StoreError } from "../server/storage/sqlite/open-database.ts";
import { type Command, UsageError } from "./command.ts";
import { writeError, writeOutput } from "./write.ts";

/** Commands are loaded on demand: `vexel keys list` need not load the whole gateway. */
const commands: ReadonlyMap<string, () => Promise<Command>> = new Map([
  ["serve", async (): Promise<Command> => (await import("./serve.ts")).serve],
  ["check", async () => (await import("./check.ts")).check],
  ["keys", async () => (await import("./keys.ts")).keys],
  ["config", async () => (await import("./config.ts")).config],
  ["db", async () => (await import("./db.ts")).db],
  ["setup-link", async () => (await import("./setup-link.ts")).setupLink],
  ["models", async () => (await import("./models.ts")).models],
  ["import", async () => (await import("./import.ts")).importCommand],
  ["export", async () => (await import("./export.ts")).exportCommand],
  ["embed", async () => (await import("./embed.ts")).embed],
]);

async function overview(): Promise<string> {
  const all = await Promise.all([...commands.values()].map((load) => load()));
  return `Vexel, an OpenAI-compatible gateway for embeddings and images.

Usage: ${ownCommand("[command] [options]")}

Commands:
${all.map(({ name, summary }) => `  ${name.padEnd(10)} ${summary}`).join("\n")}

Without a command, "serve" runs. "${ownCommand("<command> --help")}" describes a command.
Settings are environment variables; docs/settings.md lists them.
`;
}

/** Returns the exit code. */
export async function runCommand(argv: readonly string[]): Promise<number> {
  const [first, ...others] = argv;
  if (first === "help" || isHelpOption(first)) {
    writeOutput(await overview());
    return 0;
  }
  if (first === "--version" || first === "-v") {
    const { version } = await import("../package.json");
    writeOutput(`${version}\n`);
    return 0;
  }
  const isServe = first === undefined || first.startsWith("-");
  const name = isServe ? "serve" : first;
  const load = commands.get(name);
  if (!load) {
    const meant = didYouMean(name, commands.keys(), (known) => JSON.stringify(known));
    const hint = `"${ownCommand("help")}" lists the commands.`;
    writeError(`vexel: unknown command "${name}"${meant}. ${hint}\n`);
    return 2;
  }
  const command = await load();
  const args = isServe ? argv : others;
  if (args.some(isHelpOption)) {
    writeOutput(`${command.help}\n${ownCommandNote()}`);
    return 0;
  }
  try {
    return await command.run(args);
  } catch (error) {
    if (error instanceof StoreError || isStorageUnavailable(error)) {
      writeError(`vexel ${command.name}: ${error.message}\n`);
      return 1;
    }
    if (!(error instanceof UsageError)) throw error;
    const message = error.message.replace(/\.?$/, ".");
    writeError(`vexel ${command.name}: ${message} ${hintFor(error, command)}\n`);
    return 2;
  }
}

const hintFor = ({ about }: UsageError, { name }: Command): string =>
  about === "settings"
    ? "docs/settings.md describes the settings."
    : `Run "${ownCommand(`${name} --help`)}" for help.`;

const isHelpOption = (argument: string | undefined): boolean =>
  argument === "--help" || argument === "-h";

const isStorageUnavailable = (error: unknown): error is GatewayError =>
  error instanceof GatewayError && error.kind === "storage_unavailable";
