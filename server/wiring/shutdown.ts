/** When the gateway stops: at a signal, when the process that started it is gone, or after a crash. */
import { drainGraceMs, type Gateway } from "../app.ts";
import type { Log } from "../observe/log.ts";
import type { Settings } from "../settings.ts";
import {
  type CrashGuard,
  crashCountVariable,
  crashExitCode,
  planRestart,
  restartProcess,
  stackOf,
} from "./crash-guard.ts";

export interface Stop {
  /** Resolves with the reason. */
  readonly requested: Promise<string>;
  readonly isRequested: boolean;
  /** Requested again: from now on nothing is waited for. */
  readonly isUrgent: boolean;
}

/** The first signal drains; another one a moment later does not wait. */
export function watchStopSignals(clock: () => number): Stop {
  const { promise: requested, resolve } = Promise.withResolvers<string>();
  let first = 0;
  let isUrgent = false;
  const onSignal = (signal: string): void => {
    // A terminal's Ctrl-C reaches us twice: from the terminal and from the wrapper that started us.
    if (first !== 0 && clock() - first > 500) isUrgent = true;
    first ||= clock();
    clearInterval(orphaned);
    resolve(signal);
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, onSignal);
  const orphaned = watchParent(() => onSignal("the process that started it is gone"));
  return {
    requested,
    get isRequested() {
      return first !== 0;
    },
    get isUrgent() {
      return isUrgent;
    },
  };
}

/** `npm start` runs the gateway below another process. If that one dies of a signal, nothing else could stop the gateway. */
function watchParent(gone: () => void): ReturnType<typeof setInterval> | undefined {
  const wrapper = process.env.VEXEL_WRAPPER;
  if (wrapper === undefined) return undefined;
  // By the number it was given: the parent of this moment may be another one already.
  return setInterval(() => {
    if (String(process.ppid) !== wrapper) gone();
  }, 1000);
}

/** After a crash, how long the parts of the gateway may take to close. */
const closeMs = 5000;

export interface StopOptions {
  readonly gateway: Gateway;
  readonly stop: Stop;
  readonly crash: CrashGuard;
  readonly settings: Settings;
  readonly log: Log;
  /** Milliseconds since the start of the process, monotonic. */
  readonly clock: () => number;
}

/** Waits for a reason to stop, finishes requests in flight within a bounded time, and closes the gateway. */
export async function runUntilStopped(options: StopOptions): Promise<void> {
  const { gateway, stop, crash, settings, log, clock } = options;
  const reason = await Promise.race([stop.requested, crash.crashed.then(() => "crash")]);
  log.info("shutdown", { reason, inFlight: gateway.inFlight() });
  gateway.beginDrain();
  const began = clock();
  const graceMs = Math.min(drainGraceMs * 1.5, settings.VEXEL_DRAIN_TIMEOUT * 1000);
  const waited = (ms: number): boolean => clock() - began >= ms;
  const done = (): boolean => gateway.inFlight() === 0 && waited(graceMs);
  while (!stop.isUrgent && !done() && !waited(settings.VEXEL_DRAIN_TIMEOUT * 1000))
    await Bun.sleep(20);
  if (gateway.inFlight() > 0) log.warn("shutdown-incomplete", { inFlight: gateway.inFlight() });
  if (crash.hasCrashed) await closeAfterCrash(gateway, log);
  else await gateway.close();
  log.info("stopped");
}

/** What crashed may be what hangs or throws now: it must not keep the process from starting anew. */
async function closeAfterCrash(gateway: Gateway, log: Log): Promise<void> {
  try {
    await Promise.race([gateway.close(), Bun.sleep(closeMs)]);
  } catch (error) {
    log.error("internal-error", { error: stackOf(error) });
  }
}

/** The exit code of a gateway that is closed. After a crash the process starts anew instead, where it may. */
export async function endProcess(options: Omit<StopOptions, "gateway">): Promise<number> {
  const { stop, crash, settings, log, clock } = options;
  if (!crash.hasCrashed) return 0;
  if (stop.isRequested || settings.VEXEL_ON_CRASH === "exit") return crashExitCode;
  const { crashes, delayMs } = planRestart(process.env[crashCountVariable], clock());
  if (delayMs === undefined) {
    log.error("crash-loop", { crashes });
    process.stderr.write(
      `The gateway crashed ${crashes} times in a row soon after its start, and gives up. The log above says why.\n`,
    );
    return crashExitCode;
  }
  log.warn("restarting", { crashes, delayMs });
  log.flush();
  await Promise.race([Bun.sleep(delayMs), stop.requested]);
  if (!stop.isRequested) await restartProcess(crashes);
  return crashExitCode;
}
