/**
 * Budgets of batches at vendors. While a process prepares a batch, it reserves the estimated cost as for any request.
 * Before the batch is created, the row of its range gets the estimate, and from then on every process reserves what the
 * rows say, under the name of the range: it does not matter which process created the batch, and which ones end. The
 * lines are charged one by one, as requests, when their results have arrived.
 */
import type { Budgets } from "../../budgets/budgets.ts";
import type { RequestCharging } from "../../budgets/charge-request.ts";
import { createSerialize } from "../../lib/tasks.ts";
import type { Caller, PermittedModel } from "../../request/caller.ts";
import { RequestRecord } from "../../request/request-record.ts";
import type { Reservation } from "../../request/reservation.ts";
import type { JobStore } from "../../storage/sql/job-store.ts";
import type { BatchOperation } from "../stored-batch.ts";

export interface Payer {
  readonly caller: Caller;
  readonly model: PermittedModel;
  readonly operation: BatchOperation;
}

interface VendorBudgetOptions {
  readonly charging: Pick<RequestCharging, "reserve">;
  readonly budgets: Pick<Budgets, "setStanding">;
  readonly store: Pick<JobStore, "listVendorCosts">;
  /** The budgets of an API key. Undefined: it has none, or was revoked. */
  readonly budgetsOf: (keyId: string) => Caller["budgets"];
  /** Unix milliseconds. */
  readonly now: () => number;
}

export type VendorBudget = ReturnType<typeof createVendorBudget>;

export function createVendorBudget(options: VendorBudgetOptions) {
  const { charging, budgets, store, budgetsOf, now } = options;
  const inTurn = createSerialize();
  return {
    /** For a batch that is being prepared. Throws GatewayError if a budget is too small. Undefined: there is no budget. */
    reserve: async (
      name: string,
      { caller, model, operation }: Payer,
      dollars: number | null,
    ): Promise<Reservation | undefined> => {
      const record = new RequestRecord(name, operation, now());
      record.caller = caller;
      const estimate = { dollars: dollars ?? undefined, isCertain: dollars !== null };
      const request = { operation, query: undefined, model, record, estimate } as const;
      await charging.reserve({ ...request, isQueued: true });
      return record.cost.reservation;
    },
    /** Reserves what the rows say. To be called every second, and after a row has changed. */
    refresh: (): Promise<void> =>
      inTurn(async () => {
        const costs = await store.listVendorCosts();
        const standing = costs.map(({ jobId, number, keyId, dollars }) => ({
          hold: `${jobId}-${number}`,
          charged: budgetsOf(keyId) ?? [],
          dollars,
        }));
        budgets.setStanding(standing, now());
      }),
  };
}
