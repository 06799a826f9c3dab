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
import type { LedgerRow } from "../ports/ledger-row.ts";
import { journaledRows } from "./ledger-journal.ts";

/** Earlier versions named these files `held-…`. */
const namePattern = /^(?:reservations|held)-(\d+)-([\w-]+)\.journal$/;

/** Files of this process. A process id does not say which files are still being written: ids repeat. */
const ownPaths = new Set<string>();

/** The part of a ledger row that is known before the upstream request. */
export interface ReservedRequest
  extends Pick<LedgerRow, "requestId" | "at" | "endpoint" | "keyId" | "model" | "project"> {
  /** US dollars. */
  readonly estimate: number;
}

type Values = readonly [string, number, string, string, string | null, string | null, number];

export interface ReservationLogOptions {
  readonly folder: string;
  /** Returns an id that is unique across processes. */
  readonly newId: () => string;
  /** Called with the disk's error when lines that are written later cannot be written. */
  readonly onError: (error: unknown) => void;
  /** A file that grows beyond this is replaced by a new one that holds the open requests only. */
  readonly maxBytes?: number;
  /** An end line is written at most this much later. */
  readonly endDelayMs?: number;
}

interface OpenFile {
  readonly path: string;
  readonly descriptor: number;
  size: number;
  /** Beyond this size the file is rotated. */
  maxBytes: number;
}

