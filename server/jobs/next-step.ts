/**
 * What the process that has claimed a range does next: decided here, by the columns of its row and what the vendor has
 * said since, and nowhere else.
 *
 * The way of a range. A process claims it for the time of a lease, which it renews, and writes its name into the row
 * (`holder`). It takes one step after the other, and records each step that costs money before it takes it. When it
 * cannot go on, it gives the range back, with the time of the next attempt and the last error. If it dies, its lease
 * ends, and any process claims the range. Every change of the row names the holder, so a process that has lost its
 * claim changes nothing. A canceled job has `ending`: its ranges are claimed as before, what was sent is awaited or
 * canceled at the upstream, and the other lines end without running.
 */
import type { ClaimedRange, StoredJob } from "../storage/sql/stored-job.ts";

/** How long a canceled batch of a vendor may take to end, and results of the vendor may be late. */
export const cancelMs = 15 * 60_000;
/** A process that dies while it reads the results has tried too. Results that are given up have as many readings. */
export const maxReadings = 3;

/**
 * A change of `vexel.yaml` reaches the replicas one after the other. Meanwhile, the older file of one may lack the
 * upstream or the model of a batch that another has just sent, and may be about to get the results of.
 */
const rolloutMs = 10 * 60_000;
/** After this time, a batch that is not in the vendor's list was not created: it is not paid for twice. */
const settleMs = 2 * 60_000;

export type Step =
  /** The lines run as requests of this gateway, or end because their job does. */
  | "run"
  /** It is recorded that the vendor's batch cannot run the lines, which releases what was reserved for it. */
  | "refuse"
  /** The lines run now, or fail, because the vendor's batch cannot run them. */
  | "fail"
  /** The lines are written into a file, which is uploaded to the vendor. */
  | "upload"
  /** The vendor's batch is created. */
  | "create"
  /** The vendor is asked for its batches, because this one may have been created. */
  | "find"
  /** The batch was created: its id is recorded. */
  | "adopt"
  /** It was not created, and never will be: its lines end. */
  | "withdraw"
  /** The vendor is asked whether it has ended. */
  | "poll"
  /** The vendor has too many requests in its queue: the batch is created again later. */
  | "createLater"
  /** It is canceled, because the job ends, or because its API key was revoked. Its results are awaited. */
  | "cancel"
  /** It is canceled, and its results are not awaited. */
  | "abandon"
  /** It has ended: that is recorded. */
  | "end"
  /** The range is claimed again later. */
  | "wait"
  /** So it is, because this process does not know its upstream or its model. Another one may. */
  | "waitForConfiguration"
  /** Its results become those of the lines. */
  | "deliver"
  /** It is recorded that its results are not awaited any more. */
  | "giveUp"
  /** Its lines end without its results. Each that the vendor may bill is charged its estimate. */
  | "charge";

/** What the vendor has said about the batch since the range was claimed. */
export type Answer =
  /** Its list has the batch, or has not. */
  | { readonly kind: "found" | "missing" }
  | { readonly kind: "running" }
  /** `isQueueFull`: it failed because the vendor has too many requests in its queue. */
  | { readonly kind: "ended"; readonly isQueueFull?: boolean }
  /** The vendor does not know the batch any more. */
  | { readonly kind: "unknown" }
  /** The vendor was asked to cancel it. `error`: it did not respond. */
  | { readonly kind: "canceling"; readonly error?: Error }
  /** It does not respond as it should. */
  | { readonly kind: "unresponsive" };

interface Surroundings {
  /** The upstream that the lines are for exists, and has batches. */
  readonly hasVendor: boolean;
  /**
   * `moved`: the model has another upstream now. `revoked`: the API key was revoked, or has expired. `gone`: the model
   * was deleted, or the API key may not use it any more.
   */
  readonly payer: "present" | "moved" | "revoked" | "gone";
  /** Undefined if the vendor was not asked in this phase since the range was claimed. */
  readonly answer: Answer | undefined;
  /** Unix milliseconds. */
  readonly now: number;
}

type RangeRow = Pick<ClaimedRange, "phase" | "phaseSince" | "readings"> & {
  readonly job: Pick<StoredJob, "ending" | "cancellingAt" | "deadline">;
};

export function nextStep(range: RangeRow, around: Surroundings): Step {
  switch (range.phase) {
    case "lines":
      return "run";
    case "refused":
      return "fail";
    case "planned":
    case "uploaded":
      return nextUnsent(range, around);
    default:
      return nextSent(range, around);
  }
}

