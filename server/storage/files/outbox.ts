/**
 * The outbox, a write-ahead log of the ledger. Ledger rows are appended when their requests end, which takes a few
 * microseconds and survives the death of the process; shortly after, they go into the ledger store in groups. Requests
 * that may be billed are appended before they are sent, and ended by their row. The next start recovers the file of a
 * killed process (`outbox-recovery.ts`). There is no fsync: a power failure may lose the last moments.
 *
 * A record is a line: the length of its JSON and its checksum (CRC-32), both in eight hexadecimal digits, and the JSON.
 * Length and checksum detect a torn write at the end, which a power failure leaves; the line feed lets a reader
 * continue after a damaged record.
 *
 * Every method is synchronous because it only copies a few hundred bytes to the page cache, which takes less than a
 * promise and a thread would. `append`, `flush` and `close` throw the errors of the disk; those of the other methods
 * go to `onError`, and the next write repeats what could not be written.
 */
import {
  closeSync,
  constants,
  ftruncateSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { recordedDollars } from "../../lib/nano-dollars.ts";
import { valuesOf } from "../ledger-row-values.ts";
import type { InFlightRequest, LedgerRow } from "../ports/ledger-row.ts";
import type { OpenedFiles } from "./opened-files.ts";

/** Appending, because a write at a position would leave a hole after the file was truncated. */
const emptyForAppending =
  constants.O_CREAT | constants.O_TRUNC | constants.O_WRONLY | constants.O_APPEND;

/** Files of this process. A process id does not say which files are still being written: ids repeat. */
export const ownOutboxes = new Set<string>();

export interface OutboxFileOptions {
  readonly folder: string;
  /** Distinguishes the files of one process. */
  readonly id: string;
  /** Called with the disk's error when a record that is written later cannot be written. */
  readonly onError: (error: unknown) => void;
  /** Watches the files that must not be lost. The outbox adds its file, and refuses rows after a problem. */
  readonly opened?: Pick<OpenedFiles, "watch" | "problem">;
  /** Above this size the file is compacted: rewritten with requests in flight and unstored rows only. */
  readonly compactBytes?: number;
  /** The limit of the file: above it, appending fails as on a full disk. */
  readonly maxBytes?: number;
  /** For tests: writes a text to a file, and returns the number of bytes that were written. */
  readonly write?: (descriptor: number, text: string) => number;
}

const unwatched = { watch: () => undefined, problem: undefined };

/** The end of a request without a row is written at most this much later. */
const releaseDelayMs = 50;
/** A larger outbox counts as a full disk. */
const maxOutboxBytes = 64 * 1024 * 1024;

export class OutboxFile {
  readonly path: string;
  readonly #options: Required<OutboxFileOptions>;
  #descriptor: number;
  #size = 0;
  #compactAbove: number;
  #rows: LedgerRow[] = [];
  /** Requests that may be billed, by request id. */
  readonly #inFlight = new Map<string, InFlightRequest>();
  /** Requests that are written with the next write. */
  #begun: InFlightRequest[] = [];
  /** Records that are written with the next write. */
  #queue = "";
  /** A record could not be written: the whole file is rewritten before the next one. */
  #isIncomplete = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #closed = false;

  constructor(options: OutboxFileOptions) {
    this.#options = {
      opened: unwatched,
      compactBytes: 1024 * 1024,
      maxBytes: maxOutboxBytes,
      write: writeSync,
      ...options,
    };
    this.path = join(options.folder, `outbox-${process.pid}-${options.id}.log`);
    this.#compactAbove = this.#options.compactBytes;
    this.#descriptor = openSync(this.path, "ax", 0o600);
    ownOutboxes.add(this.path);
    this.#options.opened.watch(this.path);
  }

  /** Rows in the outbox that are not in the ledger store yet, oldest first. */
  get rows(): readonly LedgerRow[] {
    return this.#rows;
  }

  /** Appends all rows or none: then it throws. A row also ends its request, in the same write. */
  append(rows: readonly LedgerRow[]): void {
    const { problem } = this.#options.opened;
    if (problem !== undefined) throw new Error(problem);
    this.#write(rowsRecord(rows));
    for (const row of rows) {
      this.#rows.push(row);
      if (this.#inFlight.size > 0) this.#inFlight.delete(row.requestId);
    }
  }

  /** The first `count` of `rows` are in the ledger store. */
  markStored(count: number): void {
    const last = this.#rows.splice(0, count).at(-1);
    if (last === undefined) return;
    this.#containErrors(() => {
      if (this.#isEmpty) this.#truncate();
      else this.#write(encode({ stored: last.requestId }));
    });
  }

  /** The request is sent soon. `flush` records it. */
  begin(request: InFlightRequest): void {
    this.#inFlight.set(request.requestId, request);
    this.#begun.push(request);
  }

  /** Records the requests that have begun, so that they have rows if the process dies. To be called before one is sent. */
  flush(): void {
    if (this.#begun.length > 0) this.#write("");
  }

  /** Ends a request whose row is in the ledger store without having been in the outbox, or which needs none. */
  release(requestId: string): void {
    if (!this.#inFlight.delete(requestId)) return;
    this.#begun = this.#begun.filter((begun) => begun.requestId !== requestId);
    this.#queue += encode({ released: requestId });
    this.#timer ??= setTimeout(() => this.#writeQueue(), releaseDelayMs).unref();
  }

  /** Rows and requests that remain are recovered by the next start. */
  close(): void {
    if (this.#closed) return;
    const isEmpty = this.#isEmpty;
    if (!isEmpty) this.#writeQueue();
    clearTimeout(this.#timer);
    this.#closed = true;
    closeSync(this.#descriptor);
    ownOutboxes.delete(this.path);
    // The file may be gone already, with its folder.
    if (isEmpty) rmSync(this.path, { force: true });
  }

  get #isEmpty(): boolean {
    return this.#rows.length === 0 && this.#inFlight.size === 0;
  }

  /** A timer has no caller that could catch an error. */
  #writeQueue(): void {
    if (this.#queue === "" && this.#begun.length === 0) return;
    this.#containErrors(() => (this.#isEmpty ? this.#truncate() : this.#write("")));
  }

  /**
   * Reports the errors of writes that no caller waits for. After one, the next write rewrites the whole file, with the
   * queued records. Until then the recovery can do without these, except those of requests that begin: it may store a row
   * again, which changes nothing, and a released request has a row in the ledger store.
   */
  #containErrors(write: () => void): void {
    try {
      write();
    } catch (error) {
      this.#options.onError(error);
    }
  }

  /** Writes the queue and one more record. All or nothing. */
  #write(record: string): void {
    // The number of a closed file may belong to another file by now.
    if (this.#closed) throw new Error("the outbox is closed");
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const queue = this.#queue + inFlightRecord(this.#begun);
    this.#queue = "";
    this.#begun = [];
    const needsCompaction = this.#isIncomplete || this.#size > this.#compactAbove;
    try {
      if (needsCompaction) this.#compact();
      // A compacted file has the state that the queued records led to.
      const text = needsCompaction ? record : queue + record;
      this.#size += this.#writeAll(this.#descriptor, text, this.#size);
    } catch (error) {
      this.#isIncomplete = true;
      throw error;
    }
  }

  #truncate(): void {
    if (this.#closed) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#queue = "";
    ftruncateSync(this.#descriptor, 0);
    this.#size = 0;
    this.#isIncomplete = false;
    this.#compactAbove = this.#options.compactBytes;
  }

  /** The new file is complete before it takes the name of the old one. */
  #compact(): void {
    const path = `${this.path}.new`;
    const descriptor = openSync(path, emptyForAppending, 0o600);
    let size: number;
    try {
      const inFlight = inFlightRecord([...this.#inFlight.values()]);
      const rows = this.#rows.length > 0 ? rowsRecord(this.#rows) : "";
      size = this.#writeAll(descriptor, inFlight + rows, 0);
      renameSync(path, this.path);
    } catch (error) {
      closeSync(descriptor);
      rmSync(path, { force: true });
      throw error;
    }
    closeSync(this.#descriptor);
    this.#descriptor = descriptor;
    this.#size = size;
    this.#isIncomplete = false;
    // With very many requests in flight, the file is not compacted again for each of them.
    this.#compactAbove = Math.max(this.#options.compactBytes, 4 * size);
    this.#options.opened.watch(this.path);
  }

  /** Writes all of the text or nothing; returns its length in bytes. `size`: the current length of the file. */
  #writeAll(descriptor: number, text: string, size: number): number {
    const { maxBytes, write } = this.#options;
    const length = Buffer.byteLength(text);
    if (length === 0) return 0;
    if (size + length > maxBytes) throw new Error(`the outbox is full (${maxBytes} bytes)`);
    try {
      if (write(descriptor, text) !== length) throw new Error("the disk is full");
      return length;
    } catch (error) {
      ftruncateSync(descriptor, size);
      throw error;
    }
  }
}

/** Exactly one of the members is set. */
export interface OutboxRecord {
  /** Ledger rows. Each also ends its request. */
  readonly rows?: readonly (readonly unknown[])[];
  /** Requests that may be billed. */
  readonly inFlight?: readonly (readonly unknown[])[];
  /** The request id of a request that ended without a row in the outbox. */
  readonly released?: string;
  /** The request id of a row: this row and all rows before it are in the ledger store. */
  readonly stored?: string;
}

export const rowsRecord = (rows: readonly LedgerRow[]): string =>
  encode({ rows: rows.map(valuesOf) });

const inFlightRecord = (requests: readonly InFlightRequest[]): string =>
  requests.length === 0 ? "" : encode({ inFlight: requests.map(inFlightValues) });

/** Without names, because this runs for every request that is sent. */
const inFlightValues = (request: InFlightRequest): readonly unknown[] => [
  request.requestId,
  request.at,
  request.endpoint,
  request.keyId,
  request.model,
  request.project,
  recordedDollars(request.estimate),
  request.endUser,
  request.tags,
  request.budgets,
];

const hex = (value: number): string => value.toString(16).padStart(8, "0");

export function encode(record: OutboxRecord): string {
  const json = JSON.stringify(record);
  return `${hex(Buffer.byteLength(json))} ${hex(Bun.hash.crc32(json))} ${json}\n`;
}
