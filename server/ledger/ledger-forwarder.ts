/**
 * Forwards ledger rows from this gateway's data folder to the ledger that all replicas share, oldest first, in batches.
 * A row is removed from the data folder after the shared ledger has it, and the shared ledger ignores rows that it has,
 * so each row arrives exactly once. While the shared ledger is unreachable, rows wait in the data folder: the
 * ledger backlog.
 */
import { logReason } from "../lib/gateway-error.ts";
import type { LedgerRow } from "../storage/ports/ledger-row.ts";
import { type LedgerStore, RejectedRowsError } from "../storage/ports/ledger-store.ts";

/** The rows in the data folder that are not forwarded yet. */
interface LedgerBacklog {
  oldest(limit: number): readonly LedgerRow[];
  remove(requestIds: readonly string[]): void;
}

interface ForwarderOptions {
  readonly backlog: LedgerBacklog;
  readonly store: Pick<LedgerStore, "append">;
  /** Called once when forwarding begins to fail, and once when it works again. */
  readonly report: (state: { readonly reachable: boolean; readonly reason: string }) => void;
  /** Called when the shared ledger refuses the values of a row. The row stays in the data folder. */
  readonly reportRejected: (row: LedgerRow, reason: string) => void;
  /** Runs before each batch, and at the end; never while rows are being forwarded. */
  readonly beforeBatch?: () => Promise<void>;
  /** Runs after rows were forwarded, or after `everyMs` without new rows; never while rows are being forwarded. */
  readonly onForwarded?: () => Promise<void>;
  readonly batchRows?: number;
  readonly everyMs?: number;
  readonly retryMs?: number;
  /** The longest time that `close` waits for the last rows. */
  readonly closeMs?: number;
}

/** If more rows are rejected, the problem is in the shared ledger and not in single rows. */
const maxRejected = 1000;

export class LedgerForwarder {
  readonly #options: Required<ForwarderOptions>;
  readonly #rejected = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #running: Promise<void> | undefined;
  #isReachable = true;
  #isClosed = false;

  constructor(options: ForwarderOptions) {
    this.#options = {
      beforeBatch: () => Promise.resolve(),
      onForwarded: () => Promise.resolve(),
      batchRows: 1000,
      everyMs: 250,
      retryMs: 1000,
      closeMs: 5000,
      ...options,
    };
    this.#schedule(0);
  }

  get isReachable(): boolean {
    return this.#isReachable;
  }

  /** Forwards the rows that are left, within a bounded time. The next start forwards the others. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const timeout = Bun.sleep(this.#options.closeMs);
    await Promise.race([timeout, this.#running]);
    await Promise.race([timeout, this.#forward()]);
  }

  /** Forwards now. Resolves after a run that began after the call, also if it failed. */
  async run(): Promise<void> {
    await this.#running;
    if (this.#isClosed) return;
    this.#start();
    await this.#running;
  }

  #schedule(ms: number): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => this.#start(), ms);
    this.#timer.unref();
  }

  #start(): void {
    if (this.#running) return;
    clearTimeout(this.#timer);
    this.#running = this.#forward().finally(() => {
      this.#running = undefined;
      this.#schedule(this.#isReachable ? this.#options.everyMs : this.#options.retryMs);
    });
  }

  /** Never rejects. */
  async #forward(): Promise<void> {
    try {
      const { beforeBatch, onForwarded } = this.#options;
      for (;;) {
        await beforeBatch();
        const batch = this.#next();
        if (batch.length === 0) break;
        await this.#append(batch);
      }
      await onForwarded();
      this.#setReachable(true, "rows are forwarded again");
    } catch (error) {
      this.#setReachable(false, logReason(error));
    }
  }

  #next(): readonly LedgerRow[] {
    const { backlog, batchRows } = this.#options;
    const rows = backlog.oldest(batchRows + this.#rejected.size);
    return rows.filter(({ requestId }) => !this.#rejected.has(requestId)).slice(0, batchRows);
  }

  /** A batch with a row that the store refuses is bisected, so that the other rows arrive. */
  async #append(rows: readonly LedgerRow[]): Promise<void> {
    const { store, backlog, reportRejected } = this.#options;
    try {
      await store.append(rows);
    } catch (error) {
      if (!(error instanceof RejectedRowsError) || this.#rejected.size >= maxRejected) throw error;
      const [first] = rows;
      if (first && rows.length === 1) {
        this.#rejected.add(first.requestId);
        reportRejected(first, error.message);
        return;
      }
      const half = Math.ceil(rows.length / 2);
      await this.#append(rows.slice(0, half));
      await this.#append(rows.slice(half));
      return;
    }
    backlog.remove(rows.map(({ requestId }) => requestId));
  }

  #setReachable(reachable: boolean, reason: string): void {
    if (this.#isReachable === reachable) return;
    this.#isReachable = reachable;
    this.#options.report({ reachable, reason });
  }
}
