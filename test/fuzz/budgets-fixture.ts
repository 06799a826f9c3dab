/**
 * Budget simulation in virtual time: requests start and end in any order, clocks jump, processes crash; with its
 * invariants.
 */
import { expect } from "bun:test";
import type { BudgetedOwner, BudgetOwner } from "../../contract/limits-and-budgets.ts";
import { type Budgets, createBudgets, type Estimate } from "../../server/budgets/budgets.ts";
import { OwnerBudgets } from "../../server/budgets/owner-budgets.ts";
import { Accounts } from "../../server/ledger/accounts.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { recordedDollars, toDollars, toNanos } from "../../server/lib/nano-dollars.ts";
import type { Reservation } from "../../server/request/reservation.ts";
import type { LedgerRow } from "../../server/storage/ports/ledger-row.ts";
import type { SpendKey } from "../../server/storage/ports/ledger-store.ts";
import { spendKeysOf } from "../../server/storage/sql/spend-tally.ts";
import { reserveIn } from "../budgets/budgets-fixture.ts";
import { ledgerRow } from "../ledger/ledger-fixture.ts";

/** Stores ledger rows, and sums their spending. */
export interface TestLedger {
  write(row: LedgerRow): void;
  spent(owner: BudgetOwner, period: string): number;
}

/** The simplest model: every sum reads every row. */
export function plainLedger(): TestLedger {
  const rows: { readonly row: LedgerRow; readonly iso: string; readonly dollars: number }[] = [];
  return {
    write: (row) => void rows.push({ row, iso: isoOf(row.at), dollars: dollarsOf(row) }),
    spent: ({ scope, id }, period) => {
      let sum = 0;
      for (const { row, iso, dollars } of rows) {
        const isTheirs = (scope === "key" ? row.keyId : row.project) === id;
        if (isTheirs && (period === "total" || iso.startsWith(period))) sum += dollars;
      }
      return sum;
    },
  };
}

const dollarsOf = ({ cost, estimatedCost: estimate }: LedgerRow): number =>
  (cost ?? 0) + (estimate ?? 0);

const isoOf = (at: number): string => new Date(at).toISOString();
const nameOf = { day: 10, month: 7, total: 0 } as const;
const periodName = (period: keyof typeof nameOf, at: number): string =>
  period === "total" ? "total" : isoOf(at).slice(0, nameOf[period]);

/** Amounts are whole nano-dollars. */
export const whole = (dollars: number): number => toDollars(toNanos(dollars));

interface Open {
  readonly key: string;
  readonly project: string;
  readonly at: number;
  readonly charged: readonly BudgetedOwner[];
  readonly estimate: Estimate;
  readonly reservation: Reservation;
  /** The observed reservation in each budget. */
  readonly held: ReadonlyMap<string, Held>;
}

interface Held {
  readonly dollars: number;
  /** Less than the maximum cost is reserved. */
  readonly stretched: boolean;
}

const close = (a: number, b: number): boolean =>
  Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a), Math.abs(b));

export class BudgetSimulation {
  readonly ledger: TestLedger;
  readonly emitted: string[] = [];
  open: Open[] = [];
  /** The sums of the rows, computed independently of the gateway. */
  readonly #spent = new Map<string, number>();
  #budgets: Budgets;
  #accounts!: Accounts;
  readonly #maxAccounts: number;

  constructor(ledger: TestLedger, maxAccounts: number) {
    this.ledger = ledger;
    this.#maxAccounts = maxAccounts;
    this.#budgets = this.#start();
  }

  /** The process crashes: requests in flight are lost, written rows are read again. */
  restart(): void {
    this.open = [];
    this.emitted.length = 0;
    this.#budgets = this.#start();
  }

