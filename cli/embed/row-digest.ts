/** A digest of the rows that a run has settled: a run that continues compares it with the rows of the input. */
import { type FailedRow, isFailed, type TextRow } from "./row.ts";

export class RowDigest {
  readonly #hasher = new Bun.CryptoHasher("blake2b256");

  /** In the order of the input. */
  add(row: TextRow | FailedRow): void {
    const problem = isFailed(row) ? row.error : null;
    const { id, text = null, cells = [] } = row;
    this.#hasher.update(`${JSON.stringify([id, text, problem, cells])}\n`);
  }

  /** Of the rows until now. */
  hex(): string {
    return this.#hasher.copy().digest("hex");
  }
}
