/**
 * Budgets of lines at a vendor: the estimated cost is reserved when the vendor's batch is created, and replaced by the
 * actual cost when its results have arrived.
 */
import type { RequestCharging } from "../../budgets/charge-request.ts";
import { ignoreRejection } from "../../lib/tasks.ts";
import type { Caller, PermittedModel } from "../../request/caller.ts";
import { RequestRecord } from "../../request/request-record.ts";
import type { Reservation } from "../../request/reservation.ts";

export interface Payer {
  readonly caller: Caller;
  readonly model: PermittedModel;
}

interface VendorBudgetOptions {
  readonly charging: Pick<RequestCharging, "reserve">;
  /** Whether the job has ended, in any process. */
  readonly hasEnded: (jobId: string) => Promise<boolean>;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** A range of a job. */
interface RangeName {
  readonly jobId: string;
  readonly number: number;
}

export type VendorBudget = ReturnType<typeof createVendorBudget>;

export function createVendorBudget({ charging, hasEnded, now }: VendorBudgetOptions) {
  const held = new Map<string, { readonly jobId: string; readonly reservation: Reservation }>();
  const keyOf = ({ jobId, number }: RangeName): string => `${jobId} ${number}`;

  const reserve = async (
    { jobId, number }: RangeName,
    { caller, model }: Payer,
    dollars: number | null,
  ): Promise<Reservation | undefined> => {
    const record = new RequestRecord(`${jobId}-vendor-${number}`, "embeddings", now());
    record.caller = caller;
    const estimate = { dollars: dollars ?? undefined, isCertain: dollars !== null };
    await charging.reserve({
      operation: "embeddings",
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
      const settle = async (dollars: number): Promise<void> =>
        (await reserve(range, payer, 0))?.settle(dollars);
      return {
        estimate: undefined,
        settle: (cost = 0, additional = 0) => ignoreRejection(settle(cost + additional)),
        release: () => undefined,
      };
    },
  };
}
