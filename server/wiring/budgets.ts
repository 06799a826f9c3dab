/** Puts together what keeps calls within budgets: what was spent, what is held, and whom it is told. */

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
import { ReservationLog, recoverReservations } from "../storage/reservation-log.ts";
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
        // Who cannot see what was spent cannot say that something is left.
        throw new GatewayError(
          "ledger_unavailable",
          "The gateway cannot read what was spent of a budget. Ask its operator to look at the disk under VEXEL_DATA.",
          { retryAfterMs: 5000, cause, logDetail: String(cause) },
        );
      }
    },
    emit: (told) => {
      log.warn("budget-threshold", { ...told.data });
      emit(told);
    },
  });
  const noted = attempt(log);
  const onError = (error: unknown): void =>
    noted(() => {
      throw error;
    });
  const journal = new ReservationLog({ folder, newId: () => Bun.randomUUIDv7(), onError });
  return {
    budgets,
    charging: createRequestCharging({
      budgets,
      capabilities: traits,
      reservationLog: {
        begin: (call, soon) => noted(() => journal.begin(call, soon)),
        end: (requestId) => journal.end(requestId),
      },
      queue: new BudgetQueue({
        waitMs: settings.VEXEL_QUEUE_TIMEOUT * 1000,
        max: settings.VEXEL_MAX_QUEUE,
        timers: realTimers,
        clock,
      }),
    }),
    close: () => noted(() => journal.close()),
  };
}

/** Only a process that is killed needs the note, so a disk that takes none stops no call. It is told once. */
function attempt(log: Log): (write: () => void) => void {
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

/** Before the ledger is opened: what earlier processes held when they were killed counts as spent. */
export function recoverReservationsAtStart(folder: string, log: Log): void {
  try {
    const { requests, unreadable } = recoverReservations(folder);
    if (requests > 0) log.warn("reservations-recovered", { requests });
    if (unreadable > 0) log.error("ledger-rows-lost", { rows: unreadable });
  } catch (error) {
    // They stay where they are, for the next start.
    log.error("reservations-unwritable", { reason: reasonOf(error) });
  }
}

const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
