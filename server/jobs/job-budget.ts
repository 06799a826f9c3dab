/**
 * Budgets of jobs, which outlive processes. While a process accepts an image job, or prepares a batch at a vendor, it
 * reserves the estimated cost as for any request. Then the row of the range gets the estimate, and every process reserves
 * what the rows say, under the name of the range: it does not matter which process wrote it, which one runs the lines,
 * and which ones end. The lines are charged as requests, and the budgets of key and project, which have reserved them, do
 * not refuse them. The budgets of end users and tags reserve a line when it runs.
 */
import type { Budgets } from "../budgets/budgets.ts";
import type { RequestCharging } from "../budgets/charge-request.ts";
import { toNanos } from "../lib/nano-dollars.ts";
import { createSerialize } from "../lib/tasks.ts";
import type { Caller, PermittedModel } from "../request/caller.ts";
import { RequestRecord } from "../request/request-record.ts";
import type { Reservation } from "../request/reservation.ts";
import type { JobStore } from "../storage/sql/job-store.ts";
import type { JobLine } from "./job-kind.ts";

interface JobBudgetOptions {
  readonly charging: Pick<RequestCharging, "reserve">;
  readonly budgets: Pick<Budgets, "setJobEntries">;
  readonly store: Pick<JobStore, "listReserved">;
  /** The budgets of an API key. Undefined: it has none, or was revoked. */
  readonly budgetsOf: (keyId: string) => Caller["budgets"];
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** Lines whose cost is to be reserved. */
export interface ChargedLines {
  readonly caller: Caller;
  readonly model: PermittedModel;
  readonly operation: JobLine["operation"];
}

export type JobBudget = ReturnType<typeof createJobBudget>;

export function createJobBudget(options: JobBudgetOptions) {
  const { charging, budgets, store, budgetsOf, now } = options;
  const inTurn = createSerialize();
  /** A refresh that has not begun: it sees every row that was written until now. */
  let next: Promise<void> | undefined;

  const readRows = async (): Promise<void> => {
    next = undefined;
    const reserved = await store.listReserved();
    const entries = reserved.map(({ jobId, number, keyId, dollars }) => ({
      id: `${jobId}-${number}`,
      version: 0,
      amounts: (budgetsOf(keyId) ?? []).map((owner) => ({ owner, nanos: toNanos(dollars) })),
    }));
    budgets.setJobEntries(entries, now());
  };

  return {
    /**
     * For lines that no row reserves yet: the cost of a query, or an amount in US dollars. Null: it is unknown. Throws
     * GatewayError if a budget is too small. Undefined: there is no budget.
     */
    reserve: async (
      name: string,
      { caller, model, operation }: ChargedLines,
      cost: { readonly query: unknown } | { readonly dollars: number | null },
    ): Promise<Reservation | undefined> => {
      const record = new RequestRecord(name, operation, now());
      record.caller = caller;
      record.model = model.id;
      record.permittedModel = model;
      const request = { operation, model, record, isQueued: true } as const;
      await charging.reserve(
        "query" in cost
          ? { ...request, query: cost.query }
          : { ...request, query: undefined, estimate: estimateOf(cost.dollars) },
      );
      return record.reservation;
    },
    /** Reserves what the rows say. To be called every second, and after a row has changed. */
    refresh: (): Promise<void> => {
      next ??= inTurn(readRows);
      return next;
    },
  };
}

const estimateOf = (dollars: number | null) => ({
  dollars: dollars ?? undefined,
  isCertain: dollars !== null,
});
