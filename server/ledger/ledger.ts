/**
 * The ledger: every call by a known key is one row, safe before the last byte of its answer leaves. It is safe in the
 * journal at once; from there rows go into the file in groups, so a busy gateway pays for few transactions.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import type { LedgerRow } from "../storage/ledger-file.ts";
import type { HeldCall } from "../storage/reservation-log.ts";

export type { HeldCall, LedgerRow };

export interface LedgerOptions {
  readonly file: { write(rows: readonly LedgerRow[]): void };
  readonly journal: { append(rows: readonly LedgerRow[]): void; clear(): void };
  /** Rows of earlier processes, which are to be in the file as well. `bringIn` throws what the disk says. */
  readonly earlier?: { readonly areIn: boolean; bringIn(): void };
  /** Throws where what was written is not what is found on disk any more. */
  readonly verify?: () => void;
  /** What happens to calls while rows cannot be written. */
  readonly onFault: "refuse" | "serve";
  /** Told once when writing begins to fail, and once when it works again. */
  readonly report: (state: { readonly writable: boolean; readonly reason: string }) => void;
  /** How long a row waits for others on its way from the journal into the file. */
  readonly groupMs?: number;
  readonly groupRows?: number;
  readonly retryMs?: number;
  /** Rows held in memory while the file cannot be written. */
  readonly maxHeld?: number;
}

/** "unsettled": the row is held in memory alone, and the caller is told so. */
export type Settled = "settled" | "unsettled";

/** Rows of calls that end in the same breath. They go into the journal in one write. */
interface Group {
  readonly rows: LedgerRow[];
  /** Never rejects. */
  readonly written: Promise<Failed | undefined>;
}

interface Failed {
  readonly failure: unknown;
}

export class Ledger {
  readonly #options: Required<Omit<LedgerOptions, "earlier">>;
  readonly #earlier: NonNullable<LedgerOptions["earlier"]>;
  /** Not yet in the journal, but about to be. */
  #group: Group | undefined;
  /** In the journal, not yet in the file. */
  #journaled: LedgerRow[] = [];
  /** Nowhere on disk. */
  #held: LedgerRow[] = [];
  #faulty: string | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #closed = false;

  constructor({ earlier = none, ...options }: LedgerOptions) {
    this.#options = {
      verify: () => undefined,
      groupMs: 50,
      groupRows: 128,
      retryMs: 1000,
      maxHeld: 10_000,
      ...options,
    };
    this.#earlier = earlier;
    // A disk that does not take these takes no others: whoever asks is told so from the start.
    this.#attempt(() => earlier.bringIn());
  }

  /** Looks at the disk also where nothing is written. What is wrong is found again by each retry until it is mended. */
  verify(): void {
    if (this.#faulty === undefined && !this.#closed) this.#attempt(this.#options.verify);
  }

  get writable(): boolean {
    return this.#faulty === undefined;
  }

  /** Rows that are not in the file yet. */
  get underWay(): readonly LedgerRow[] {
    return [...this.#held, ...this.#journaled, ...(this.#group?.rows ?? [])];
  }

  /** Rows of earlier processes get another chance. While the ledger cannot be written they have one at each retry. */
  bringInEarlier(): void {
    if (this.#faulty !== undefined || this.#earlier.areIn) return;
    try {
      this.#earlier.bringIn();
    } catch {
      // They stay where they are. Rows of now are written, so it is not the ledger that cannot be; there is a next time.
    }
  }

  /** Refuses a call before any money is spent, when its row could not be written. */
  admit(): void {
    if (this.#faulty === undefined) return;
    const { onFault, maxHeld } = this.#options;
    if (onFault === "refuse" || this.#waiting >= maxHeld) throw unavailable();
  }

  /** Rejects with GatewayError where the row can be kept nowhere and calls are to be refused for it. */
  settle(row: LedgerRow): Promise<Settled> {
    this.#group ??= this.#gather();
    this.#group.rows.push(row);
    return this.#group.written.then((failed) =>
      failed ? this.#notJournaled(row, failed.failure) : "settled",
    );
  }

  /** Writes what it can. Rows held in memory alone are lost, which is the truth; journaled ones wait for the next start. */
  close(): { readonly lost: number } {
    this.#closed = true;
    const rows = this.#group?.rows ?? [];
    const failed = this.#write(rows);
    this.#move();
    return { lost: this.#held.length + (failed ? rows.length : 0) };
  }

  /** Whatever came with this call, from other connections, goes on before this: its rows come along. */
  #gather(): Group {
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
    if (this.#journaled.length >= groupRows && this.#faulty === undefined) this.#move();
    else this.#timer ??= setTimeout(this.#move, groupMs);
    return undefined;
  }

  get #waiting(): number {
    return this.#held.length + this.#journaled.length;
  }

  /** From the journal and from memory into the file. */
  readonly #move = (): void => {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { file, journal, verify, report } = this.#options;
    const waiting = this.#waiting > 0;
    // With nothing of its own to write, whether it can be written is seen by those of earlier processes.
    if (!waiting && (this.#faulty === undefined || this.#closed)) return;
    const done = this.#attempt(() => {
      if (this.#faulty !== undefined) verify();
      if (!waiting) return this.#earlier.bringIn();
      file.write([...this.#held, ...this.#journaled]);
      // Only a look afterwards tells that they went into a file that was removed meanwhile. Then they are kept.
      verify();
      this.#held = [];
      this.#journaled = [];
      journal.clear();
    });
    if (!done || this.#faulty === undefined) return;
    this.#faulty = undefined;
    report({ writable: true, reason: "written again" });
    this.bringInEarlier();
  };

  /** What fails is tried again after a while. */
  #attempt(write: () => void): boolean {
    try {
      write();
      return true;
    } catch (error) {
      this.#failed(error);
      if (!this.#closed) this.#timer ??= setTimeout(this.#move, this.#options.retryMs);
      return false;
    }
  }

  #failed(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    if (this.#faulty === undefined) this.#options.report({ writable: false, reason });
    this.#faulty = reason;
  }

  /** Perhaps the file takes it at once; else it is held, and whoever waits for it hears of it. */
  #notJournaled(row: LedgerRow, error: unknown): Settled {
    const { onFault, maxHeld } = this.#options;
    const fault = unavailable();
    const hold = this.#waiting < maxHeld;
    // The upstream was paid, so the row is kept with its usage; a caller who gets this fault has it in the row.
    const kept = onFault === "serve" && hold ? row : refused(row, fault);
    if (hold) this.#held.push(row);
    const isNews = this.#faulty === undefined;
    this.#failed(error);
    // Whether it can be written again is tried now and then, and not for each row: all that are held are written each time.
    if (isNews) this.#move();
    if (hold && this.#held.length === 0) return "settled";
    if (hold) this.#held[this.#held.length - 1] = kept;
    if (kept === row) return "unsettled";
    throw fault;
  }
}

const none = { areIn: true, bringIn: () => undefined };

const refused = (row: LedgerRow, fault: GatewayError): LedgerRow => ({
  ...row,
  status: fault.row.status,
  fault: fault.fault,
});

const unavailable = (): GatewayError =>
  new GatewayError(
    "ledger_unavailable",
    "The gateway cannot write its ledger, so it makes no calls. Ask its operator to look at the disk under VEXEL_DATA.",
    { retryAfterMs: 5000 },
  );
