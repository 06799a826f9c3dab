/** The rows of `vexel embed`: as they are read, and as they are stored. */
import type { Cell } from "./cells.ts";
import type { Vector } from "./number-types.ts";

/** A row of the input with its columns. `problem`: why the row could not be read. */
export interface SourceRow {
  readonly columns: Readonly<Record<string, unknown>>;
  readonly problem?: string;
  /** Columns of fractions by the schema of the input: a whole number in them is a fraction too. */
  readonly fractional?: ReadonlySet<string>;
}

export type RowId = string | number;

interface Row {
  readonly id: RowId;
  /** The columns besides id and text that the output has too. If absent, the output has none. */
  readonly cells?: readonly Cell[];
}

/** A row to embed. */
export interface TextRow extends Row {
  readonly text: string;
}

/** A row without a vector. */
export interface FailedRow extends Row {
  readonly text: string | undefined;
  readonly error: string;
}

export interface VectorRow extends Row {
  readonly vector: Vector;
}

/** What became of a row. */
export type Result = VectorRow | FailedRow;

export const isFailed = <T extends object>(row: T | FailedRow): row is FailedRow => "error" in row;

/** The rows with a vector, or with a text. */
export const notFailed = <T extends object>(rows: readonly (T | FailedRow)[]): T[] =>
  rows.filter((row): row is T => !isFailed(row));
