/**
 * The ledger: one row per authenticated request, durable before the last byte of its response is sent. Rows go to the
 * outbox at once, and are drained from there into the ledger store by group commit, so a busy gateway needs few
 * transactions. While rows cannot be written, requests are refused or, if the operator chose so, served up to a limit.
 */
import { errorMessage } from "../lib/error-code.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { nextTurn } from "../lib/tasks.ts";
import type { OutboxFile } from "../storage/files/outbox.ts";
import type { InFlightRequest, LedgerRow } from "../storage/ports/ledger-row.ts";
import type { LedgerStore, SpentSum } from "../storage/ports/ledger-store.ts";

export type { InFlightRequest, LedgerRow };

interface LedgerOptions {
  readonly store: Pick<LedgerStore, "append">;
  readonly outbox: Pick<OutboxFile, "rows" | "append" | "markStored" | "release">;
  /** Called with each row at once, in the turn in which its request ends. */
  readonly onEnded?: (row: LedgerRow) => void;
  /** Called once with each of these rows, when it leaves the outbox. `sums`: those that the store returned. */
  readonly onStored?: (rows: readonly LedgerRow[], sums: readonly SpentSum[]) => void;
  /** Recovery of rows that earlier processes left in their outboxes. `recover` rejects with the store's error. */
  readonly recovery?: { readonly isDone: boolean; recover(): Promise<void> };
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
  /** The maximum number of rows that wait while the store cannot be written. */
  readonly maxPending?: number;
}

/** "unsettled": the row is in memory only, and a response header says so. */
export type Settled = "settled" | "unsettled";

/** Rows of requests that end in the same turn of the event loop: one write to the outbox. */
interface Group {
  readonly rows: LedgerRow[];
  /** Never rejects. */
  readonly written: Promise<Failed | undefined>;
}

interface Failed {
  readonly failure: unknown;
}

/**
 * Rows of one transaction of the store, which runs on the thread that serves requests: up to 10 ms of CPU in SQLite.
 */
const maxDrainedRows = 500;

const ledgerDefaults = {
  groupMs: 50,
  groupRows: 256,
  retryMs: 1000,
  maxPending: 10_000,
} as const satisfies Partial<LedgerOptions>;

export class Ledger {
  readonly #options: Required<LedgerOptions>;
  /** Rows of the pending write to the outbox. */
  #group: Group | undefined;
  /** Rows in memory only: the outbox could not be written. */
  #inMemory: LedgerRow[] = [];
  #failure: string | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The drain that is running. Never rejects. */
  #draining: Promise<void> | undefined;
  #closed = false;

