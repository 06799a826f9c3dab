/**
 * Crash handling: after an uncaught exception or unhandled rejection the state of the process is unknown. The error is
 * logged with its stack, requests in flight are finished, and the process restarts, unless it is in a crash loop.
 */
import { errorStack } from "../lib/error-code.ts";
import { ownArguments } from "../lib/executable.ts";
import type { Log } from "../lib/log.ts";
import { withTimeout } from "../lib/timers.ts";

/** sysexits(3): an internal software error. */
export const crashExitCode = 70;

/** A process that ran at least this long before it crashed is not in a crash loop. */
const steadyMs = 60_000;
/** After this many crashes in a row, each within `steadyMs` of the start, the gateway does not restart (crash loop). */
const maxCrashes = 5;
const firstDelayMs = 1000;
/** While the gateway drains, the same defect may throw thousands of times. */
const maxLogged = 20;

/** The number of crashes in a row before this process. Set only by the process that restarts. */
export const crashCountVariable = "VEXEL_CRASHES";

export interface CrashGuard {
  /** Resolves at the first crash. */
  readonly crashed: Promise<void>;
  readonly hasCrashed: boolean;
}

export function guardAgainstCrashes(log: Log): CrashGuard {
  const { promise: crashed, resolve } = Promise.withResolvers<void>();
  let count = 0;
  /** Returns whether the crash is logged. */
  const recordCrash = (): boolean => {
    resolve();
    return ++count <= maxLogged;
  };
  process.on("uncaughtException", (thrown: unknown) => {
    if (recordCrash()) log.error("uncaught-exception", { error: errorStack(thrown) });
  });
  process.on("unhandledRejection", (thrown: unknown) => {
    if (recordCrash()) log.error("unhandled-rejection", { error: errorStack(thrown) });
  });
  return {
    crashed,
    get hasCrashed() {
      return count > 0;
    },
  };
}

interface RestartPlan {
  /** Crashes in a row, this one included. */
  readonly crashes: number;
  /** Undefined if the process must not restart. */
  readonly delayMs: number | undefined;
}

/**
 * Exponential backoff: immediately after the first crash, then after 1, 2 and 4 s, then never. `crashesBefore`: from
 * `crashCountVariable`.
 */
export function planRestart(crashesBefore: string | undefined, ranMs: number): RestartPlan {
  const before = ranMs < steadyMs ? Number(crashesBefore ?? 0) || 0 : 0;
  const crashes = before + 1;
  if (crashes >= maxCrashes) return { crashes, delayMs: undefined };
  return { crashes, delayMs: crashes === 1 ? 0 : firstDelayMs * 2 ** (crashes - 2) };
}

/**
 * Replaces the program of this process with a new run of itself (execve). The process keeps its id and its parent, so
 * no supervisor has to stay in memory, and npm, a container or systemd see one process that continues. Returns only if
 * the system cannot do that.
 */
export async function restartProcess(crashes: number): Promise<void> {
  if (typeof process.execve !== "function" || process.platform === "win32") return;
  // Output that is still buffered for a pipe would be lost.
  for (const stream of [process.stdout, process.stderr]) {
    await withTimeout(new Promise((done) => stream.write("", done)), 1000);
  }
  process.execve(process.execPath, [process.execPath, ...ownArguments()], {
    ...process.env,
    [crashCountVariable]: String(crashes),
  });
}
