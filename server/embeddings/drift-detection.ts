/**
 * Drift detection: compares the targets of a model by a canary request, takes drifted targets out, and clears the
 * cache, which may have their vectors. All targets are checked every few hours, and a new target at once.
 */
import type { Emit } from "../../contract/events.ts";
import type { Log } from "../lib/log.ts";
import { backgroundTimers, type Timers } from "../lib/timers.ts";
import type { SharedEmbeddings } from "../storage/redis/shared-embeddings.ts";
import { type CanaryOptions, type CanaryReport, createCanary } from "./drift-canary.ts";

interface DriftDetectionOptions extends Pick<CanaryOptions, "snapshot" | "embed"> {
  /** Hours between two checks of all targets. 0: targets are never checked. */
  readonly hours: number;
  /** Evicts every cached vector, of all replicas. */
  readonly clearCache: () => unknown;
  /** Evicts every cached vector of this replica. */
  readonly clearLocal: () => Promise<void>;
  /** The cache that replicas share. */
  readonly shared: Pick<SharedEmbeddings, "onCleared"> | undefined;
  readonly log: Log;
  readonly emit: Emit;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

/** How long the first target serves alone while the others are compared with it. */
const graceMs = 2000;

export function createDriftDetection(options: DriftDetectionOptions) {
  const { snapshot, embed, hours, clearCache, clearLocal, shared, clock } = options;
  /** The number of checks in progress that began because another replica has cleared the shared cache. */
  let checksAfterClear = 0;
  let startedAt = Number.NEGATIVE_INFINITY;
  const canary = createCanary({
    snapshot,
    embed,
    graceMs: hours > 0 ? graceMs : 0,
    clock,
    onUnchecked: () => driftChecks?.onNewTarget(),
    onResponding: () => driftChecks?.onResponding(),
    report: (result) => {
      reportDrift(options, result);
      if (result.status !== "drifted") return;
      // Vectors of the drifted target may be in the cache, and it is unknown which. After another replica has cleared
      // the shared cache, this one has added nothing to it: to clear it again would start the checks of all replicas.
      void (checksAfterClear > 0 ? clearLocal() : clearCache());
    },
  });
  /** Undefined if targets are never checked. */
  const driftChecks =
    hours === 0
      ? undefined
      : scheduleDriftChecks({
          hours,
          check: (all) => canary.check(all),
          timers: backgroundTimers,
          clock,
        });
  // Another replica has found wrong vectors. If they came from a target that has drifted, this replica finds that out
  // before it adds vectors to the shared cache again.
  shared?.onCleared(async () => {
    checksAfterClear++;
    try {
      await clearLocal();
      await driftChecks?.checkAll();
    } finally {
      checksAfterClear--;
    }
  });
  return {
    hasDrifted: canary.hasDrifted,
    isExcluded: canary.isExcluded,
    start: () => {
      driftChecks?.start();
      startedAt = clock();
    },
    /**
     * After a start, a target is excluded until it is compared: if the first target of its model is down, requests fail
     * although it may be healthy. False after the grace period, also after a reload that adds targets: replicas that
     * apply the same reload must not be unready at the same time.
     */
    isComparing: () => clock() - startedAt < graceMs && canary.isComparing(),
    /** Cancels the checks in flight, and starts no more. */
    stop: () => {
      driftChecks?.close();
      canary.close();
    },
  };
}

interface ScheduleOptions {
  /** Hours between two checks of all targets. */
  readonly hours: number;
  /** Checks all targets, or only targets that were not compared yet. */
  readonly check: (all: boolean) => Promise<void>;
  readonly timers: Timers;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

/** Targets that did not respond are checked again at this interval: each check is an upstream request. */
const recheckMs = 600_000;
/** The shortest time between two checks that responses to clients start. */
const minRecheckMs = 10_000;

export function scheduleDriftChecks({ hours, check, timers, clock }: ScheduleOptions) {
  let running: Promise<void> | undefined;
  /** The next check. Undefined if none was requested since the last one started. */
  let requested: "new targets" | "all targets" | undefined;
  let fullCheckAt = clock();
  let lastEndedAt = Number.NEGATIVE_INFINITY;
  let timer: unknown;

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
  const startTimer = (): void => {
    timer = timers.start(recheckMs, () => {
      startTimer();
      const isFull = clock() - fullCheckAt >= hours * 3_600_000;
      if (isFull) fullCheckAt = clock();
      void runCheck(isFull);
    });
  };
  return {
    start: () => {
      startTimer();
      void runCheck(false);
    },
    onNewTarget: () => void runCheck(false),
    /** A target that did not respond to its check has responded to a client. */
    onResponding: () => {
      if (!running && clock() - lastEndedAt >= minRecheckMs) void runCheck(false);
    },
    /** Resolves when all targets have been checked. */
    checkAll: () => runCheck(true),
    close: () => timers.stop(timer),
  };
}

function reportDrift(
  { log, emit }: Pick<DriftDetectionOptions, "log" | "emit">,
  { status, model, target, reason }: CanaryReport,
): void {
  const { id: upstream } = target.upstream;
  const fields = { model, upstream, targetModel: target.model, reason };
  if (status === "drifted") log.error("target-drifted", fields);
  else if (status === "realigned") log.warn("target-realigned", fields);
  else log.warn("target-not-compared", fields);
  if (status === "silent") return;
  emit({
    type: `target.${status}`,
    data: { model, upstream, target_model: target.model, reason },
  });
}
