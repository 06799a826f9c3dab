// The entry of the single executable, bundled by bin/build-executable.mjs. Like `npm start`, it runs the command line
// with the environment variables that Bun reads at startup; the process replaces its own program (execve).
import environment from "./environment.json" with { type: "json" };

const isPrepared = Object.keys(environment).every((name) => process.env[name] !== undefined);
if (!isPrepared && typeof process.execve === "function") {
  const args = [process.execPath, ...process.argv.slice(2)];
  // Hints name the command as the user typed it (server/process/own-command.ts).
  const command = { VEXEL_COMMAND: process.argv0 };
  process.execve(process.execPath, args, { ...environment, ...process.env, ...command });
}
process.env.VEXEL_COMMAND ??= process.argv0;
await import("../cli/main.ts");
