/**
 * The second half of `npm start`: runs the CLI with the environment variables that Bun reads at startup
 * (bin/environment.json). The process replaces its own program (execve), so the launcher does not stay in memory.
 * It runs in Bun, so this does not depend on the version of Node.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const environment: Record<string, string> = JSON.parse(
  readFileSync(join(import.meta.dir, "../bin/environment.json"), "utf8"),
);
const main = join(import.meta.dir, "main.ts");
// npm sends signals to a shell, which may exit without forwarding them. So the gateway stops when the shell is gone.
const isBelowNpm = process.env.npm_lifecycle_event !== undefined;
const env = {
  ...environment,
  ...process.env,
  ...(isBelowNpm && { VEXEL_WRAPPER: String(process.ppid), VEXEL_COMMAND: "npm start --" }),
};

if (typeof process.execve === "function" && process.platform !== "win32") {
  const args = [process.execPath, ...process.execArgv, main, ...process.argv.slice(2)];
  process.execve(process.execPath, args, env);
}
// Without execve, the process continues with Bun's defaults.
await import("./main.ts");
