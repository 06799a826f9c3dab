/** Money: whole nano-dollars, so that sums are exact. Rows, messages and the admin API have US dollars. */

const nanosPerDollar = 1e9;

export const toNanos = (dollars: number): number => Math.round(dollars * nanosPerDollar);

export const toDollars = (nanos: number): number => nanos / nanosPerDollar;

/** Sums of floating-point numbers have digits that are no money, such as 0.009899999999999999. */
export const roundDollars = (dollars: number): number => toDollars(toNanos(dollars));

/** The amount of a ledger row. Null if it is unknown, or no amount of money. */
export const recordedDollars = (dollars: number | undefined): number | null =>
  dollars !== undefined && dollars >= 0 && dollars < Number.POSITIVE_INFINITY
    ? roundDollars(dollars)
    : null;
