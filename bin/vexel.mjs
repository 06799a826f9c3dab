#!/usr/bin/env node
// The `vexel` command where `bin/vexel` leaves it to Node: installs missing dependencies, then runs the CLI with Bun.
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { basename, delimiter, dirname, join, relative } from "node:path";
import { bunPath, ensureInstalled, root } from "./install.mjs";

ensureInstalled("run");
const bun = bunPath();
// --no-install: Bun must never download a missing package by itself.
const args = ["--no-install", join(root, "cli", "main.ts"), ...process.argv.slice(2)];
// Variables that Bun reads at startup: allow more than 256 concurrent upstream requests; run full garbage collections
// more often, so that less garbage accumulates under load; and keep freed memory for half a second before it is
// returned to the system, because allocating it again costs more than a small request.
const env = {
  ...JSON.parse(readFileSync(join(root, "bin", "environment.json"), "utf8")),
  ...process.env,
  // Hints name the command that the user ran (server/process/own-command.ts). `bin/vexel` passes its own path.
  VEXEL_COMMAND: ownCommand(process.env.VEXEL_COMMAND || process.argv[1] || ""),
};

// Under npx and in an npm script the parent process is a shell. It exits on a signal without forwarding it, so the
// gateway stops when the shell is gone.
const shell = process.env.npm_lifecycle_event === undefined ? undefined : process.ppid;

if (typeof process.execve === "function" && process.platform !== "win32") {
  // Replaces this process by Bun: one process less, and signals need no forwarding.
  process.execve(bun, [bun, ...args], shell ? { ...env, VEXEL_WRAPPER: String(shell) } : env);
}
// The gateway stops when the process VEXEL_WRAPPER is gone.
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

/** The command that the user ran: `npx vexel`, `vexel`, a path, or `node bin/vexel.mjs`. */
function ownCommand(script) {
  if (process.env.npm_lifecycle_event !== undefined) return `npx ${npxPackage(script)}`;
  const folders = (process.env.PATH ?? "").split(delimiter);
  if (folders.includes(dirname(script))) return basename(script);
  const path = relative(process.cwd(), script);
  const shown = path.startsWith("..") ? script : path;
  return script.endsWith(".mjs") ? `node ${shown}` : shown;
}

/** npx installs a package that it was given, such as ./vexel-0.1.0.tgz, in a folder whose manifest names it. */
function npxPackage(script) {
  const manifest = join(dirname(script), "..", "..", "package.json");
  const { _npx } = existsSync(manifest) ? JSON.parse(readFileSync(manifest, "utf8")) : {};
  return _npx?.packages?.[0] ?? "vexel";
}
