/** Starts child processes of workers. No other code does. */
import { dirname } from "node:path";
import { GatewayError } from "../../lib/gateway-error.ts";

export interface Child {
  readonly pid: number;
  send(message: unknown): void;
  /** SIGKILL: the process has no state to save. */
  kill(): void;
  /** Settles with a readable exit reason. */
  readonly exited: Promise<string>;
}

/** `more`: environment variables besides those that every child gets. */
export type Spawn = (
  entry: string,
  onMessage: (message: unknown) => void,
  more?: Readonly<Record<string, string>>,
) => Child;

// The gateway's environment contains upstream API keys, which a model does not need.
const passed = ["PATH", "HOME", "TMPDIR", "LANG", "LD_LIBRARY_PATH", "SYSTEMROOT", "TEMP"];

export const spawn: Spawn = (entry, onMessage, more) => {
  const env = { ...Object.fromEntries(passed.flatMap((name) => entryOf(name))), ...more };
  // --no-install: Bun must never fetch a missing package by itself. The folder keeps it from reading a `.env`.
  const run = () =>
    Bun.spawn([process.execPath, "--no-install", entry], {
      cwd: dirname(entry),
      env,
      stdin: "ignore",
      stdout: "ignore",
      stderr: "inherit",
      serialization: "advanced",
      ipc: onMessage,
    });
  let child: ReturnType<typeof run>;
  try {
    child = run();
  } catch (cause) {
    const message = "The process of a local model cannot be started.";
    throw new GatewayError("upstream_unreachable", message, { cause, notSent: true });
  }
  return {
    pid: child.pid,
    send: (message) => {
      try {
        child.send(message);
      } catch {
        // The process has just died: `exited` fails the pending requests.
      }
    },
    kill: () => child.kill("SIGKILL"),
    exited: child.exited.then(() => `${child.signalCode ?? `exit code ${child.exitCode}`}`),
  };
};

function entryOf(name: string): [string, string][] {
  const value = process.env[name];
  return value === undefined ? [] : [[name, value]];
}
