/**
 * Port: the outbox, a write-ahead log of the ledger. It holds the rows and reservations that are not in the ledger
 * store yet and must survive a crash. A row is in the outbox before the last byte of its response is sent.
 *
 * Every method is synchronous because it only copies a few hundred bytes to the page cache, which takes microseconds:
 * less than a promise and a thread would. `append`, `reserve` and `close` throw the errors of the disk; the errors of
 * the other methods are reported by the implementation, and the next write repeats what they could not write.
 */
import type { LedgerRow } from "./ledger-row.ts";

/** The part of a ledger row that is known before the upstream request. */
export interface ReservedRequest
  extends Pick<
    LedgerRow,
    "requestId" | "at" | "endpoint" | "keyId" | "model" | "project" | "endUser" | "tags" | "budgets"
  > {
  /** US dollars. */
  readonly estimate: number;
}

export interface Outbox {
  /** Rows in the outbox that are not in the ledger store yet, oldest first. */
  readonly rows: readonly LedgerRow[];
  /** Appends all rows or none: then it throws. A row also settles the reservation of its request, in the same write. */
  append(rows: readonly LedgerRow[]): void;
  /** The first `count` of `rows` are in the ledger store. */
  markStored(count: number): void;
  /**
   * Records that the request may be billed, so that it is charged if the process dies. `mayWait`: the record may be
   * written with others of the same turn of the event loop; the first of a turn does not wait. Throws the disk's error.
   */
  reserve(request: ReservedRequest, mayWait?: boolean): void;
  /** Ends a reservation whose row is in the ledger store without having been in the outbox. */
  release(requestId: string): void;
  /** Rows and reservations that remain are recovered by the next start. */
  close(): void;
}
