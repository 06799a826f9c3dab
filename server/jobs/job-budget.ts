/**
 * Budgets of jobs, which outlive processes. While a process accepts an image job, or prepares a batch at a vendor, it
 * reserves the upper bound of the cost, or the estimate if only that fits, as for any request. Then the row of the
 * range has what is reserved for each owner, and every process reserves what the rows say, under the name of the range:
 * it does not matter which process wrote it, which one runs the lines, and which ones end. The lines are charged as
 * requests, and no budget that has reserved them refuses them; a line that a vendor's batch did not run, and that is
 * sent at the full price, needs room for the rest. The process that runs them reserves less with each line that is
 * charged; the row follows when they are settled.
 */
import type { BudgetedOwner } from "../../contract/limits-and-budgets.ts";
import type { Budgets } from "../budgets/budgets.ts";
import type { RequestCharging } from "../budgets/charge-request.ts";
import { createSerialize } from "../lib/tasks.ts";
import type { Timers } from "../lib/timers.ts";
import type { Caller, PermittedModel } from "../request/caller.ts";
import { RequestRecord } from "../request/request-record.ts";
import type { Reservation } from "../request/reservation.ts";
import type { JobStore } from "../storage/sql/job-store.ts";
import type {
  JobOwner,
  LineReservation,
  RangeReservation,
  ReservedRange,
} from "../storage/sql/stored-job.ts";
import type { JobLine } from "./job-kind.ts";

interface JobBudgetOptions {
  readonly charging: Pick<RequestCharging, "reserve">;
  readonly budgets: Pick<Budgets, "setJobEntries">;
  readonly store: Pick<JobStore, "listReserved">;
  /** Whom the lines of the job are charged to, also if its API key was revoked meanwhile. */
  readonly payerOf: (job: JobOwner) => Pick<Caller, "budgets" | "project">;
  /** The budget of an end user or a tag of the project. */
  readonly endUserOrTagBudgetOf: (project: string, name: string) => BudgetedOwner | undefined;
  readonly timers: Timers;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** Lines whose cost is to be reserved. */
export interface ChargedLines {
  readonly caller: Caller;
  readonly model: PermittedModel;
  readonly operation: JobLine["operation"];
}

interface LineCost {
  readonly dollars: number | null;
  /** The upper bound. If absent, the same as `dollars`. */
  readonly maxDollars?: number;
  readonly isCertain?: boolean;
}

export type JobBudget = ReturnType<typeof createJobBudget>;

export function createJobBudget(options: JobBudgetOptions) {
  const { charging, budgets, store, payerOf, endUserOrTagBudgetOf, timers, now } = options;
  const inTurn = createSerialize();
  /** The queued refresh. It has not read the rows yet, so it sees everything that was written until now. */
  let next: Promise<void> | undefined;

  let rows: readonly ReservedRange[] = [];
  /** Reservations after lines that this process has charged. The rows do not have them yet. */
  const charged = new Map<string, RangeReservation>();
  let isChanged = false;

  const setEntries = (): void => {
    isChanged = false;
    const entries = rows.map((row) => {
      const id = idOf(row.jobId, row.number);
      const { version, nanos, labels, ...kind } = charged.get(id) ?? row.reserved;
      // A budget admits one estimate below its upper bound at a time. Lines that run now need this place themselves.
      const isLikely = kind.isLikely && !kind.runsNow;
      const { budgets: owners = [], project = "" } = payerOf(row);
      const own = owners.map((owner) => ({ owner, nanos }));
      const ofEndUsersAndTags = Object.entries(labels).flatMap(([name, ofName]) => {
        const owner = endUserOrTagBudgetOf(project, name);
        return owner ? [{ owner, nanos: ofName }] : [];
      });
      return { id, version, isLikely, amounts: [...own, ...ofEndUsersAndTags] };
    });
    budgets.setJobEntries(entries, now());
  };

  const readRows = async (): Promise<void> => {
    next = undefined;
    rows = await store.listReserved();
    const stored = new Map(rows.map((row) => [idOf(row.jobId, row.number), row.reserved]));
    for (const [id, { version }] of charged) {
      const row = stored.get(id);
      if (!row || row.version >= version) charged.delete(id);
    }
    setEntries();
  };

  return {
    /**
     * For lines that no row reserves yet: the cost of a query, or an amount in US dollars. Null if it is unknown.
     * `isCertain`: false if the cost of some of the lines is unknown, and not part of the amount. Throws GatewayError
     * if a budget is too small. Undefined if there is no budget.
     */
    reserve: async (
      name: string,
      { caller, model, operation }: ChargedLines,
      cost: { readonly query: unknown } | LineCost,
    ): Promise<Reservation | undefined> => {
      const record = new RequestRecord(name, operation, now());
      record.caller = caller;
      record.model = model.id;
      record.permittedModel = model;
      const request = { operation, model, record };
      await charging.reserve(
        "query" in cost
          ? { ...request, query: cost.query }
          : { ...request, query: undefined, estimate: estimateOf(cost) },
      );
      return record.reservation;
    },
    /** This process has charged a line of the range. */
    onCharged: (
      { job, number }: { readonly job: { readonly id: string }; readonly number: number },
      reserved: RangeReservation,
    ) => {
      charged.set(idOf(job.id, number), reserved);
      if (isChanged) return;
      isChanged = true;
      timers.start(chargedMs, setEntries);
    },
    /** Reserves what the rows say. To be called every second, and after a row has changed. */
    refresh: (): Promise<void> => {
      next ??= inTurn(readRows);
      return next;
    },
  };
}

/** The longest time in which a line counts as reserved and as charged. */
const chargedMs = 100;

const idOf = (jobId: string, number: number): string => `${jobId}-${number}`;

const estimateOf = ({ dollars, maxDollars, isCertain = true }: LineCost) => ({
  dollars: dollars ?? undefined,
  maxDollars: dollars === null ? undefined : maxDollars,
  isCertain: isCertain && dollars !== null,
});

/**
 * A new reservation raises the version by this, and a charged line by 1: it is newer than any number of charged lines.
 */
const changeVersions = 1_000_000;

export const noReservation: RangeReservation = { version: 0, nanos: 0, labels: {} };

export const endUsersAndTagsIn = (text: string | null): readonly string[] =>
  text?.split("\t") ?? [];

/** One more line is reserved. */
export function withLine(
  reserved: RangeReservation,
  { nanos, labels }: LineReservation,
): RangeReservation {
  const sums = { ...reserved.labels };
  for (const name of endUsersAndTagsIn(labels)) sums[name] = (sums[name] ?? 0) + nanos;
  return { ...reserved, nanos: reserved.nanos + nanos, labels: sums };
}

/** One more line is charged, or ends without a charge. */
export function withoutLine(
  reserved: RangeReservation,
  { nanos, labels }: LineReservation,
): RangeReservation {
  const sums = { ...reserved.labels };
  for (const name of endUsersAndTagsIn(labels)) {
    const left = (sums[name] ?? 0) - nanos;
    if (left > 0) sums[name] = left;
    else delete sums[name];
  }
  const left = Math.max(0, reserved.nanos - nanos);
  return { ...reserved, version: reserved.version + 1, nanos: left, labels: sums };
}

/** It replaces what the range has reserved before. */
export const replacing = (
  before: RangeReservation | null,
  next: RangeReservation,
): RangeReservation => ({ ...next, version: (before?.version ?? 0) + changeVersions });
