/**
 * The ledger: every call by a known key is one row, settled before the last byte of its answer leaves.
 * Rows that arrive together are written together, so a busy gateway pays for few transactions.
 */
import { GatewayError } from "../std/gateway-error.ts";
import type { LedgerRow } from "../store/ledger-file.ts";

export type { LedgerRow };

export interface LedgerOptions {
  readonly file: { write(rows: readonly LedgerRow[]): void };
  /** What happens to calls while rows cannot be written. */
  readonly onFault: "refuse" | "serve";
  /** Told once when writing begins to fail, and once when it works again. */
  readonly report: (state: { readonly writable: boolean; readonly reason: string }) => void;
  readonly retryMs?: number;
  /** Rows held in memory while the file cannot be written. */
  readonly maxHeld?: number;
}

/** "unsettled": the row is held in memory and the caller is told so. */
export type Settled = "settled" | "unsettled";

interface Waiting {
  row: LedgerRow;
  readonly done: (outcome: Settled | GatewayError) => void;
}

export class Ledger {
  readonly #options: Required<LedgerOptions>;
  #waiting: Waiting[] = [];
  /** Answered already, not yet written: the file failed them. */
  #held: LedgerRow[] = [];
  #scheduled = false;
  #faulty: string | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #closed = false;

  constructor(options: LedgerOptions) {
    this.#options = { retryMs: 1000, maxHeld: 10_000, ...options };
  }

  get writable(): boolean {
    return this.#faulty === undefined;
  }

  /** Refuses a call before any money is spent, when its row could not be written. */
  admit(): void {
    if (this.#faulty === undefined) return;
    const { onFault, maxHeld } = this.#options;
    if (onFault === "refuse" || this.#held.length >= maxHeld) throw unavailable();
  }

  settle(row: LedgerRow): Promise<Settled> {
    const { promise, resolve, reject } = Promise.withResolvers<Settled>();
    this.#waiting.push({
      row,
      done: (outcome) => (typeof outcome === "string" ? resolve(outcome) : reject(outcome)),
    });
    if (!this.#scheduled) {
      this.#scheduled = true;
      // After this turn of the loop: whoever arrives meanwhile shares the transaction. Waiting longer would
      // make larger groups and later answers, and showed no clear saving of CPU.
      setImmediate(() => this.#flush());
    }
    return promise;
  }

  /** Writes what it can; rows that cannot be written are reported as lost, which is the truth. */
  close(): { readonly lost: number } {
    this.#closed = true;
    clearTimeout(this.#retry);
    this.#flush();
    return { lost: this.#held.length };
  }

  #flush(): void {
    this.#scheduled = false;
    const group = this.#waiting;
    this.#waiting = [];
    if (group.length === 0 && this.#held.length === 0) return;
    try {
      this.#options.file.write([...this.#held, ...group.map(({ row }) => row)]);
    } catch (error) {
      this.#failed(group, error);
      return;
    }
    this.#held = [];
    if (this.#faulty !== undefined) {
      this.#faulty = undefined;
      this.#options.report({ writable: true, reason: "written again" });
    }
    for (const { done } of group) done("settled");
  }

  #failed(group: readonly Waiting[], error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    if (this.#faulty === undefined) this.#options.report({ writable: false, reason });
    this.#faulty = reason;
    const { onFault, maxHeld, retryMs } = this.#options;
    for (const { row, done } of group) {
      const hold = this.#held.length < maxHeld;
      if (onFault === "serve" && hold) {
        this.#held.push(row);
        done("unsettled");
        continue;
      }
      // The upstream was paid, so the row is kept with its usage; the caller gets this fault, so it says so.
      const fault = unavailable();
      if (hold) this.#held.push({ ...row, status: fault.row.status, fault: fault.fault });
      done(fault);
    }
    clearTimeout(this.#retry);
    if (!this.#closed) this.#retry = setTimeout(() => this.#flush(), retryMs);
  }
}

const unavailable = (): GatewayError =>
  new GatewayError(
    "ledger_unavailable",
    "The gateway cannot write its ledger, so it makes no calls. Ask its operator to look at the disk under VEXEL_DATA.",
    { retryAfterMs: 5000 },
  );
