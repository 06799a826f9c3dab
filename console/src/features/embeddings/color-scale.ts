/** The colors of the points of a map by a column of the file: one for each category, or a gradient for numbers. */
import { viridis } from "./viridis.ts";

export interface Column {
  readonly name: string;
  /** In the order of the entries. An entry without a value has an empty text. */
  readonly values: readonly string[];
}

type ColorScale =
  | {
      readonly type: "categories";
      readonly colors: readonly string[];
      /** The most frequent first. The last one may stand for all others. */
      readonly legend: readonly { readonly label: string | undefined; readonly color: string }[];
    }
  | {
      readonly type: "numbers";
      readonly colors: readonly string[];
      readonly low: number;
      readonly high: number;
    };

/** Tableau 10 without its gray, which is the color of all other values. */
const palette = [
  "#4e79a7",
  "#f28e2b",
  "#e15759",
  "#76b7b2",
  "#59a14f",
  "#edc948",
  "#b07aa1",
  "#ff9da7",
  "#9c755f",
] as const;
const otherColor = "#8b919c";

/** More different numbers than this are a quantity, such as a price; fewer are categories, such as a rating. */
const maxNumberCategories = 9;

export function colorScale({ values }: Column): ColorScale {
  const numbers = values.map((value) => (value.trim() === "" ? Number.NaN : Number(value)));
  const known = numbers.filter((value, at) => values[at] !== "" || !Number.isNaN(value));
  const isQuantity = known.every(Number.isFinite) && new Set(known).size > maxNumberCategories;
  return isQuantity ? numberScale(numbers, known) : categoryScale(values);
}

function numberScale(numbers: readonly number[], known: readonly number[]): ColorScale {
  const low = known.reduce((least, value) => Math.min(least, value));
  const high = known.reduce((most, value) => Math.max(most, value));
  const colorOf = (value: number): string =>
    Number.isNaN(value)
      ? otherColor
      : `rgb(${viridis((value - low) / (high - low || 1)).join(" ")})`;
  return { type: "numbers", colors: numbers.map(colorOf), low, high };
}

function categoryScale(values: readonly string[]): ColorScale {
  const counts = new Map<string, number>();
  for (const value of values) if (value !== "") counts.set(value, (counts.get(value) ?? 0) + 1);
  const frequent = [...counts].sort((a, b) => b[1] - a[1]).slice(0, palette.length);
  const colorOf = new Map(frequent.map(([value], at) => [value, palette[at] as string]));
  const colors = values.map((value) => colorOf.get(value) ?? otherColor);
  return {
    type: "categories",
    colors,
    legend: [
      ...[...colorOf].map(([label, color]) => ({ label, color })),
      ...(colors.includes(otherColor) ? [{ label: undefined, color: otherColor }] : []),
    ],
  };
}

/** The columns by which points can be told apart. */
export const colorColumns = (columns: readonly Column[]): readonly Column[] =>
  columns.filter(({ values }) => {
    const different = new Set(values.filter((value) => value !== "")).size;
    return (
      different > 1 &&
      (different < values.length || colorScale({ name: "", values }).type === "numbers")
    );
  });