export class ReservationLog {
  readonly #options: Required<ReservationLogOptions>;
  /** The begin lines of requests in flight, by request id. */
  readonly #openLines = new Map<string, string>();
  /** Opened with the first line: most gateways have no budgets. */
  #current: OpenFile | undefined;
  /** Lines not written yet: ends, and begin lines that may wait for others of the same turn of the event loop. */
  #queue = "";
  /** Whether lines were written in this turn of the event loop. */
  #wroteThisTurn = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: ReservationLogOptions) {
    this.#options = { maxBytes: 1024 * 1024, endDelayMs: 50, ...options };
  }

  /**
   * `mayWait`: the line may be written together with others that begin in the same turn of the event loop; the first of a
   * turn does not wait. Throws the disk's error.
   */
  begin(request: ReservedRequest, mayWait = false): void {
    const { requestId, at, endpoint, keyId, model, project, estimate } = request;
    const values: Values = [requestId, at, endpoint, keyId, model, project, estimate];
    const line = `${JSON.stringify(values)}\n`;
    this.#openLines.set(requestId, line);
    this.#queue += line;
    if (mayWait && this.#wroteThisTurn) return;
    this.#flush();
    if (!mayWait) return;
    this.#wroteThisTurn = true;
    setImmediate(() => {
      this.#wroteThisTurn = false;
      if (this.#queue !== "") this.#flushLater();
    });
  }

  /** The row of the request is in the ledger, or in the ledger's journal. */
  end(requestId: string): void {
    if (!this.#openLines.delete(requestId)) return;
    this.#queue += `{"ended":"${requestId}"}\n`;
    this.#timer ??= setTimeout(() => this.#flushLater(), this.#options.endDelayMs).unref();
  }

  /** Requests that are still open are recovered by the next start. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const isEmpty = this.#openLines.size === 0;
    if (!isEmpty) this.#flush();
    if (this.#current) this.#closeFile(this.#current, isEmpty);
    this.#current = undefined;
    this.#queue = "";
  }

  /** A flush by a timer has no caller that could catch an error. */
  #flushLater(): void {
    try {
      this.#flush();
    } catch (error) {
      this.#options.onError(error);
    }
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const lines = this.#queue;
    this.#queue = "";
    if (lines === "") return;
    this.#current ??= this.#openFile();
    write(this.#current, lines);
    if (this.#current.size > this.#current.maxBytes) this.#rotate(this.#current);
  }

  #openFile(): OpenFile {
    const { folder, newId, maxBytes } = this.#options;
    const path = join(folder, `reservations-${process.pid}-${newId()}.journal`);
    const descriptor = openSync(path, "ax", 0o600);
    ownPaths.add(path);
    return { path, descriptor, size: 0, maxBytes };
  }

  /** The new file is complete before the old one is removed: a request that is in both becomes one ledger row. */
  #rotate(before: OpenFile): void {
    const next = this.#openFile();
    try {
      write(next, [...this.#openLines.values()].join(""));
    } catch (error) {
      this.#closeFile(next, true);
      throw error;
    }
    // With very many requests in flight, the file is not rotated again for each of them.
    next.maxBytes = Math.max(next.maxBytes, 4 * next.size);
    this.#current = next;
    this.#closeFile(before, true);
  }

  #closeFile({ path, descriptor }: OpenFile, remove: boolean): void {
    closeSync(descriptor);
    ownPaths.delete(path);
    if (remove) rmSync(path, { force: true });
  }
}

/** All lines or none. */
function write(file: OpenFile, lines: string): void {
  const length = Buffer.byteLength(lines);
  try {
    if (writeSync(file.descriptor, lines) !== length) throw new Error("the disk is full");
    file.size += length;
  } catch (error) {
    ftruncateSync(file.descriptor, file.size);
    throw error;
  }
}

export interface RecoveredReservations {
  readonly requests: number;
  /** Lines that cannot be parsed, as a power cut may leave. */
  readonly unreadable: number;
}

/**
 * Converts the open requests of killed processes into ledger journals, which the ledger recovers when it is opened. So this
 * runs before the ledger is opened.
 */
export function recoverReservations(folder: string): RecoveredReservations {
  const recovered = { requests: 0, unreadable: 0 };
  // The row of a request that ended may be in a journal and not in the ledger yet.
  const journaled = new Set(journaledRows(folder).map(({ requestId }) => requestId));
  for (const entry of readdirSync(folder)) {
    const [, pid = "", id = ""] = namePattern.exec(entry) ?? [];
    const path = join(folder, entry);
    // The folder is locked, so files of other processes are orphaned, even if a process with the same id is running.
    if (pid === "" || ownPaths.has(path)) continue;
    const { rows, unreadable } = readOpenRequests(readFileSync(path, "utf8"));
    const lines = rows
      .filter(({ requestId }) => !journaled.has(requestId))
      .map((row) => `${JSON.stringify(row)}\n`);
    if (lines.length > 0) {
      const journal = join(folder, `ledger-${pid}-reservations-${id}.journal`);
      writeFileSync(`${journal}.new`, lines.join(""), { mode: 0o600 });
      renameSync(`${journal}.new`, journal);
    }
    rmSync(path, { force: true });
    recovered.requests += lines.length;
    recovered.unreadable += unreadable;
  }
  return recovered;
}

/** Requests with a begin line and no end line. */
function readOpenRequests(text: string) {
  const open = new Map<string, LedgerRow>();
  let unreadable = 0;
  for (const line of text.split("\n")) {
    if (line === "") continue;
    try {
      const parsed = JSON.parse(line) as Values | { readonly ended: string };
      if ("ended" in parsed) open.delete(parsed.ended);
      else open.set(parsed[0], toLedgerRow(parsed));
    } catch {
      unreadable++;
    }
  }
  return { rows: [...open.values()], unreadable };
}

/** The client got no response, and how far the upstream request came is unknown. */
function toLedgerRow(values: Values): LedgerRow {
  const [requestId, at, endpoint, keyId, model, project, estimate] = values;
  return {
    requestId,
    at,
    endpoint,
    keyId,
    model,
    project,
    estimatedCost: estimate,
    status: 500,
    error: "internal",
    steps: "the gateway was killed before the request finished",
    upstream: null,
    targetModel: null,
    attempts: 0,
    latencyMs: 0,
    cost: null,
    inputTokens: null,
    outputTokens: null,
    images: null,
    bytesIn: 0,
    bytesOut: 0,
    cachedInputs: null,
    upstreamTokens: null,
  };
}
