/** Corrupts a list of vectors, as a broken upstream would. */

import type { VectorFault } from "./injected-fault.ts";
import { fakeVector } from "./vectors.ts";

export interface Row {
  readonly index: number | undefined;
  /** Bytes if the length is not a whole number of floats. */
  readonly vector: Float32Array | Uint8Array;
  readonly format: "float" | "base64";
}

const changeLast = (rows: readonly Row[], change: (row: Row) => Row): readonly Row[] =>
  rows.map((row, i) => (i === rows.length - 1 ? change(row) : row));

const shorten = (row: Row): Row => ({ ...row, vector: row.vector.slice(0, -1) });

const withNumber = (row: Row, value: number): Row => {
  const vector = row.vector.slice();
  vector[Math.floor(vector.length / 2)] = value;
  return { ...row, vector };
};

const withOddLength = (row: Row): Row => ({ ...row, vector: new Uint8Array(7), format: "base64" });

const corruptions: Record<VectorFault, (rows: readonly Row[]) => readonly Row[]> = {
  missing: (rows) => rows.slice(0, -1),
  extra: (rows) => [
    ...rows,
    { ...rows[0]!, index: rows.length, vector: fakeVector("extra", rows[0]!.vector.length) },
  ],
  none: () => [],
  shuffled: (rows) => rows.toReversed(),
  "wrong-index": (rows) => rows.map((row, i) => ({ ...row, index: rows.length - 1 - i })),
  "duplicate-index": (rows) => rows.map((row) => ({ ...row, index: 0 })),
  "no-index": (rows) => rows.map((row) => ({ ...row, index: undefined })),
  nan: (rows) => changeLast(rows, (row) => withNumber(row, Number.NaN)),
  "nan-literal": (rows) =>
    changeLast(rows, (row) => ({ ...withNumber(row, Number.NaN), format: "float" })),
  infinite: (rows) => changeLast(rows, (row) => withNumber(row, Number.POSITIVE_INFINITY)),
  zero: (rows) =>
    changeLast(rows, (row) => ({ ...row, vector: new Float32Array(row.vector.length) })),
  "wrong-dimensions": (rows) => rows.map(shorten),
  ragged: (rows) => changeLast(rows, shorten),
  float: (rows) => rows.map((row) => ({ ...row, format: "float" })),
  base64: (rows) => rows.map((row) => ({ ...row, format: "base64" })),
  "odd-base64": (rows) => changeLast(rows, withOddLength),
};

export const corruptRows = (rows: readonly Row[], fault?: VectorFault): readonly Row[] =>
  fault ? corruptions[fault](rows) : rows;
