/** Money: whole nano-dollars, so that sums are exact. Rows, messages and the admin API have US dollars. */

const nanosPerDollar = 1e9;

export const toNanos = (dollars: number): number => Math.round(dollars * nanosPerDollar);

export const toDollars = (nanos: number): number => nanos / nanosPerDollar;