  constructor(options: LedgerOptions) {
    this.#options = {
      recovery: nothingToRecover,
      verify: () => undefined,
      onEnded: () => undefined,
      onStored: () => undefined,
      ...ledgerDefaults,
      ...options,
    };
    const { recovery } = this.#options;
    // A store that cannot accept the recovered rows cannot accept new rows either: then the ledger is not writable from
    // the start.
    if (!recovery.isDone) this.#startDrain(() => recovery.recover());
  }

  /** Checks the files on disk without a write. A problem is found again by each retry until it is fixed. */
  verify(): void {
    if (this.#failure !== undefined || this.#closed) return;
    try {
      this.#options.verify();
    } catch (error) {
      this.#onFailedDrain(error);
    }
  }

  get writable(): boolean {
    return this.#failure === undefined;
  }

  /**
   * It cannot be written because there is no space: on the disk, or within its maximum size. The words are those of
   * SQLite and of the file system.
   */
  get isFull(): boolean {
    return /disk is full|\bENOSPC\b/.test(this.#failure ?? "");
  }

  /** The number of rows that may not be in the store yet. */
  get pendingCount(): number {
    return this.#pending + (this.#group?.rows.length ?? 0);
  }

  /** Retries the recovery of earlier outboxes. While the ledger cannot be written, each retry includes it. */
  recoverEarlier(): void {
    if (this.#failure === undefined && !this.#options.recovery.isDone)
      void this.#recoverInBackground();
  }

  async #recoverInBackground(): Promise<void> {
    try {
      await this.#options.recovery.recover();
    } catch {
      // The outboxes stay and are retried. New rows are written, so the ledger counts as writable.
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
    this.#options.onEnded(row);
    this.#group ??= this.#startGroup();
    this.#group.rows.push(row);
    return this.#group.written.then((failed) =>
      failed ? this.#queueInMemory(row, failed.failure) : "settled",
    );
  }

  /**
   * Stores as many rows as possible. Rows in memory only are lost; rows in the outbox are recovered by the next start.
   */
  async close(): Promise<{ readonly lost: number }> {
    this.#closed = true;
    const rows = this.#group?.rows ?? [];
    const failed = this.#write(rows);
    // Rows that were written while a drain was running are stored by the second drain.
    await this.#draining;
    await this.#drain();
    clearTimeout(this.#timer);
    return { lost: this.#inMemory.length + (failed ? rows.length : 0) };
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
    const { outbox, groupMs, groupRows } = this.#options;
    try {
      // Removed from the group, so that `close` does not write them a second time.
      outbox.append(rows);
      rows.length = 0;
    } catch (failure) {
      return { failure };
    }
    if (outbox.rows.length >= groupRows && this.#failure === undefined) this.#drain();
    else this.#timer ??= setTimeout(this.#drain, groupMs);
    return undefined;
  }

  get #pending(): number {
    return this.#inMemory.length + this.#options.outbox.rows.length;
  }

  /** Moves rows from memory and from the outbox into the store. One drain runs at a time. */
  readonly #drain = (): Promise<void> => {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    // Without pending rows, the recovery of earlier outboxes shows whether the store can be written.
    if (this.#pending === 0 && (this.#failure === undefined || this.#closed))
      return Promise.resolve();
    return this.#draining ?? this.#startDrain(() => this.#drainPending());
  };

  #startDrain(work: () => Promise<void>): Promise<void> {
    const run = async (): Promise<void> => {
      try {
        await work();
        this.#reportRecovery();
      } catch (error) {
        this.#onFailedDrain(error);
      } finally {
        this.#draining = undefined;
        // Rows that arrived during a recovery, which stores only rows of earlier processes.
        if (this.#pending > 0 && this.#failure === undefined && !this.#closed)
          this.#timer ??= setTimeout(this.#drain, this.#options.groupMs);
      }
    };
    this.#draining = run();
    return this.#draining;
  }

  async #drainPending(): Promise<void> {
    const { store, outbox, verify, onStored } = this.#options;
    if (this.#failure !== undefined) verify();
    if (this.#pending === 0) return this.#options.recovery.recover();
    while (this.#pending > 0) {
      const inMemory = this.#inMemory.slice(0, maxDrainedRows);
      const fromOutbox = outbox.rows.slice(0, maxDrainedRows - inMemory.length);
      const rows = [...inMemory, ...fromOutbox];
      const sums = await store.append(rows);
      // Only a check after the write shows that the file was removed meanwhile. Then the rows stay pending.
      verify();
      onStored(rows, sums);
      this.#inMemory.splice(0, inMemory.length);
      for (const { requestId } of inMemory) outbox.release(requestId);
      outbox.markStored(fromOutbox.length);
      // Requests are served between two transactions: SQLite's promise settles without a turn of the event loop.
      if (this.#pending > 0) await nextTurn();
    }
  }

  #reportRecovery(): void {
    if (this.#failure === undefined) return;
    this.#failure = undefined;
    this.#options.report({ writable: true, reason: "rows are written again" });
    this.recoverEarlier();
  }

  /** A failure is retried after `retryMs`. */
  #onFailedDrain(error: unknown): void {
    this.#recordFailure(error);
    if (!this.#closed) this.#timer ??= setTimeout(this.#drain, this.#options.retryMs);
  }

  #recordFailure(error: unknown): void {
    const reason = errorMessage(error);
    if (this.#failure === undefined) this.#options.report({ writable: false, reason });
    this.#failure = reason;
  }

  /**
   * The outbox failed: tries the store once. If that fails too, the row stays in memory, and the request is refused or
   * marked as unsettled.
   */
  async #queueInMemory(row: LedgerRow, cause: unknown): Promise<Settled> {
    const { onError, maxPending } = this.#options;
    const error = unavailable();
    if (this.#pending >= maxPending) {
      this.#onFailedDrain(cause);
      throw error;
    }
    this.#inMemory.push(row);
    const isFirstFailure = this.#failure === undefined;
    this.#recordFailure(cause);
    // Writing is retried at an interval and not for each row, because each retry writes all pending rows.
    await (this.#draining ?? (isFirstFailure ? this.#drain() : undefined));
    const index = this.#inMemory.lastIndexOf(row);
    if (index < 0) return "settled";
    if (onError === "serve") return "unsettled";
    // The upstream request is billed, so the row keeps its usage. It records the error that the client gets: this one,
    // or the error that the request had failed with before.
    if (row.error === null) this.#inMemory[index] = withError(row, error);
    throw error;
  }
}

const nothingToRecover = { isDone: true, recover: () => Promise.resolve() };

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
