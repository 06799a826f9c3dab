/**
 * Forwards ledger rows from this gateway's data folder to the ledger that all replicas share, oldest first, in batches.
 * A row is removed from the data folder after the shared ledger has it, and the shared ledger ignores rows that it has,
 * so each row arrives exactly once. While the shared ledger is unreachable, rows wait in the data folder: the
 * ledger backlog.
 */
import { logReason } from "../lib/gateway-error.ts";
import { createSerialize } from "../lib/tasks.ts";
import { repeat, withTimeout } from "../lib/timers.ts";
import type { LedgerRow } from "../storage/ports/ledger-row.ts";
import {
  type LedgerStore,
  RejectedRowsError,
  type SpentSum,
} from "../storage/ports/ledger-store.ts";

/** The rows in the data folder that are not forwarded yet. */
interface RowBacklog {
  oldest(limit: number): readonly LedgerRow[];
  /** `sums`: those that the shared ledger returned. */
  remove(requestIds: readonly string[], sums: readonly SpentSum[]): void;
}

interface ForwarderOptions {
  readonly backlog: RowBacklog;
  readonly store: Pick<LedgerStore, "append">;
  /** Called once when forwarding begins to fail, and once when it works again. */
  readonly report: (state: { readonly reachable: boolean; readonly reason: string }) => void;
  /** The shared ledger refuses the values of a row: it is stored elsewhere, and leaves the backlog. May throw. */
  readonly setAside: (row: LedgerRow, reason: string) => void;
  /** Runs before each batch, and at the end; never while rows are being forwarded. */
  readonly beforeBatch?: () => Promise<void>;
  /** The rows of the data folder cannot be read or removed. Called once until they can. */
  readonly reportBacklog: (reason: string) => void;
  /** The longest time that `close` waits for the last rows. */
  readonly closeMs?: number;
  /** Runs work at an interval. */
  readonly repeat?: typeof repeat;
}

const batchRows = 1000;
/** Writers wait for each other at the sums of owners that they have in common: with few batches, hardly ever. */
const everyMs = 500;
const defaultCloseMs = 5000;

/** If more rows in a row are rejected, the problem is in the shared ledger and not in single rows. */
const maxRejected = 1000;

export class LedgerForwarder {
  readonly #options: ForwarderOptions;
  #rejected = 0;
  readonly #stop: () => Promise<void>;
  readonly #serialize = createSerialize();
  /** The run that has not begun. */
  #queuedRun: Promise<void> | undefined;
  #isReachable = true;
  #isBacklogUsable = true;
  /** Rows that have left for the shared ledger, and must leave the data folder before others are forwarded. */
  #forwarded: { readonly ids: readonly string[]; readonly sums: readonly SpentSum[] } | undefined;

  constructor(options: ForwarderOptions) {
    this.#options = options;
    this.#stop = (options.repeat ?? repeat)({ everyMs, isImmediate: true }, () => this.run());
  }

  get isReachable(): boolean {
    return this.#isReachable;
  }

  /** Forwards the rows that are left, within a bounded time. The next start forwards the others. */
  async close(): Promise<void> {
    const { closeMs = defaultCloseMs } = this.#options;
    await withTimeout(
      this.#stop().then(() => this.run()),
      closeMs,
    );
  }

  /** Forwards now. Resolves after a run that began after the call, also if it failed. */
  run(): Promise<void> {
    this.#queuedRun ??= this.#serialize(() => {
      this.#queuedRun = undefined;
      return this.#forward();
    });
    return this.#queuedRun;
  }

  /** Never rejects. */
  async #forward(): Promise<void> {
    try {
      const { beforeBatch, backlog } = this.#options;
      this.#removeForwarded();
      for (let rows = batchRows; rows === batchRows; ) {
        await beforeBatch?.();
        const batch = inBacklog(() => backlog.oldest(batchRows));
        rows = batch.length;
        if (rows > 0) await this.#append(batch);
      }
      this.#isBacklogUsable = true;
      this.#setReachable(true, "rows are forwarded again");
    } catch (error) {
      if (error instanceof BacklogError) this.#reportBacklog(error);
      else this.#setReachable(false, logReason(error));
    }
  }

  /** A batch with a row that the store refuses is bisected, so that the other rows arrive. */
  async #append(rows: readonly LedgerRow[]): Promise<void> {
    const { store, setAside } = this.#options;
    const remove = (sums: readonly SpentSum[]): void => {
      this.#forwarded = { ids: rows.map(({ requestId }) => requestId), sums };
      this.#removeForwarded();
    };
    try {
      remove(await store.append(rows));
      this.#rejected = 0;
    } catch (error) {
      if (!(error instanceof RejectedRowsError) || this.#rejected >= maxRejected) throw error;
      const [first] = rows;
      if (first && rows.length === 1) {
        inBacklog(() => setAside(first, error.message));
        this.#rejected++;
        remove([]);
        return;
      }
      const half = Math.ceil(rows.length / 2);
      await this.#append(rows.slice(0, half));
      await this.#append(rows.slice(half));
    }
  }

  /** Again after a failure: rows that were appended or set aside twice would count twice. */
  #removeForwarded(): void {
    const forwarded = this.#forwarded;
    if (!forwarded) return;
    inBacklog(() => this.#options.backlog.remove(forwarded.ids, forwarded.sums));
    this.#forwarded = undefined;
  }

  #reportBacklog({ message }: BacklogError): void {
    if (this.#isBacklogUsable) this.#options.reportBacklog(message);
    this.#isBacklogUsable = false;
  }

  #setReachable(reachable: boolean, reason: string): void {
    if (this.#isReachable === reachable) return;
    this.#isReachable = reachable;
    this.#options.report({ reachable, reason });
  }
}

/** The data folder cannot be read or written, for instance because its disk is full: the database may be fine. */
class BacklogError extends Error {
  override readonly name = "BacklogError";
}

function inBacklog<T>(work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw new BacklogError(logReason(cause), { cause });
  }
}
