/** The rows of `vexel embed`: as they are read, and as they are stored. */

/** A row of the input with its columns. `problem`: why the row could not be read. */
export interface SourceRow {
  readonly columns: Readonly<Record<string, unknown>>;
  readonly problem?: string;
}

export type RowId = string | number;

/** A row to embed. */
export interface TextRow {
  readonly id: RowId;
  readonly text: string;
}

/** A row without a vector, as it is written to the error file, which can be the input of another run. */
export interface FailedRow {
  readonly id: RowId;
  readonly text: string | undefined;
  readonly error: string;
}

export interface VectorRow {
  readonly id: RowId;
  readonly vector: Float32Array;
}

/** What became of a row. */
export type Result = VectorRow | FailedRow;

export const isFailed = <T extends object>(row: T | FailedRow): row is FailedRow => "error" in row;

/** The rows with a vector, or with a text. */
export const notFailed = <T extends object>(rows: readonly (T | FailedRow)[]): T[] =>
  rows.filter((row): row is T => !isFailed(row));
