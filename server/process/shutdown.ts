/**
 * Graceful shutdown: at a signal to stop, when the parent process is gone, or after a crash. Drains requests in flight,
 * finishes the images that an upstream bills, then closes.
 */
import { errorStack } from "../lib/error-code.ts";
import type { Log } from "../lib/log.ts";
import { withTimeout } from "../lib/timers.ts";
import {
  type CrashGuard,
  crashCountVariable,
  crashExitCode,
  planRestart,
  restartProcess,
} from "./crash-guard.ts";

export interface Stop {
  /** Resolves with the reason. */
  readonly requested: Promise<string>;
  readonly isRequested: boolean;
  /** Shutdown was requested a second time: the drain ends immediately. */
  readonly isUrgent: boolean;
  /** Resolves when it is. */
  readonly urgent: Promise<void>;
}

/** The first signal starts the drain; a later one ends it. */
export function watchStopSignals(clock: () => number): Stop {
  const { promise: requested, resolve } = Promise.withResolvers<string>();
  const { promise: urgent, resolve: resolveUrgent } = Promise.withResolvers<void>();
  let firstSignalAt = 0;
  let isUrgent = false;
  const onSignal = (signal: string): void => {
    // Ctrl-C arrives twice: from the terminal and from the wrapper process.
    if (firstSignalAt !== 0 && clock() - firstSignalAt > 500) {
      isUrgent = true;
      resolveUrgent();
    }
    firstSignalAt ||= clock();
    clearInterval(parentWatch);
    resolve(signal);
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, onSignal);
  const parentWatch = watchParent(() => onSignal("the process that started the gateway is gone"));
  return {
    requested,
    urgent,
    get isRequested() {
      return firstSignalAt !== 0;
    },
    get isUrgent() {
      return isUrgent;
    },
  };
}

/**
 * `npm start` runs the gateway as a child process. If the parent dies of a signal, nothing else would stop the gateway.
 */
function watchParent(onGone: () => void): ReturnType<typeof setInterval> | undefined {
  const wrapper = process.env.VEXEL_WRAPPER;
  if (wrapper === undefined) return undefined;
  // Compared with the id from the launcher: the current parent may be another process already.
  return setInterval(() => {
    if (String(process.ppid) !== wrapper) onGone();
  }, 1000);
}

/** After the last image, how long the gateway waits until its last bytes are sent. */
const lastBytesMs = 1000;

/** After a crash, how long the parts of the gateway may take to close. */
const closeMs = 5000;

/** What is drained and closed. */
interface Drainable {
  beginDrain(): void;
  /** The drain takes at least this long: clients with keep-alive connections are still served. */
  readonly drainGraceMs: number;
  /** Requests in flight, including responses that are still being sent. */
  inFlight(): number;
  /** The image requests that the gateway finishes. */
  readonly admittedImages: {
    readonly count: number;
    /** Until the last of them times out. */
    readonly leftMs: number;
    /** From now on no image request is admitted. */
    close(): void;
  };
  close(): Promise<void>;
}

interface StopOptions {
  readonly gateway: Drainable;
  readonly stop: Stop;
  readonly crash: CrashGuard;
  /** The longest drain. */
  readonly drainMs: number;
  /** The process is one of several workers: its supervisor starts another one after a crash. */
  readonly isWorker: boolean;
  readonly log: Log;
  /** Milliseconds since the start of the process, monotonic. */
  readonly clock: () => number;
}

/** Waits for a reason to stop, finishes requests in flight within a bounded time, and closes the gateway. */
export async function runUntilStopped(options: StopOptions): Promise<void> {
  const { gateway, stop, crash, drainMs, log, clock } = options;
  const reason = await Promise.race([stop.requested, crash.crashed.then(() => "crash")]);
  const inFlight = gateway.inFlight();
  const requests = `${inFlight} request${inFlight === 1 ? "" : "s"}`;
  const isAwaited = inFlight > 0 && reason === "SIGINT";
  log.info("shutdown", {
    reason,
    inFlight,
    message: isAwaited ? `waiting for ${requests}; Ctrl-C again stops now` : undefined,
  });
  gateway.beginDrain();
  const began = clock();
  const graceMs = Math.min(gateway.drainGraceMs * 1.5, drainMs);
  const hasPassed = (ms: number): boolean => clock() - began >= ms;
  const isDrained = (): boolean => gateway.inFlight() === 0 && hasPassed(graceMs);
  while (!stop.isUrgent && !isDrained() && !hasPassed(drainMs)) await Bun.sleep(20);
  await finishImages(options);
  if (gateway.inFlight() > 0) log.warn("shutdown-incomplete", { inFlight: gateway.inFlight() });
  if (crash.hasCrashed) await closeAfterCrash(gateway, log);
  else await gateway.close();
  log.info("stopped");
}

/**
 * After the drain timeout the gateway waits for admitted images only, because an upstream bills them. Their request
 * timeouts bound the wait. After a crash nobody is served until the restart, so that no image delays it.
 */
async function finishImages({ gateway, stop, crash, log, clock }: StopOptions): Promise<void> {
  const images = gateway.admittedImages;
  images.close();
  const isWaiting = (): boolean => images.count > 0 && !stop.isUrgent && !crash.hasCrashed;
  if (!isWaiting()) return;
  const seconds = Math.ceil(images.leftMs / 1000);
  log.info("shutdown-waits-for-images", { images: images.count, seconds });
  while (isWaiting()) await Bun.sleep(20);
  // The last bytes of the last image may not be sent yet.
  const until = clock() + lastBytesMs;
  while (!stop.isUrgent && gateway.inFlight() > 0 && clock() < until) await Bun.sleep(20);
}

/** The crashed part may hang or throw while it closes: that must not prevent the restart. */
async function closeAfterCrash(gateway: Drainable, log: Log): Promise<void> {
  try {
    await withTimeout(gateway.close(), closeMs);
  } catch (error) {
    log.error("internal-error", { error: errorStack(error) });
  }
}

/** Returns the exit code of a closed gateway. After a crash, a process that is not a worker restarts instead. */
export async function endProcess(
  options: Omit<StopOptions, "gateway" | "drainMs">,
): Promise<number> {
  const { stop, crash, isWorker, log, clock } = options;
  if (!crash.hasCrashed) return 0;
  if (stop.isRequested || isWorker) return crashExitCode;
  const { crashes, delayMs } = planRestart(process.env[crashCountVariable], clock());
  if (delayMs === undefined) {
    log.error("crash-loop", { crashes });
    process.stderr.write(
      `The gateway crashed ${crashes} times in a row soon after its start and does not restart again. See the log above for the reason.\n`,
    );
    return crashExitCode;
  }
  log.warn("restarting", { crashes, delayMs });
  log.flush();
  await withTimeout(stop.requested, delayMs);
  if (!stop.isRequested) await restartProcess(crashes);
  return crashExitCode;
}
