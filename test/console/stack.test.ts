/** Stacked bars: their sums, and the part of a bar that a pointer is over. */
import { expect, test } from "bun:test";
import { seriesAt, stackedSums } from "../../console/src/charts/stack.ts";

const series = [
  [1, 0, null],
  [2, 5, 4],
  [3, 0, 1],
];

test("each sum contains the series below it", () => {
  expect(stackedSums(series)).toEqual([
    [1, 0, 0],
    [3, 5, 4],
    [6, 5, 5],
  ]);
});

test("a height of a bar belongs to one series, and no series is above the bar", () => {
  expect([0.5, 2.9, 3.1, 6.1].map((height) => seriesAt(series, 0, height))).toEqual([
    0,
    1,
    2,
    undefined,
  ]);
  expect(seriesAt(series, 1, 4)).toBe(1);
});
