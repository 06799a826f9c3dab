/** vexel setup-link: prints the one-time link that creates the first administrator of the console. */
import { createSetupToken } from "../server/admin/sign-in/setup-token.ts";
import { secretBoxFor } from "../server/wiring/storage.ts";
import { type Command, readArguments, settingsOrUsage, UsageError } from "./command.ts";
import { openUsers } from "./open-stores.ts";
import { writeError, writeOutput } from "./write.ts";

export const setupLink: Command = {
  name: "setup-link",
  summary: "Print the link that creates the first administrator.",
  help: `Usage: vexel setup-link

Prints the link that creates the first administrator of the console, as the startup
message does. It works while there is no user. Needs the data folder (VEXEL_DATA), and
the VEXEL_SECRET and DATABASE_URL of the gateway. The address is VEXEL_PUBLIC_URL, or
PORT on this machine. Exit code 1: there is a user, or the console is off.`,
  run: async (args) => {
    const { positionals } = readArguments(args, {});
    if (positionals.length > 0) {
      throw new UsageError(`unexpected argument "${positionals[0]}".`);
    }
    const settings = settingsOrUsage();
    if (settings.VEXEL_CONSOLE === "off") return refuse("the console is off (VEXEL_CONSOLE=off).");
    const users = await openUsers(settings);
    try {
      if (!(await users.isEmpty())) {
        return refuse("the console has users. An administrator invites more on the page Users.");
      }
    } finally {
      await users.close();
    }
    const scheme = settings.VEXEL_TLS_CERT === "" ? "http" : "https";
    const base = settings.VEXEL_PUBLIC_URL || `${scheme}://127.0.0.1:${settings.PORT}`;
    const { path } = createSetupToken(secretBoxFor(settings));
    writeOutput(`${base.replace(/\/$/, "")}${path}\n`);
    return 0;
  },
};

function refuse(reason: string): number {
  writeError(`vexel setup-link: ${reason}\n`);
  return 1;
}
