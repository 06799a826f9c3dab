/** Stacked series: the sums up to each of them, and which of them is at a height. */
type Values = readonly (number | null)[];

/**
 * The sums of the first series, of the first two, and so on. The chart draws the last sum first and each earlier one
 * over it, so that a part of each bar stays visible.
 */
export function stackedSums(series: readonly Values[]): number[][] {
  const sums: number[][] = [];
  for (const values of series) {
    const below = sums.at(-1);
    sums.push(values.map((value, at) => (value ?? 0) + (below?.[at] ?? 0)));
  }
  return sums;
}

/** The series at a height of the stack of period `at`. Undefined if the height is above the stack. */
export function seriesAt(
  series: readonly Values[],
  at: number,
  height: number,
): number | undefined {
  if (height < 0) return undefined;
  const found = stackedSums(series.map((values) => [values[at] ?? null])).findIndex(
    ([sum = 0]) => height <= sum,
  );
  return found === -1 ? undefined : found;
}
