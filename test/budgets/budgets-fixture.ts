/** Budgets without a gateway: earlier spending comes from a map, and emitted events go to a list. */

import {
  type Budget,
  type BudgetedOwner,
  endUsersAndTagsText,
  isEndUserOrTag,
} from "../../contract/limits-and-budgets.ts";
import {
  type Budgets,
  createBudgets,
  type Estimate,
  type ThresholdEvent,
} from "../../server/budgets/budgets.ts";
import { OwnerBudgets } from "../../server/budgets/owner-budgets.ts";
import { Accounts } from "../../server/ledger/accounts.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { toNanos } from "../../server/lib/nano-dollars.ts";
import type { Reservation } from "../../server/request/reservation.ts";
import type { LedgerRow } from "../../server/storage/ports/ledger-row.ts";
import { nanosOf, spendKey, spendKeysOf } from "../../server/storage/sql/spend-tally.ts";
import { ledgerRow } from "../ledger/ledger-fixture.ts";

export const noon = Date.UTC(2026, 10, 15, 12);
export const dayMs = 86_400_000;

export const budgeted = (
  budget: Partial<Budget>,
  scope: BudgetedOwner["scope"] = "key",
  name = "ci",
): BudgetedOwner => ({ scope, id: name, name, budget: { unknownPrice: "allow", ...budget } });

export const certain = (dollars: number): Estimate => ({ dollars, isCertain: true });
export const unknownCost: Estimate = { dollars: undefined, isCertain: false };

/** What owners have spent: before, by scope, id and period, such as `key ci total`; and in rows that are not stored. */
export const createTestAccounts = (
  before: Readonly<Record<string, number>> = {},
  read: string[] = [],
): Accounts =>
  new Accounts({
    readSpent: ({ scope, id, period }) => {
      read.push(`${scope} ${id} ${period}`);
      return toNanos(before[`${scope} ${id} ${period}`] ?? 0);
    },
    clock: () => 0,
  });

/** Reserves the cost of a request without shared budgets. Throws if a budget is too small. */
export function reserveIn(
  budgets: Pick<Budgets, "request">,
  charged: readonly BudgetedOwner[],
  estimate: Estimate,
  at: number,
): Reservation {
  let reserved: Reservation | undefined;
  const onReserved = (reservation: Reservation): void => {
    reserved = reservation;
  };
  budgets.request(charged, estimate, at, onReserved).reserveHere();
  if (!reserved) throw new Error("nothing was reserved");
  return reserved;
}

/** A reservation, and the ledger row of its request. */
export interface TestReservation extends Reservation {
  /** Ends the request. Undefined if its cost is unknown, and its estimate is charged. */
  settle(cost: number | undefined): void;
}

/** The ledger row of a request of these owners. */
export function rowOf(
  charged: readonly BudgetedOwner[],
  at: number,
  costs: Partial<LedgerRow>,
): LedgerRow {
  const idOf = (...scopes: BudgetedOwner["scope"][]) =>
    charged.find(({ scope }) => scopes.includes(scope))?.id;
  const endUsersAndTags = charged.filter(isEndUserOrTag);
  const nameOf = (id: string) => id.slice(id.indexOf("\t") + 1);
  return ledgerRow(at, {
    ...costs,
    keyId: idOf("key") ?? "another",
    project: idOf("project") ?? idOf("end_user", "tag")?.split("\t")[0] ?? null,
    budgets: endUsersAndTagsText(
      endUsersAndTags.map((owner) => ({ ...owner, name: nameOf(owner.id) })),
    ),
  });
}

/** The ledger's database has the row. */
function store(accounts: Accounts, row: LedgerRow): void {
  const before = new Map([...accounts].map(({ name, spent }) => [name, spent]));
  const sums = spendKeysOf(row).map((key) => ({
    ...key,
    nanos: (before.get(spendKey(key)) ?? 0) + nanosOf(row),
  }));
  accounts.store([row], sums);
}

/** The reservation of a request that ends with a row, as the pipeline does it. */
export function withRow(
  reservation: Reservation,
  accounts: Accounts,
  charged: readonly BudgetedOwner[],
  at: number,
  onEnded: (row: LedgerRow) => void = () => undefined,
): TestReservation {
  let isOpen = true;
  const end = (): boolean => {
    const wasOpen = isOpen;
    isOpen = false;
    reservation.release();
    return wasOpen;
  };
  return {
    estimate: reservation.estimate,
    dollars: reservation.dollars,
    isLikely: reservation.isLikely,
    release: () => void end(),
    settle: (cost) => {
      if (!end()) return;
      const row = rowOf(charged, at, { cost: cost ?? reservation.estimate ?? 0 });
      accounts.end(row);
      onEnded(row);
    },
  };
}

export type TestBudgets = ReturnType<typeof createTestBudgets>["budgets"];

export function createTestBudgets(
  before: Readonly<Record<string, number>> = {},
  isAfterKill = false,
) {
  const events: ThresholdEvent[] = [];
  const read: string[] = [];
  const accounts = createTestAccounts(before, read);
  const owners = new OwnerBudgets({ accounts, isAfterKill });
  const all = createBudgets({ owners, emit: (event) => events.push(event) });
  const budgets = {
    ...all,
    reserve: (charged: readonly BudgetedOwner[], estimate: Estimate, at: number) =>
      withRow(reserveIn(all, charged, estimate, at), accounts, charged, at, (row) =>
        store(accounts, row),
      ),
  };
  return { budgets, events, read, accounts, store: (row: LedgerRow) => store(accounts, row) };
}

/** The error of a reservation that must be refused. */
export function refusal(reserve: () => unknown): GatewayError {
  try {
    reserve();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error("the reservation was not refused");
}
