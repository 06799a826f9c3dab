/** The vectors of a run, for the writer of an output format. */
import type { ColumnTypes } from "../cells.ts";
import type { NumberType } from "../number-types.ts";
import type { StoredVector } from "../vector-file.ts";

export interface Vectors {
  readonly count: number;
  /** Numbers in each vector. */
  readonly vectorLength: number;
  readonly type: NumberType;
  /** The other columns. */
  readonly columns: Readonly<ColumnTypes>;
  readonly rows: AsyncIterable<StoredVector>;
}
