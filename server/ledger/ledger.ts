/**
 * The ledger: one row per authenticated request, durable before the last byte of its response is sent. Rows go to the
 * write-ahead journal at once and from there to SQLite in groups (group commit), so a busy gateway needs few
 * transactions.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import type { ReservedRequest } from "../storage/files/reservation-log.ts";
import type { LedgerRow } from "../storage/ports/ledger-row.ts";

export type { LedgerRow, ReservedRequest };

export interface LedgerOptions {
  readonly file: { write(rows: readonly LedgerRow[]): void };
  readonly journal: { append(rows: readonly LedgerRow[]): void; clear(): void };
  /** Recovery of rows that earlier processes journaled. `recover` throws file system errors. */
  readonly recovery?: { readonly isDone: boolean; recover(): void };
  /** Throws if the open files were removed or replaced on disk. */
  readonly verify?: () => void;
  /** Whether requests are refused or served while rows cannot be written. */
  readonly onError: "refuse" | "serve";
  /** Called once when writing begins to fail, and once when it works again. */
  readonly report: (state: { readonly writable: boolean; readonly reason: string }) => void;
  /** The longest delay of a group commit. */
  readonly groupMs?: number;
  readonly groupRows?: number;
  readonly retryMs?: number;
  /** Rows held in memory while the file cannot be written. */
  readonly maxPending?: number;
}

/** "unsettled": the row is in memory only, and a response header says so. */
export type Settled = "settled" | "unsettled";

/** Rows of requests that end in the same turn of the event loop: one journal write. */
interface Group {
  readonly rows: LedgerRow[];
  /** Never rejects. */
  readonly written: Promise<Failed | undefined>;
}

interface Failed {
  readonly failure: unknown;
}

export class Ledger {
  readonly #options: Required<Omit<LedgerOptions, "recovery">>;
  readonly #recovery: NonNullable<LedgerOptions["recovery"]>;
  /** Rows of the pending journal write. */
  #group: Group | undefined;
  /** Rows in the journal that are not in the SQLite file yet. */
  #journaled: LedgerRow[] = [];
  /** Rows in memory only. */
  #unjournaled: LedgerRow[] = [];
  #failure: string | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #closed = false;