/** The vendor has certainly no batch. */
function nextUnsent({ phase, job }: RangeRow, { hasVendor, payer }: Surroundings): Step {
  if (job.ending) return "run";
  if (!hasVendor || payer === "moved") return "refuse";
  // Each line fails with the reason.
  if (payer === "gone" || payer === "revoked") return "run";
  return phase === "planned" ? "upload" : "create";
}

/**
 * The vendor may have the batch, and what it bills is charged: by its results, also if the model has another upstream
 * now, or if the API key was revoked. If they cannot be had, by the estimates.
 */
function nextSent(range: RangeRow, around: Surroundings): Step {
  const { phase, readings, job } = range;
  const { hasVendor, payer, now } = around;
  if (phase === "delivering" && readings >= maxReadings) return "charge";
  if ((!hasVendor || payer === "gone") && now < range.phaseSince + rolloutMs)
    return "waitForConfiguration";
  if (!hasVendor) return "giveUp";
  const mustEnd = job.ending !== null || payer === "revoked";
  if (payer === "gone") return nextAbandoned(range, around);
  if (phase === "creating") {
    const isAbandoned = payer === "moved" || (mustEnd && isLate(job, now));
    return isAbandoned ? nextAbandoned(range, around) : nextUncertain(range, around, mustEnd);
  }
  return phase === "delivering" ? "deliver" : nextPolled(range, around, mustEnd);
}

/** An attempt to create the batch was recorded, and it is not known what came of it. */
function nextUncertain(
  range: RangeRow,
  { answer, now }: Surroundings,
  mustEnd: boolean,
): "find" | "adopt" | "wait" | "withdraw" | "create" {
  if (!answer) return "find";
  if (answer.kind === "found") return "adopt";
  if (answer.kind !== "missing" || now < certainAt(range)) return "wait";
  return mustEnd ? "withdraw" : "create";
}

function nextPolled({ phase, phaseSince }: RangeRow, around: Surroundings, mustEnd: boolean): Step {
  const { answer, now } = around;
  if (!answer) return "poll";
  if (answer.kind === "unknown") return "giveUp";
  if (answer.kind === "ended") return answer.isQueueFull && !mustEnd ? "createLater" : "end";
  if (!mustEnd || answer.kind === "canceling") return "wait";
  return phase === "canceling" && now > phaseSince + cancelMs ? "giveUp" : "cancel";
}

/** Nobody can pay for its results any more, or the job waits no longer. */
function nextAbandoned(range: RangeRow, { payer, answer, now }: Surroundings): Step {
  if (!answer) return range.phase === "creating" ? "find" : "abandon";
  if (answer.kind === "found") return "abandon";
  if (answer.kind === "missing" && now >= certainAt(range))
    return payer === "moved" ? "refuse" : "run";
  if (answer.kind === "canceling" && !answer.error) return "giveUp";
  return isLate(range.job, now) ? "giveUp" : "wait";
}

/** The request that creates the batch may be on its way until then. */
export const certainAt = ({ phaseSince }: Pick<RangeRow, "phaseSince">): number =>
  phaseSince + settleMs;

/** The job ended long ago: it does not wait for the vendor any more. */
const isLate = ({ cancellingAt, deadline }: RangeRow["job"], now: number): boolean =>
  now > (cancellingAt ?? deadline) + cancelMs;

export type LineStep =
  /** It is sent, or what was sent is awaited, or its result is delivered. */
  | "send"
  /** The range is given back, and another process goes on with the line. */
  | "stop"
  /** It fails with the error that was found before. */
  | "fail"
  /** It ends, because its job does. */
  | "skip"
  /** An earlier process sent it, and nobody knows what came of it: it may have been billed. */
  | "interrupted";

interface LineState {
  readonly line: { readonly failure?: unknown; readonly vendor?: unknown };
  /** What an earlier process has sent of it. */
  readonly earlier: Pick<ClaimedRange, "sent" | "upstreamOperations">;
  readonly isStopping: boolean;
  readonly isPaused: boolean;
  readonly isEnding: boolean;
}

/** The next step of a line of a range in the phase `lines`, or whose results are delivered. */
export function nextLineStep(state: LineState): LineStep {
  const { line, earlier, isStopping, isPaused, isEnding } = state;
  // A line that was sent ends, also in a job that is paused.
  if (isStopping || (isPaused && earlier.sent === 0)) return "stop";
  if (line.failure) return "fail";
  // The vendor has run it, and bills it.
  if (line.vendor) return "send";
  if (earlier.sent === 0) return isEnding ? "skip" : "send";
  return earlier.upstreamOperations === null ? "interrupted" : "send";
}
