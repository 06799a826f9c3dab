/** Wires budgets: counters, reservations, the reservation log, and threshold events. */

import { BudgetQueue } from "../budgets/budget-queue.ts";
import { type Budgets, createBudgets } from "../budgets/budgets.ts";
import {
  createRequestCharging,
  type RequestCharging,
  type RequestChargingOptions,
} from "../budgets/charge-request.ts";
import type { Emit } from "../events/events.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { realTimers } from "../lib/timers.ts";
import type { Log } from "../observe/log.ts";
import type { Settings } from "../settings.ts";
import { ReservationLog, recoverReservations } from "../storage/files/reservation-log.ts";
import type { LedgerWiring } from "./ledger.ts";

export interface BudgetWiringOptions extends Pick<RequestChargingOptions, "capabilities"> {
  readonly settings: Settings;
  readonly folder: string;
  readonly spent: LedgerWiring["spent"];
  readonly log: Log;
  readonly emit: Emit;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

export interface BudgetWiring {
  readonly budgets: Budgets;
  readonly charging: RequestCharging;
  close(): void;
}

export function wireBudgets(options: BudgetWiringOptions): BudgetWiring {
  const { settings, folder, spent, capabilities: traits, log, emit, clock } = options;
  const budgets = createBudgets({
    spentBefore: (spender, period) => {
      try {
        return spent(spender, period);
      } catch (cause) {
        // Without the sum in the ledger, it is unknown whether the budget is used up.
        throw new GatewayError(
          "ledger_unavailable",
          "The gateway cannot read the spending of a budget from its ledger. Ask the operator of this gateway to check the disk of VEXEL_DATA.",
          { retryAfterMs: 5000, cause, logDetail: String(cause) },
        );
      }
    },
    emit: (event) => {
      log.warn("budget-threshold", { ...event.data });
      emit(event);
    },
  });
  const writeSafely = createSafeWrite(log);
  const onError = (error: unknown): void =>
    writeSafely(() => {
      throw error;
    });
  const journal = new ReservationLog({ folder, newId: () => Bun.randomUUIDv7(), onError });
  return {
    budgets,
    charging: createRequestCharging({
      budgets,
      capabilities: traits,
      reservationLog: {
        begin: (request, mayWait) => writeSafely(() => journal.begin(request, mayWait)),
        end: (requestId) => journal.end(requestId),
      },
      queue: new BudgetQueue({
        waitMs: settings.VEXEL_QUEUE_TIMEOUT * 1000,
        max: settings.VEXEL_MAX_QUEUE,
        timers: realTimers,
        clock,
      }),
    }),
    close: () => writeSafely(() => journal.close()),
  };
}

/** Reservations are needed only after a kill, so a disk error does not fail the request. The error is logged once. */
function createSafeWrite(log: Log): (write: () => void) => void {
  let works = true;
  return (write) => {
    try {
      write();
      works = true;
    } catch (error) {
      if (works) log.error("reservations-unwritable", { reason: reasonOf(error) });
      works = false;
    }
  };
}

/** Runs before the ledger is opened: reservations of killed processes count as spent. */
export function recoverReservationsAtStart(folder: string, log: Log): void {
  try {
    const { requests, unreadable } = recoverReservations(folder);
    if (requests > 0) log.warn("reservations-recovered", { requests });
    if (unreadable > 0) log.error("ledger-rows-lost", { rows: unreadable });
  } catch (error) {
    // The files stay for the next start.
    log.error("reservations-unwritable", { reason: reasonOf(error) });
  }
}

const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