  /** True if the request was admitted. */
  begin(
    key: string,
    project: string,
    charged: readonly BudgetedOwner[],
    { dollars, maxDollars, isCertain }: Estimate,
    at: number,
  ): boolean {
    const estimate: Estimate = {
      dollars: dollars === undefined ? undefined : whole(dollars),
      ...(maxDollars !== undefined && { maxDollars: whole(maxDollars) }),
      isCertain,
    };
    const isPicky = charged.some(({ budget }) => budget.unknownPrice === "refuse");
    const unpriced = isPicky && (!estimate.isCertain || estimate.dollars === undefined);
    const before = this.#lines(charged, at);
    const verdict = unpriced ? "price_unknown" : judge(before, estimate);
    let outcome = "in";
    try {
      const reservation = reserveIn(this.#budgets, charged, estimate, at);
      const held = new Map<string, Held>();
      for (const [line, { name, reserved, ...was }] of this.#lines(charged, at).entries()) {
        const reservedNow = reservationOf(estimate, reserved - (before[line]?.reserved ?? 0));
        // Only where the maximum cost did not fit, and for one request at a time.
        if (reservedNow.stretched) {
          if (was.isStretched || fits(before[line], most(estimate)) > 1e-7)
            expect(`${name} is stretched`).toBe("never");
        }
        held.set(name, reservedNow);
      }
      this.open.push({ key, project, at, charged, estimate, reservation, held });
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      outcome = error.kind;
      const { retryAfterMs: wait = 1 } = error.details;
      if (!(wait >= 1 && wait <= 86_400_000)) expect(wait).toBeWithin(1, 86_400_001);
    }
    if (verdict !== "either" && verdict !== outcome) expect(outcome).toBe(verdict);
    this.check(charged, at);
    return outcome === "in";
  }

  /** `cost`: undefined if it stays unknown; null if nothing was billed. */
  end(which: number, given: number | undefined | null): void {
    const cost = typeof given === "number" ? whole(given) : given;
    const [request] = this.open.splice(which, 1);
    if (!request) return;
    const { key, project, at, charged, reservation, held } = request;
    const before = this.#lines(charged, at);
    reservation.release();
    if (cost !== null) {
      const counted =
        cost === undefined ? { estimatedCost: reservation.estimate ?? null } : { cost };
      this.#write(ledgerRow(at, { keyId: key, project, ...counted }));
    }
    // A reservation ends once.
    reservation.release();
    const after = this.#lines(charged, at);
    for (const [line, { spent, reserved, limit, name }] of after.entries()) {
      const was = before[line];
      // Beyond the reservation, only what this request cost above its estimate.
      const error = Math.max(
        0,
        (cost ?? reservation.estimate ?? 0) - (held.get(name)?.dollars ?? 0),
      );
      const most = (was?.spent ?? 0) + (was?.reserved ?? 0) + error + (1 + limit) * 1e-9;
      if (spent + reserved > most) expect(spent + reserved).toBeLessThanOrEqual(most);
    }
    this.check(charged, at);
  }

  /** The budgets report the sum of the rows and of the requests in flight. */
  check(charged: readonly BudgetedOwner[], at: number): void {
    for (const budgeted of charged) {
      for (const { period, spent, reserved } of this.#budgets.status(budgeted, at)) {
        const name = periodName(period, at);
        const mine = this.open.filter(
          (request) =>
            (budgeted.scope === "key" ? request.key : request.project) === budgeted.id &&
            periodName(period, request.at) === name &&
            // Before a reload it may have been charged to fewer budgets.
            request.charged.some(
              ({ scope, id, budget }) =>
                scope === budgeted.scope && id === budgeted.id && budget[period] !== undefined,
            ),
        );
        const line = `${budgeted.scope} ${budgeted.id} ${name}`;
        const held = mine.reduce((sum, request) => sum + (request.held.get(line)?.dollars ?? 0), 0);
        if (spent < 0 || reserved < 0) expect(`${spent} ${reserved}`).toBe("not negative");
        if (mine.length === 0 && reserved !== 0) expect(reserved).toBe(0);
        if (!close(reserved, held)) expect(reserved).toBe(held);
        const rows = this.#spent.get(`${budgeted.scope} ${budgeted.id} ${name}`) ?? 0;
        if (!close(spent, rows)) expect(`${budgeted.scope} ${name}: ${spent}`).toBe(`${rows}`);
      }
    }
  }

  #lines(charged: readonly BudgetedOwner[], at: number) {
    return charged.flatMap((budgeted) =>
      this.#budgets.status(budgeted, at).map((status) => {
        const name = `${budgeted.scope} ${budgeted.id} ${periodName(status.period, at)}`;
        const isStretched = this.open.some((request) => request.held.get(name)?.stretched);
        return { ...status, name, isStretched };
      }),
    );
  }

  #write(given: LedgerRow): void {
    const row = {
      ...given,
      cost: recordedDollars(given.cost ?? undefined),
      estimatedCost: recordedDollars(given.estimatedCost ?? undefined),
    };
    this.#accounts.end(row);
    this.ledger.write(row);
    const sums = spendKeysOf(row).map((key) => ({ ...key, nanos: this.#stored(key) }));
    this.#accounts.store([row], sums);
    const dollars = dollarsOf(row);
    for (const period of ["day", "month", "total"] as const) {
      for (const who of [`key ${row.keyId}`, `project ${row.project}`]) {
        const name = `${who} ${periodName(period, row.at)}`;
        this.#spent.set(name, (this.#spent.get(name) ?? 0) + dollars);
      }
    }
  }

  /** Nano-dollars. */
  #stored(key: SpendKey): number {
    return toNanos(this.ledger.spent(key, key.period));
  }

  #start(): Budgets {
    this.#accounts = new Accounts({
      readSpent: (key) => this.#stored(key),
      clock: () => 0,
      max: this.#maxAccounts,
    });
    return createBudgets({
      owners: new OwnerBudgets({ accounts: this.#accounts }),
      emit: ({ deduplicationKey, data }) => {
        expect(data.spent).toBeGreaterThan(0);
        this.emitted.push(deduplicationKey);
      },
    });
  }
}

const most = (estimate: Estimate): number => estimate.maxDollars ?? estimate.dollars ?? 0;

function reservationOf(estimate: Estimate, reserved: number): Held {
  const [low, high] = [estimate.dollars ?? 0, most(estimate)];
  const stretched = Math.abs(reserved - low) < Math.abs(reserved - high);
  return { dollars: stretched ? low : high, stretched };
}

interface Line {
  readonly limit: number;
  readonly spent: number;
  readonly reserved: number;
  readonly isStretched: boolean;
}

/** What is left after this cost, as a share of the budget. Below zero: it does not fit. */
const fits = (line: Line | undefined, dollars: number): number =>
  line ? (line.limit - line.spent - line.reserved - dollars) / line.limit : 1;

/** The expected verdict on a request; `either` where rounding decides. */
function judge(lines: readonly Line[], estimate: Estimate): "in" | "over_budget" | "either" {
  if (estimate.isCertain && estimate.dollars === 0) return "in";
  const left = lines.map((line) =>
    Math.max(
      fits(line, most(estimate)),
      // One request at a time, if its likely cost fits.
      line.isStretched ? Number.NEGATIVE_INFINITY : fits(line, estimate.dollars ?? 0),
    ),
  );
  const least = Math.min(...left);
  return least > 1e-7 ? "in" : least < -1e-7 ? "over_budget" : "either";
}
