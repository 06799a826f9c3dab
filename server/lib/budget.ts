/**
 * Budgets (spend limits) in US dollars: of an API key, or of a project, which is a group of keys. Daily and monthly
 * budgets reset at midnight UTC.
 */

export interface Budget extends Readonly<Partial<Record<Period, number>>> {
  /** Whether requests of unknown price are allowed or refused. */
  readonly unknownPrice: "allow" | "refuse";
}

/** The API key or project that a request is charged to. */
export interface BudgetOwner {
  readonly scope: "key" | "project";
  /** A key's id, a project's name. */
  readonly id: string;
}

/** An API key or project with a budget. */
export interface BudgetedOwner extends BudgetOwner {
  /** Shown in messages. */
  readonly name: string;
  readonly budget: Budget;
}

/** The part of the budgets that is reserved for one request. */
export interface Reservation {
  /** The estimated cost in US dollars. Undefined if it could not be estimated. */
  readonly estimate: number | undefined;
  /**
   * Settles the request. An unknown cost counts as the estimated cost, which is rather too high than too low.
   * `additionalCost`: the cost of other attempts that may have been billed.
   */
  settle(cost: number | undefined, additionalCost?: number): void;
  /** Releases the reservation of a request that cannot have been billed. */
  release(): void;
}

/** Budget periods in UTC: days and months by name, such as 2026-11-15 and 2026-11, and the total. */
export const periods = ["day", "month", "total"] as const;
export type Period = (typeof periods)[number];

const dayMs = 86_400_000;
let cached: { readonly day: number; readonly names: Readonly<Record<Period, string>> } | undefined;

/** `at`: Unix milliseconds. */
export function periodNames(at: number): Readonly<Record<Period, string>> {
  const day = Math.floor(at / dayMs);
  // Cached: all requests of a day get the same names.
  if (cached?.day !== day) {
    const name = new Date(day * dayMs).toISOString().slice(0, -14);
    cached = { day, names: { day: name, month: name.slice(0, -3), total: "total" } };
  }
  return cached.names;
}

/** The end of the period that `at` is in. Undefined for the total, which does not end. */
export function endOfPeriod(period: Period, at: number): number | undefined {
  if (period === "total") return undefined;
  if (period === "day") return (Math.floor(at / dayMs) + 1) * dayMs;
  const date = new Date(at);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
}
