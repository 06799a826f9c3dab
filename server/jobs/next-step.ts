/**
 * What the process that has claimed a range does next: decided here, by the columns of its row, and nowhere else.
 *
 * The way of a range. A process claims it for the time of a lease, which it renews, and writes its name into the row
 * (`holder`). It takes one step after the other, and records each step that costs money before it takes it. When it
 * cannot go on, it gives the range back, with the time of the next attempt and the last error. If it dies, its lease
 * ends, and any process claims the range. Every change of the row names the holder, so a process that has lost its claim
 * changes nothing. A canceled job has `ending`: its ranges are claimed as before, what was sent is awaited or canceled at
 * the upstream, and the other lines end without running.
 */
import type { ClaimedRange, StoredJob } from "../storage/sql/stored-job.ts";

/** How long a canceled batch of a vendor may take to end, and results of the vendor may be late. */
export const cancelMs = 15 * 60_000;
/** A process that dies while it reads the results has tried too. Results that are given up have as many readings. */
export const maxReadings = 3;

export type Step =
  /** The lines run as requests of this gateway, or end because their job does. */
  | "run"
  /** The lines fail, because the vendor's batch cannot run them. */
  | "fail"
  /** The lines are written into a file, which is uploaded to the vendor. */
  | "upload"
  /** The vendor's batch is created. */
  | "create"
  /** It is looked up, because it may have been created. If it was not, it is created, unless the lines must end. */
  | "find"
  /** The vendor is asked whether it has ended. It is canceled if the job ends, or if its API key was revoked. */
  | "poll"
  /** It is canceled, and the lines end without its results. */
  | "abandon"
  /** Its results become those of the lines. */
  | "deliver"
  /** It cannot be reached any more. It is recorded that its results are not awaited. */
  | "giveUp"
  /** Its lines end without its results. Each that the vendor may bill is charged its estimate. */
  | "charge";

interface Surroundings {
  /** The upstream that the lines are for exists, and has batches. */
  readonly hasVendor: boolean;
  /**
   * `moved`: the model has another upstream now. `revoked`: the API key was revoked, or has expired. `gone`: the model was
   * deleted, or the API key may not use it any more.
   */
  readonly payer: "present" | "moved" | "revoked" | "gone";
  /** Unix milliseconds. */
  readonly now: number;
}

type RangeRow = Pick<ClaimedRange, "phase" | "readings"> & {
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
  if (!hasVendor || payer === "moved") return "fail";
  // Each line fails with the reason.
  if (payer === "gone" || payer === "revoked") return "run";
  return phase === "planned" ? "upload" : "create";
}

/**
 * The vendor may have the batch, and what it bills is charged: by its results, also if the model has another upstream
 * now, or if the API key was revoked. If they cannot be had, by the estimates.
 */
function nextSent(
  { phase, readings, job }: RangeRow,
  { hasVendor, payer, now }: Surroundings,
): Step {
  if (phase === "delivering" && readings >= maxReadings) return "charge";
  if (!hasVendor) return "giveUp";
  if (payer === "gone") return "abandon";
  if (phase === "creating") {
    const mustEnd = job.ending !== null || payer === "revoked";
    return payer === "moved" || (mustEnd && isLate(job, now)) ? "abandon" : "find";
  }
  return phase === "delivering" ? "deliver" : "poll";
}

/** The job ended long ago: it does not wait for the vendor any more. */
export const isLate = ({ cancellingAt, deadline }: RangeRow["job"], now: number): boolean =>
  now > (cancellingAt ?? deadline) + cancelMs;
