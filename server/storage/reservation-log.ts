/**
 * Reservation log: the requests in flight with a budget reservation, so that a killed process does not lose them: they may
 * have been billed. A line is appended when such a request begins, and one when its ledger row is durable. A request
 * without an end line becomes a ledger row with its estimated cost at the next start. End lines may be late, as the ledger
 * ignores duplicate request ids; so they are written along with the next begin line.
 */
import {
  closeSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import type { LedgerRow } from "./ledger-file.ts";
import { journaledRows } from "./ledger-journal.ts";

const name = /^held-(\d+)-([\w-]+)\.journal$/;

/** Of this process: its own number says nothing about which of them are still written. */
const ours = new Set<string>();

/** What is written down of a call. */
export interface ReservedRequest
  extends Pick<LedgerRow, "requestId" | "at" | "endpoint" | "keyId" | "model" | "project"> {
  /** US dollars. */
  readonly estimate: number;
}

type Values = readonly [string, number, string, string, string | null, string | null, number];

export interface ReservationLogOptions {
  readonly folder: string;
  /** Makes names that nobody else makes. */
  readonly newId: () => string;
  /** Told what the disk says of lines that were not written at once. */
  readonly onFault: (error: unknown) => void;
  /** Beyond this a new file is begun, with what is still open. */
  readonly maxBytes?: number;
  readonly endsWithinMs?: number;
}

interface Open {
  readonly path: string;
  readonly file: number;
  size: number;
  /** So large may it become. */
  most: number;
}

export class ReservationLog {
  readonly #options: Required<ReservationLogOptions>;
  /** The lines of calls that are under way. */
  readonly #lines = new Map<string, string>();
  /** Most gateways never need one. */
  #current: Open | undefined;
  /** Not written yet: ends, and beginnings that may wait for others of the same turn of the event loop. */
  #queue = "";
  /** Something was written in this turn. */
  #written = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: ReservationLogOptions) {
    this.#options = { maxBytes: 1024 * 1024, endsWithinMs: 50, ...options };
  }

  /**
   * `soon`: it may wait for others that begin in the same turn of the event loop; the first of a turn does not wait.
   * Throws what the disk says.
   */
  begin(call: ReservedRequest, soon = false): void {
    const { requestId, at, endpoint, keyId, model, project, estimate } = call;
    const values: Values = [requestId, at, endpoint, keyId, model, project, estimate];
    const line = `${JSON.stringify(values)}\n`;
    this.#lines.set(requestId, line);
    this.#queue += line;
    if (soon && this.#written) return;
    this.#flush();
    if (!soon) return;
    this.#written = true;
    setImmediate(() => {
      this.#written = false;
      if (this.#queue !== "") this.#later();
    });
  }

  /** Its row is in the ledger, or on its way there. */
  end(requestId: string): void {
    if (!this.#lines.delete(requestId)) return;
    this.#queue += `{"ended":"${requestId}"}\n`;
    this.#timer ??= setTimeout(() => this.#later(), this.#options.endsWithinMs).unref();
  }

  /** What is still open waits for the next start. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const isEmpty = this.#lines.size === 0;
    if (!isEmpty) this.#flush();
    if (this.#current) this.#leave(this.#current, isEmpty);
    this.#current = undefined;
    this.#queue = "";
  }

  /** When nobody is there to be thrown at. */
  #later(): void {
    try {
      this.#flush();
    } catch (error) {
      this.#options.onFault(error);
    }
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const lines = this.#queue;
    this.#queue = "";
    if (lines === "") return;
    this.#current ??= this.#open();
    write(this.#current, lines);
    if (this.#current.size > this.#current.most) this.#turnOver(this.#current);
  }

  #open(): Open {
    const { folder, newId } = this.#options;
    const path = join(folder, `held-${process.pid}-${newId()}.journal`);
    const file = openSync(path, "ax", 0o600);
    ours.add(path);
    return { path, file, size: 0, most: this.#options.maxBytes };
  }

  /** The new one is complete before the old one goes: what is in both is in the ledger once. */
  #turnOver(before: Open): void {
    const next = this.#open();
    try {
      write(next, [...this.#lines.values()].join(""));
    } catch (error) {
      this.#leave(next, true);
      throw error;
    }
    // Where very many are under way it is not done for each of them.
    next.most = Math.max(next.most, 4 * next.size);
    this.#current = next;
    this.#leave(before, true);
  }

  #leave({ path, file }: Open, isEmpty: boolean): void {
    closeSync(file);
    ours.delete(path);
    if (isEmpty) rmSync(path, { force: true });
  }
}

/** All of it or nothing. */
function write(open: Open, lines: string): void {
  const length = Buffer.byteLength(lines);
  try {
    if (writeSync(open.file, lines) !== length) throw new Error("the disk is full");
    open.size += length;
  } catch (error) {
    ftruncateSync(open.file, open.size);
    throw error;
  }
}

export interface RecoveredReservations {
  readonly calls: number;
  /** Lines that cannot be read: a power cut may leave such. */
  readonly unreadable: number;
}

/**
 * Hands the calls that processes which are no more have left open to the ledger, as a journal like those it takes up at its
 * start: so it must come before that.
 */
export function recoverReservations(folder: string): RecoveredReservations {
  const sum = { calls: 0, unreadable: 0 };
  // A call that was written down to its end may still be on its way into the ledger.
  const written = new Set(journaledRows(folder).map(({ requestId }) => requestId));
  for (const entry of readdirSync(folder)) {
    const [, pid = "", id = ""] = name.exec(entry) ?? [];
    const path = join(folder, entry);
    // The folder is locked, so those of others are of processes that are no more, whoever has their numbers now.
    if (pid === "" || ours.has(path)) continue;
    const { rows, unreadable } = openIn(readFileSync(path, "utf8"));
    const lines = rows
      .filter(({ requestId }) => !written.has(requestId))
      .map((row) => `${JSON.stringify(row)}\n`);
    if (lines.length > 0) {
      const journal = join(folder, `ledger-${pid}-held-${id}.journal`);
      writeFileSync(`${journal}.new`, lines.join(""), { mode: 0o600 });
      renameSync(`${journal}.new`, journal);
    }
    rmSync(path, { force: true });
    sum.calls += lines.length;
    sum.unreadable += unreadable;
  }
  return sum;
}

/** Those that have begun and not ended. */
function openIn(text: string) {
  const open = new Map<string, LedgerRow>();
  let unreadable = 0;
  for (const line of text.split("\n")) {
    if (line === "") continue;
    try {
      const read = JSON.parse(line) as Values | { readonly ended: string };
      if ("ended" in read) open.delete(read.ended);
      else open.set(read[0], rowOf(read));
    } catch {
      unreadable++;
    }
  }
  return { rows: [...open.values()], unreadable };
}

/** Nobody was told anything, and nobody knows how far it came. */
function rowOf([requestId, at, endpoint, keyId, model, project, estimate]: Values): LedgerRow {
  return {
    ...{ requestId, at, endpoint, keyId, model, project, estimatedCost: estimate },
    ...{ status: 500, error: "internal", steps: "the gateway ended before the call" },
    ...{ upstream: null, targetModel: null, attempts: 0, latencyMs: 0, cost: null },
    ...{ inputTokens: null, outputTokens: null, images: null, bytesIn: 0, bytesOut: 0 },
    ...{ cachedInputs: null, upstreamTokens: null },
  };
}
