/** The `vexel` command. Exit codes: 0 done, 1 it failed, 2 it was called wrongly. */

import { StoreError } from "../server/store/open-database.ts";
import { check } from "./check.ts";
import { type Command, UsageError } from "./command.ts";
import { keys } from "./keys.ts";
import { models } from "./models.ts";
import { serve } from "./serve.ts";

const commands: readonly Command[] = [serve, check, keys, models];

const overview = `Vexel, an OpenAI-compatible gateway for embeddings and images.

Usage: vexel [command] [options]        (or: npm start -- [command] [options])

Commands:
${commands.map(({ name, summary }) => `  ${name.padEnd(8)} ${summary}`).join("\n")}

Without a command it serves. "vexel <command> --help" tells more of one.
Settings come from the environment; docs/settings.md lists them.
`;

async function main(argv: readonly string[]): Promise<number> {
  const [first, ...others] = argv;
  if (first === "--help" || first === "-h" || first === "help") {
    process.stdout.write(overview);
    return 0;
  }
  if (first === "--version" || first === "-v") {
    const { version } = await import("../package.json");
    process.stdout.write(`${version}\n`);
    return 0;
  }
  const bare = first === undefined || first.startsWith("-");
  const command = bare ? serve : commands.find(({ name }) => name === first);
  if (!command) {
    process.stderr.write(`vexel: there is no command "${first}".\n\n${overview}`);
    return 2;
  }
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

process.exitCode = await main(process.argv.slice(2));
