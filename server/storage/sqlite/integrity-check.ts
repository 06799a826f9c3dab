/**
 * Periodic integrity check of SQLite files with `PRAGMA quick_check`. It reads the whole file, so it runs in a separate
 * process with the lowest priority, for at most a small part of the time.
 */
import { errorMessage } from "../../lib/error-code.ts";
import { isExecutable } from "../../lib/executable.ts";
import type { CheckResult } from "./integrity-check-child.ts";

export interface IntegrityCheckOptions {
  readonly paths: readonly string[];
  readonly everyMs: number;
  /** Called after each check with the damage of the first damaged file; undefined: no damage. */
  readonly onResult: (damage: string | undefined) => void;
  /** Called if a check has no result: it timed out, or its process could not run. */
  readonly onFailure: (reason: string) => void;
}

export interface IntegrityCheck {
  close(): void;
}

/** The first check runs after the startup. */
const firstAfterMs = 60_000;
const longestMs = 600_000;
/** A check of a large file is followed by a pause of this many times its CPU time: 2 % of one core. */
const pauseTimes = 50;
/** CPU time of the child process besides the check itself. */
const startMs = 500;

const command = isExecutable
  ? ["--integrity-check"]
  : ["--no-install", Bun.fileURLToPath(new URL("./integrity-check-child.ts", import.meta.url))];

export function startIntegrityCheck(options: IntegrityCheckOptions): IntegrityCheck {
  const { paths, everyMs, onResult, onFailure } = options;
  let child: Bun.Subprocess | undefined;
  let closed = false;

  const check = async (): Promise<void> => {
    let result: CheckResult;
    let cpuMs = 0;
    try {
      const running = Bun.spawn([process.execPath, ...command, ...paths], {
        env: {},
        stdin: "ignore",
        stdout: "pipe",
        stderr: "ignore",
        timeout: longestMs,
        killSignal: "SIGKILL",
      });
      child = running;
      result = resultOf(await new Response(running.stdout).text());
      await running.exited;
      cpuMs = Number(running.resourceUsage()?.cpuTime.total ?? 0) / 1000;
    } catch (error) {
      result = { failure: errorMessage(error) };
    }
    child = undefined;
    if (closed) return;
    if (result.failure === undefined) onResult(result.damage);
    else onFailure(result.failure);
    later(Math.max(everyMs, (cpuMs - startMs) * pauseTimes));
  };

  const later = (ms: number): void => {
    timer = setTimeout(() => void check(), ms).unref();
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  if (everyMs > 0) later(Math.min(firstAfterMs, everyMs));
  return {
    close: () => {
      closed = true;
      clearTimeout(timer);
      child?.kill("SIGKILL");
    },
  };
}

function resultOf(text: string): CheckResult {
  try {
    return JSON.parse(text) as CheckResult;
  } catch {
    return { failure: `the check ended without a result after at most ${longestMs / 1000} s` };
  }
}
