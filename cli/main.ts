/** The `vexel` command. Exit codes: 0 done, 1 it failed, 2 it was called wrongly. */

import { StoreError } from "../server/storage/open-database.ts";
import { type Command, UsageError } from "./command.ts";

/** Each is loaded when it is called for: whoever lists keys need not wait for the whole gateway. */
const commands: ReadonlyMap<string, () => Promise<Command>> = new Map([
  ["serve", async (): Promise<Command> => (await import("./serve.ts")).serve],
  ["check", async () => (await import("./check.ts")).check],
  ["keys", async () => (await import("./keys.ts")).keys],
  ["models", async () => (await import("./models.ts")).models],
]);

async function overview(): Promise<string> {
  const all = await Promise.all([...commands.values()].map((load) => load()));
  return `Vexel, an OpenAI-compatible gateway for embeddings and images.

Usage: vexel [command] [options]        (or: npm start -- [command] [options])

Commands:
${all.map(({ name, summary }) => `  ${name.padEnd(8)} ${summary}`).join("\n")}

Without a command it serves. "vexel <command> --help" tells more of one.
Settings come from the environment; docs/settings.md lists them.
`;
}

async function main(argv: readonly string[]): Promise<number> {
  const [first, ...others] = argv;
  if (first === "--help" || first === "-h" || first === "help") {
    process.stdout.write(await overview());
    return 0;
  }
  if (first === "--version" || first === "-v") {
    const { version } = await import("../package.json");
    process.stdout.write(`${version}\n`);
    return 0;
  }
  const bare = first === undefined || first.startsWith("-");
  const load = commands.get(bare ? "serve" : first);
  if (!load) {
    process.stderr.write(`vexel: there is no command "${first}".\n\n${await overview()}`);
    return 2;
  }
  const command = await load();
  const args = bare ? argv : others;
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(`${command.help}\n`);
    return 0;
  }
  try {
    return await command.run(args);
  } catch (error) {
    if (error instanceof StoreError) {
      process.stderr.write(`vexel ${command.name}: ${error.message}\n`);
      return 1;
    }
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`vexel ${command.name}: ${error.message}\n\n${command.help}\n`);
    return 2;
  }
}

/** A gateway listens for uncaught exceptions, and then a rejection here would end the process as if all were well. */
function failed(error: unknown): number {
  const words = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`${words}\n`);
  return 1;
}

process.exitCode = await main(process.argv.slice(2)).catch(failed);
// What was given up, such as calls in hand when the time to stop was over, must not keep the process.
setTimeout(() => process.exit(), 500).unref();
