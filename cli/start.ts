/**
 * The second half of `npm start`: runs the command line with what Bun must know before it starts (bin/environment.json).
 * The process replaces its own program, so nothing of the launcher stays in memory, whatever the version of Node.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const environment: Record<string, string> = JSON.parse(
  readFileSync(join(import.meta.dir, "../bin/environment.json"), "utf8"),
);
const main = join(import.meta.dir, "main.ts");
// npm passes signals to a shell, which may die of them without passing them on: that the shell is gone means stop.
const isBelowNpm = process.env.npm_lifecycle_event !== undefined;
const env = {
  ...environment,
  ...process.env,
  ...(isBelowNpm && { VEXEL_WRAPPER: String(process.ppid) }),
};

if (typeof process.execve === "function" && process.platform !== "win32") {
  const args = [process.execPath, ...process.execArgv, main, ...process.argv.slice(2)];
  process.execve(process.execPath, args, env);
}
// Where a process cannot become another, it goes on with Bun's own defaults.
await import("./main.ts");
