#!/usr/bin/env node
// The `vexel` command: sees that everything is installed, then hands over to Bun.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { bunPath, ensureInstalled, root } from "./install.mjs";

ensureInstalled("run");
const bun = bunPath();
// --no-install: Bun must never fetch a missing package by itself.
const args = ["--no-install", join(root, "cli", "main.ts"), ...process.argv.slice(2)];
// What Bun must be told before it starts: to make more than 256 calls to upstreams at once; to look through all of its
// memory a little more often, so that less lies about under load; and to keep what was given back for a tenth of a second
// before it is the system's again, as asking for it anew costs more than a small call.
const env = {
  ...JSON.parse(readFileSync(join(root, "bin", "environment.json"), "utf8")),
  ...process.env,
};

// Under `npm start` a shell stands between npm and us. It dies of a signal without a word to us,
// so its absence is what tells that we are to stop.
const shell = process.env.npm_lifecycle_event === undefined ? undefined : process.ppid;

if (typeof process.execve === "function" && process.platform !== "win32") {
  // Becomes Bun: one process less, and signals need no forwarding.
  process.execve(bun, [bun, ...args], shell ? { ...env, VEXEL_WRAPPER: String(shell) } : env);
}
// Told who its wrapper is, the gateway stops when the wrapper is gone.
const child = spawn(bun, args, {
  stdio: "inherit",
  env: { ...env, VEXEL_WRAPPER: String(process.pid) },
});
if (shell !== undefined) {
  setInterval(() => {
    if (process.ppid !== shell) child.kill("SIGTERM");
  }, 500).unref();
}
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  process.stderr.write(`Bun could not be started: ${error.message}\n`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  }
  process.exit(code ?? 1);
});
