/**
 * Schedules drift checks. All targets are checked every few hours. Targets that were not compared yet are checked at
 * once, and then with growing delays, because each check is an upstream request with a ledger row.
 */
import type { Timers } from "../lib/timers.ts";

export interface DriftChecksOptions {
  /** Hours between two checks of all targets. */
  readonly hours: number;
  /** Checks all targets, or only targets that were not compared yet. */
  readonly check: (all: boolean) => Promise<void>;
  readonly timers: Timers;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

export interface DriftChecks {
  /** Starts with a check of all new targets. */
  start(): void;
  /** A target is new: it is checked at once. */
  onNewTarget(): void;
  /**
   * A target that did not respond to its check has responded to a client: it is checked again, unless the last check
   * ended a moment ago.
   */
  onResponding(): void;
  /** Resolves when all targets have been checked. */
  checkAll(): Promise<void>;
  close(): void;
}

/** The shortest and the longest time until targets that did not respond are checked again; it doubles each time. */
const [minRecheckMs, maxRecheckMs] = [10_000, 600_000];

export function scheduleDriftChecks(options: DriftChecksOptions): DriftChecks {
  const { hours, check, timers, clock } = options;
  let running: Promise<void> | undefined;
  /** The next check. Undefined: none was requested since the last one started. */
  let requested: "new targets" | "all targets" | undefined;
  let lastEndedAt = Number.NEGATIVE_INFINITY;
  let recheckMs = minRecheckMs;
  let recheckTimer: unknown;
  let fullCheckTimer: unknown;

  const runRequested = async (): Promise<void> => {
    try {
      while (requested) {
        const all = requested === "all targets";
        requested = undefined;
        await check(all).finally(() => {
          lastEndedAt = clock();
        });
      }
    } finally {
      running = undefined;
    }
  };
  /** One check at a time: checks that are requested while one is running are joined into one more. */
  const runCheck = (all: boolean): Promise<void> => {
    if (all || requested === undefined) requested = all ? "all targets" : "new targets";
    running ??= runRequested();
    return running;
  };
  const startRecheckTimer = (): void => {
    recheckTimer = timers.start(recheckMs, () => {
      recheckMs = Math.min(maxRecheckMs, 2 * recheckMs);
      startRecheckTimer();
      void runCheck(false);
    });
  };
  const startFullCheckTimer = (): void => {
    fullCheckTimer = timers.start(hours * 3_600_000, () => {
      startFullCheckTimer();
      void runCheck(true);
    });
  };
  const checkNow = (): void => {
    recheckMs = minRecheckMs;
    timers.stop(recheckTimer);
    startRecheckTimer();
    void runCheck(false);
  };
  return {
    start: () => {
      startFullCheckTimer();
      checkNow();
    },
    onNewTarget: checkNow,
    onResponding: () => {
      if (!running && clock() - lastEndedAt >= minRecheckMs) checkNow();
    },
    checkAll: () => runCheck(true),
    close: () => {
      timers.stop(recheckTimer);
      timers.stop(fullCheckTimer);
    },
  };
}