  constructor({ recovery = nothingToRecover, ...options }: LedgerOptions) {
    this.#options = {
      verify: () => undefined,
      groupMs: 50,
      groupRows: 128,
      retryMs: 1000,
      maxPending: 10_000,
      ...options,
    };
    this.#recovery = recovery;
    // A disk that cannot store these rows cannot store new ones: requests are refused from the start.
    this.#attempt(() => recovery.recover());
  }

  /** Checks the files on disk without a write. A problem is found again by each retry until it is fixed. */
  verify(): void {
    if (this.#failure === undefined && !this.#closed) this.#attempt(this.#options.verify);
  }

  get writable(): boolean {
    return this.#failure === undefined;
  }

  /** Rows that are not in the file yet. */
  get pendingRows(): readonly LedgerRow[] {
    return [...this.#unjournaled, ...this.#journaled, ...(this.#group?.rows ?? [])];
  }

  /** Retries the recovery of earlier journals. While the ledger cannot be written, each retry includes it. */
  recoverEarlier(): void {
    if (this.#failure !== undefined || this.#recovery.isDone) return;
    try {
      this.#recovery.recover();
    } catch {
      // The journals stay and are retried. New rows are written, so the ledger counts as writable.
    }
  }

  /** Refuses a request before it costs anything if its row could not be written. */
  admit(): void {
    if (this.#failure === undefined) return;
    const { onError, maxPending } = this.#options;
    if (onError === "refuse" || this.#pending >= maxPending) throw unavailable();
  }

  /** Rejects with GatewayError if the row cannot be stored and requests are refused in that case. */
  settle(row: LedgerRow): Promise<Settled> {
    this.#group ??= this.#startGroup();
    this.#group.rows.push(row);
    return this.#group.written.then((failed) =>
      failed ? this.#keepUnjournaled(row, failed.failure) : "settled",
    );
  }

  /** Writes as many rows as possible. Rows in memory only are lost; journaled rows are recovered by the next start. */
  close(): { readonly lost: number } {
    this.#closed = true;
    const rows = this.#group?.rows ?? [];
    const failed = this.#write(rows);
    this.#flush();
    return { lost: this.#unjournaled.length + (failed ? rows.length : 0) };
  }

  /** Waits for the other requests of this turn of the event loop, so that their rows are in the same write. */
  #startGroup(): Group {
    const rows: LedgerRow[] = [];
    const written = new Promise<Failed | undefined>((resolve) => {
      setImmediate(() => {
        this.#group = undefined;
        resolve(this.#write(rows));
      });
    });
    return { rows, written };
  }

  #write(rows: LedgerRow[]): Failed | undefined {
    if (rows.length === 0) return undefined;
    const { journal, groupMs, groupRows } = this.#options;
    try {
      journal.append(rows);
    } catch (failure) {
      return { failure };
    }
    // Removed from the group, so that `close` does not write them a second time.
    this.#journaled.push(...rows.splice(0));
    if (this.#journaled.length >= groupRows && this.#failure === undefined) this.#flush();
    else this.#timer ??= setTimeout(this.#flush, groupMs);
    return undefined;
  }

  get #pending(): number {
    return this.#unjournaled.length + this.#journaled.length;
  }

  /** Moves rows from the journal and from memory into the SQLite file. */
  readonly #flush = (): void => {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { file, journal, verify, report } = this.#options;
    const waiting = this.#pending > 0;
    // Without pending rows, the recovery of earlier journals shows whether the file can be written.
    if (!waiting && (this.#failure === undefined || this.#closed)) return;
    const done = this.#attempt(() => {
      if (this.#failure !== undefined) verify();
      if (!waiting) return this.#recovery.recover();
      file.write([...this.#unjournaled, ...this.#journaled]);
      // Only a check after the write shows that the file was removed meanwhile. Then the rows stay pending.
      verify();
      this.#unjournaled = [];
      this.#journaled = [];
      journal.clear();
    });
    if (!done || this.#failure === undefined) return;
    this.#failure = undefined;
    report({ writable: true, reason: "rows are written again" });
    this.recoverEarlier();
  };

  /** A failure is retried after `retryMs`. */
  #attempt(write: () => void): boolean {
    try {
      write();
      return true;
    } catch (error) {
      this.#recordFailure(error);
      if (!this.#closed) this.#timer ??= setTimeout(this.#flush, this.#options.retryMs);
      return false;
    }
  }

  #recordFailure(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    if (this.#failure === undefined) this.#options.report({ writable: false, reason });
    this.#failure = reason;
  }

  /**
   * The journal failed: tries the SQLite file once. If that fails too, the row stays in memory, and the request is
   * refused or marked as unsettled.
   */
  #keepUnjournaled(row: LedgerRow, cause: unknown): Settled {
    const { onError, maxPending } = this.#options;
    const error = unavailable();
    const hasRoom = this.#pending < maxPending;
    // The upstream request is billed, so the row keeps its usage. If the client gets this error, the row records it.
    const stored = onError === "serve" && hasRoom ? row : withError(row, error);
    if (hasRoom) this.#unjournaled.push(row);
    const isFirstFailure = this.#failure === undefined;
    this.#recordFailure(cause);
    // Writing is retried at an interval and not for each row, because each retry writes all pending rows.
    if (isFirstFailure) this.#flush();
    if (hasRoom && this.#unjournaled.length === 0) return "settled";
    if (hasRoom) this.#unjournaled[this.#unjournaled.length - 1] = stored;
    if (stored === row) return "unsettled";
    throw error;
  }
}

const nothingToRecover = { isDone: true, recover: () => undefined };

const withError = (row: LedgerRow, error: GatewayError): LedgerRow => ({
  ...row,
  status: error.definition.status,
  error: error.kind,
});

const unavailable = (): GatewayError =>
  new GatewayError(
    "ledger_unavailable",
    "The gateway cannot write its ledger, so it refuses requests. Ask the operator of this gateway to check the disk of VEXEL_DATA.",
    { retryAfterMs: 5000 },
  );
