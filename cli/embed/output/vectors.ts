/** The vectors of a run, for the writer of an output format. */
import type { VectorRow } from "../row.ts";

export interface Vectors {
  readonly count: number;
  /** Numbers in each vector. */
  readonly vectorLength: number;
  readonly rows: AsyncIterable<VectorRow>;
}
