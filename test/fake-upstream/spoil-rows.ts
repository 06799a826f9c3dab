/** The ways in which a list of vectors can be untrue. */

import type { VectorMischief } from "./mischief.ts";
import { fakeVector } from "./vectors.ts";

export interface Row {
  readonly index: number | undefined;
  /** Bytes when it is no whole number of floats. */
  readonly vector: Float32Array | Uint8Array;
  readonly format: "float" | "base64";
}

const lastChanged = (rows: readonly Row[], change: (row: Row) => Row): readonly Row[] =>
  rows.map((row, i) => (i === rows.length - 1 ? change(row) : row));

const shortened = (row: Row): Row => ({ ...row, vector: row.vector.slice(0, -1) });

const holed = (row: Row, value: number): Row => {
  const vector = row.vector.slice();
  vector[Math.floor(vector.length / 2)] = value;
  return { ...row, vector };
};

const odd = (row: Row): Row => ({ ...row, vector: new Uint8Array(7), format: "base64" });

const spoilers: Record<VectorMischief, (rows: readonly Row[]) => readonly Row[]> = {
  missing: (rows) => rows.slice(0, -1),
  extra: (rows) => [
    ...rows,
    { ...rows[0]!, index: rows.length, vector: fakeVector("extra", rows[0]!.vector.length) },
  ],
  none: () => [],
  shuffled: (rows) => rows.toReversed(),
  "lying-index": (rows) => rows.map((row, i) => ({ ...row, index: rows.length - 1 - i })),
  swapped: (rows) => rows.map((row, i) => ({ ...row, vector: rows[rows.length - 1 - i]!.vector })),
  "duplicate-index": (rows) => rows.map((row) => ({ ...row, index: 0 })),
  "no-index": (rows) => rows.map((row) => ({ ...row, index: undefined })),
  nan: (rows) => lastChanged(rows, (row) => holed(row, Number.NaN)),
  "nan-literal": (rows) =>
    lastChanged(rows, (row) => ({ ...holed(row, Number.NaN), format: "float" })),
  infinite: (rows) => lastChanged(rows, (row) => holed(row, Number.POSITIVE_INFINITY)),
  zero: (rows) =>
    lastChanged(rows, (row) => ({ ...row, vector: new Float32Array(row.vector.length) })),
  "wrong-dimensions": (rows) => rows.map(shortened),
  ragged: (rows) => lastChanged(rows, shortened),
  float: (rows) => rows.map((row) => ({ ...row, format: "float" })),
  base64: (rows) => rows.map((row) => ({ ...row, format: "base64" })),
  "odd-base64": (rows) => lastChanged(rows, odd),
};

export const spoilRows = (rows: readonly Row[], how?: VectorMischief): readonly Row[] =>
  how ? spoilers[how](rows) : rows;
