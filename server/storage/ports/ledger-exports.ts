/** The ledger rows that go to the object store, hour by hour. One replica at a time exports an hour. */

export interface ExportedHour {
  /** Unix milliseconds of its start. */
  readonly hour: number;
  /** The rows that are counted for this hour. More may be appended later: then the hour is exported again. */
  readonly requests: number;
  /** Bounds of its request ids. */
  readonly firstId: string;
  readonly lastId: string;
}

export interface RowPage {
  /** One JSON object per row, with the columns of the ledger. */
  readonly lines: readonly string[];
  /** Where the next page begins. */
  readonly lastId: string;
}

export interface LedgerExports {
  /** The oldest hour that ended before `before` and is not exported, or has more rows now. Undefined: none is left. */
  claim(before: number): Promise<ExportedHour | undefined>;
  /** False: the claim has expired, and another replica may export the hour. */
  renew(hour: ExportedHour): Promise<boolean>;
  /** The rows after `lastId`, in the order of their ids. `percent`: a sample of them, always the same. */
  read(hour: ExportedHour, lastId: string, limit: number, percent: number): Promise<RowPage>;
  finish(hour: ExportedHour): Promise<void>;
  /** The start of the oldest hour that is not exported. Undefined: all are. */
  firstPending(): Promise<number | undefined>;
}
