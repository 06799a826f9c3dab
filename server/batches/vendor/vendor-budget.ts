/**
 * Budgets of lines at a vendor: the estimated cost is reserved when the vendor's batch is created, and replaced by the
 * actual cost when its results have arrived.
 */
import type { RequestCharging } from "../../budgets/charge-request.ts";
import { errorMessage } from "../../lib/error-code.ts";
import type { Log } from "../../lib/log.ts";
import type { Caller, PermittedModel } from "../../request/caller.ts";
import { RequestRecord } from "../../request/request-record.ts";
import type { Reservation } from "../../request/reservation.ts";
import type { BatchOperation } from "../stored-batch.ts";

export interface Payer {
  readonly caller: Caller;
  readonly model: PermittedModel;
  readonly operation: BatchOperation;
}

interface VendorBudgetOptions {
  readonly charging: Pick<RequestCharging, "reserve">;
  /** Whether the job has ended, in any process. */
  readonly hasEnded: (jobId: string) => Promise<boolean>;
  readonly log: Pick<Log, "warn">;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** A range of a job. */
interface RangeName {
  readonly jobId: string;
  readonly number: number;
}

export type VendorBudget = ReturnType<typeof createVendorBudget>;

export function createVendorBudget({ charging, hasEnded, log, now }: VendorBudgetOptions) {
  const held = new Map<string, { readonly jobId: string; readonly reservation: Reservation }>();
  const keyOf = ({ jobId, number }: RangeName): string => `${jobId} ${number}`;

  const reserve = async (
    { jobId, number }: RangeName,
    { caller, model, operation }: Payer,
    dollars: number | null,
  ): Promise<Reservation | undefined> => {
    const record = new RequestRecord(`${jobId}-vendor-${number}`, operation, now());
    record.caller = caller;
    const estimate = { dollars: dollars ?? undefined, isCertain: dollars !== null };
    await charging.reserve({
      operation,
      query: undefined,
      model,
      record,
      estimate,
      isQueued: true,
    });
    return record.cost.reservation;
  };

  const take = (range: RangeName): Reservation | undefined => {
    const found = held.get(keyOf(range));
    held.delete(keyOf(range));
    return found?.reservation;
  };

  return {
    /** Throws GatewayError if a budget is too small. */
    hold: async (range: RangeName, payer: Payer, dollars: number | null): Promise<void> => {
      if (held.has(keyOf(range))) return;
      const reservation = await reserve(range, payer, dollars);
      if (reservation) held.set(keyOf(range), { jobId: range.jobId, reservation });
    },
    release: (range: RangeName): void => take(range)?.release(),
    releaseJob: (id: string): void => {
      for (const [key, { jobId, reservation }] of held) {
        if (jobId !== id) continue;
        reservation.release();
        held.delete(key);
      }
    },
    /** Releases what is held for jobs that another process has ended. */
    sweep: async (): Promise<void> => {
      for (const [key, { jobId, reservation }] of held) {
        if (!(await hasEnded(jobId))) continue;
        reservation.release();
        held.delete(key);
      }
    },
    /** A reservation for each line whose result has arrived: its cost is charged, and never refused. */
    charge: (range: RangeName, payer: Payer): Reservation => {
      const settle = async (dollars: number): Promise<void> => {
        try {
          (await reserve(range, payer, 0))?.settle(dollars);
        } catch (error) {
          const reason = errorMessage(error);
          log.warn("vendor-line-not-charged", { job: range.jobId, dollars, reason });
        }
      };
      return {
        estimate: undefined,
        settle: (cost = 0, additional = 0) => void settle(cost + additional),
        release: () => undefined,
      };
    },
  };
}
