/** Sums of floating-point numbers have digits that are no money, such as 0.009899999999999999: whole nano-dollars. */
export const roundDollars = (dollars: number): number => Math.round(dollars * 1e9) / 1e9;
