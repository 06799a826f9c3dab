/** The `vexel` command. */
import { errorStack } from "../server/lib/error-code.ts";
import { runCommand } from "./run-command.ts";
import { writeError } from "./write.ts";

/**
 * The gateway installs a handler of uncaught exceptions, so an unhandled rejection here would end the process with exit
 * code 0.
 */
function reportFailure(error: unknown): number {
  writeError(`${errorStack(error)}\n`);
  return 1;
}

process.exitCode = await runCommand(process.argv.slice(2)).catch(reportFailure);
// Work that was abandoned, such as requests in flight after the drain timeout, must not keep the process alive.
setTimeout(() => process.exit(), 500).unref();
