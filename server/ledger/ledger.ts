/**
 * The ledger: one row per authenticated request, durable before the last byte of its response is sent. Rows go to the
 * write-ahead journal at once and from there to SQLite in groups (group commit), so a busy gateway needs few transactions.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import type { LedgerRow } from "../storage/ledger-row.ts";
import type { ReservedRequest } from "../storage/reservation-log.ts";

export type { LedgerRow, ReservedRequest as HeldCall };

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
  readonly #earlier: NonNullable<LedgerOptions["recovery"]>;
  /** Not yet in the journal, but about to be. */
  #group: Group | undefined;
  /** In the journal, not yet in the file. */
  #journaled: LedgerRow[] = [];
  /** In memory only. */
  #unjournaled: LedgerRow[] = [];
  #failure: string | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #closed = false;

  constructor({ recovery: earlier = none, ...options }: LedgerOptions) {
    this.#options = {
      verify: () => undefined,
      groupMs: 50,
      groupRows: 128,
      retryMs: 1000,
      maxPending: 10_000,
      ...options,
    };
    this.#earlier = earlier;
    // A disk that does not take these takes no others: whoever asks is told so from the start.
    this.#attempt(() => earlier.recover());
  }

  /** Looks at the disk also where nothing is written. What is wrong is found again by each retry until it is mended. */
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

  /** Rows of earlier processes get another chance. While the ledger cannot be written they have one at each retry. */
  recoverEarlier(): void {
    if (this.#failure !== undefined || this.#earlier.isDone) return;
    try {
      this.#earlier.recover();
    } catch {
      // They stay where they are. Rows of now are written, so it is not the ledger that cannot be; there is a next time.
    }
  }

  /** Refuses a request before money is spent if its row could not be written. */
  admit(): void {
    if (this.#failure === undefined) return;
    const { onError: onFault, maxPending: maxHeld } = this.#options;
    if (onFault === "refuse" || this.#pending >= maxHeld) throw unavailable();
  }

  /** Rejects with GatewayError where the row can be kept nowhere and calls are to be refused for it. */
  settle(row: LedgerRow): Promise<Settled> {
    this.#group ??= this.#startGroup();
    this.#group.rows.push(row);
    return this.#group.written.then((failed) =>
      failed ? this.#keepUnjournaled(row, failed.failure) : "settled",
    );
  }

  /** Writes what it can. Rows held in memory alone are lost, which is the truth; journaled ones wait for the next start. */
  close(): { readonly lost: number } {
    this.#closed = true;
    const rows = this.#group?.rows ?? [];
    const failed = this.#write(rows);
    this.#flush();
    return { lost: this.#unjournaled.length + (failed ? rows.length : 0) };
  }

  /** Whatever came with this call, from other connections, goes on before this: its rows come along. */
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
    // Taken out, so that nobody writes them twice: the end may come between a call's and its group's.
    this.#journaled.push(...rows.splice(0));
    if (this.#journaled.length >= groupRows && this.#failure === undefined) this.#flush();
    else this.#timer ??= setTimeout(this.#flush, groupMs);
    return undefined;
  }

  get #pending(): number {
    return this.#unjournaled.length + this.#journaled.length;
  }

  /** From the journal and from memory into the file. */
  readonly #flush = (): void => {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { file, journal, verify, report } = this.#options;
    const waiting = this.#pending > 0;
    // With nothing of its own to write, whether it can be written is seen by those of earlier processes.
    if (!waiting && (this.#failure === undefined || this.#closed)) return;
    const done = this.#attempt(() => {
      if (this.#failure !== undefined) verify();
      if (!waiting) return this.#earlier.recover();
      file.write([...this.#unjournaled, ...this.#journaled]);
      // Only a look afterwards tells that they went into a file that was removed meanwhile. Then they are kept.
      verify();
      this.#unjournaled = [];
      this.#journaled = [];
      journal.clear();
    });
    if (!done || this.#failure === undefined) return;
    this.#failure = undefined;
    report({ writable: true, reason: "written again" });
    this.recoverEarlier();
  };

  /** What fails is tried again after a while. */
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

  /** Perhaps the file takes it at once; else it is held, and whoever waits for it hears of it. */
  #keepUnjournaled(row: LedgerRow, error: unknown): Settled {
    const { onError: onFault, maxPending: maxHeld } = this.#options;
    const fault = unavailable();
    const hold = this.#pending < maxHeld;
    // The upstream was paid, so the row is kept with its usage; a caller who gets this fault has it in the row.
    const kept = onFault === "serve" && hold ? row : refused(row, fault);
    if (hold) this.#unjournaled.push(row);
    const isNews = this.#failure === undefined;
    this.#recordFailure(error);
    // Whether it can be written again is tried now and then, and not for each row: all that are held are written each time.
    if (isNews) this.#flush();
    if (hold && this.#unjournaled.length === 0) return "settled";
    if (hold) this.#unjournaled[this.#unjournaled.length - 1] = kept;
    if (kept === row) return "unsettled";
    throw fault;
  }
}

const none = { isDone: true, recover: () => undefined };

const refused = (row: LedgerRow, fault: GatewayError): LedgerRow => ({
  ...row,
  status: fault.definition.status,
  error: fault.kind,
});

const unavailable = (): GatewayError =>
  new GatewayError(
    "ledger_unavailable",
    "The gateway cannot write its ledger, so it makes no calls. Ask its operator to look at the disk under VEXEL_DATA.",
    { retryAfterMs: 5000 },
  );
