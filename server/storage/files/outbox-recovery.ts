/**
 * Crash recovery, also after kill -9: moves the rows that earlier processes left in their outboxes into the ledger
 * store, at the start or, if the disk was full, later. Until then these rows count as spent. A request without a
 * row becomes a row with its estimated cost: the request may have been billed. A file with damaged records is kept
 * under another name, for the operator: no program reads it again.
 */

import { readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { stepText } from "../../../contract/request-steps.ts";
import { nextTurn } from "../../lib/tasks.ts";
import { fromValues, isValidRow } from "../ledger-row-values.ts";
import type { LedgerRow } from "../ports/ledger-row.ts";
import { type OutboxRecord, ownOutboxes } from "./outbox.ts";

/** Rows per step: few, because recovery runs on the thread that serves requests. A full disk fails the first step. */
const chunkRows = 500;
const outboxName = /^outbox-\d+-[\w-]+\.log$/;

const damagedEnding = ".damaged";
/** Files with damaged records that are kept, the latest. Each has at most the size of an outbox, 64 MiB. */
const maxDamagedFiles = 3;

interface RowStore {
  append(rows: readonly LedgerRow[]): Promise<unknown>;
}

interface LeftOutbox extends OutboxContent {
  readonly path: string;
}

interface DamagedOutbox {
  /** Where the file is kept once its other records are in the ledger store. */
  readonly path: string;
  readonly records: number;
}

export class OutboxRecovery {
  readonly #store: RowStore;
  readonly #folder: string;
  readonly #left: LeftOutbox[];
  #rows: LedgerRow[];
  #running: Promise<void> | undefined;
  /** Outboxes with records that cannot be read, or that no ledger store accepts. */
  readonly damaged: readonly DamagedOutbox[];
  /** Outboxes whose last write was cut off by the crash: no response has been sent for what it would have recorded. */
  readonly torn: number;
  /** Requests that were in flight, and have no row in an outbox. */
  readonly interrupted: number;

  /** The folder must be locked: then every outbox except those of this process was left by an earlier process. */
  constructor(folder: string, store: RowStore) {
    this.#folder = folder;
    this.#store = store;
    const left = leftOutboxes(folder);
    const rows = left.flatMap((each) => each.rows);
    const settled = new Set(rows.map(({ requestId }) => requestId));
    const open = new Map(
      left
        .flatMap(({ inFlight }) => inFlight)
        .filter(({ requestId }) => !settled.has(requestId))
        .map((row) => [row.requestId, row]),
    );
    this.#left = left;
    // Rows come first: a request with a row keeps it.
    this.#rows = [...rows, ...open.values()];
    this.damaged = left
      .filter(({ damagedRecords }) => damagedRecords > 0)
      .map(({ path, damagedRecords }) => ({
        path: path + damagedEnding,
        records: damagedRecords,
      }));
    this.torn = left.filter(({ isTorn }) => isTorn).length;
    this.interrupted = open.size;
  }

  /** Rows that are not in the ledger store yet. */
  get rows(): readonly LedgerRow[] {
    return this.#rows;
  }

  get isDone(): boolean {
    return this.#left.length === 0;
  }

  /**
   * Stores as many rows as the store takes. The files are removed, or kept as damaged, once all rows are stored.
   * Rejects with the store's error.
   */
  recover(): Promise<void> {
    this.#running ??= this.#recover().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #recover(): Promise<void> {
    while (this.#rows.length > 0) {
      await this.#store.append(this.#rows.slice(0, chunkRows));
      this.#rows = this.#rows.slice(chunkRows);
      // Requests are served between two steps: SQLite's promise settles without a turn of the event loop.
      if (this.#rows.length > 0) await nextTurn();
    }
    for (let outbox = this.#left[0]; outbox; outbox = this.#left[0]) {
      if (outbox.damagedRecords > 0) setAsideDamaged(this.#folder, outbox.path);
      else rmSync(outbox.path, { force: true });
      this.#left.shift();
    }
  }
}

function setAsideDamaged(folder: string, path: string): void {
  renameSync(path, path + damagedEnding);
  const kept = readdirSync(folder)
    .filter((name) => name.startsWith("outbox-") && name.endsWith(damagedEnding))
    .map((name) => join(folder, name))
    .map((each) => ({ path: each, writtenAt: statSync(each).mtimeMs }))
    .toSorted((a, b) => b.writtenAt - a.writtenAt);
  for (const old of kept.slice(maxDamagedFiles)) rmSync(old.path);
}

function leftOutboxes(folder: string): LeftOutbox[] {
  const found: LeftOutbox[] = [];
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (outboxName.test(name) && !ownOutboxes.has(path))
      found.push({ ...readOutbox(readFileSync(path)), path });
    // A compaction that was interrupted: the file that it would have replaced is complete.
    else if (name.endsWith(".log.new") && !ownOutboxes.has(path.slice(0, -".new".length)))
      rmSync(path);
  }
  return found;
}

/**
 * The row of a request that was in flight: the client got no response, and how far the upstream request came is
 * unknown. The values are those of `inFlightValues`.
 */
function interruptedRow(values: readonly unknown[]): LedgerRow {
  const [requestId, at, endpoint, keyId, model, project, estimatedCost, endUser, tags, budgets] =
    values;
  return {
    ...fromValues([]),
    ...{ requestId, at, endpoint, keyId, model, project, estimatedCost, endUser, tags, budgets },
    status: 500,
    error: "internal",
    steps: stepText(["killed"]),
    attempts: 0,
    latencyMs: 0,
    bytesIn: 0,
    bytesOut: 0,
  } as LedgerRow;
}

interface OutboxContent {
  /** Rows that are not known to be in the ledger store. */
  readonly rows: readonly LedgerRow[];
  /** The rows of requests that have none: it is unknown whether they were billed. */
  readonly inFlight: readonly LedgerRow[];
  /** Records that cannot be read, or have a row that no ledger store accepts. */
  readonly damagedRecords: number;
  /** The last record is cut off. It is not counted as damaged. */
  readonly isTorn: boolean;
}

const lineFeed = 0x0a;
const headLength = 18;
const headPattern = /^[0-9a-f]{8} [0-9a-f]{8} $/;

export function readOutbox(bytes: Buffer): OutboxContent {
  const content = new ContentReader();
  let isTorn = false;
  for (let at = 0; at < bytes.length; ) {
    const json = jsonAt(bytes, at);
    if (json === undefined && isCutOff(bytes, at)) {
      isTorn = true;
      break;
    }
    content.add(json);
    if (json !== undefined) at += headLength + json.length + 1;
    else {
      const next = bytes.indexOf(lineFeed, at);
      at = next < 0 ? bytes.length : next + 1;
    }
  }
  const { rows, inFlight, damagedRecords } = content;
  return { rows, inFlight, damagedRecords, isTorn };
}

/**
 * Whether the file ends within the record at `at`: then its write never returned. A damaged length may also reach
 * beyond the end, but a line feed follows its record.
 */
function isCutOff(bytes: Buffer, at: number): boolean {
  if (bytes.includes(lineFeed, at)) return false;
  const head = bytes.toString("latin1", at, at + headLength);
  if (head.length < headLength) return /^[0-9a-f]{0,8} ?[0-9a-f]{0,8} ?$/.test(head);
  return headPattern.test(head) && at + headLength + lengthIn(head) >= bytes.length;
}

const lengthIn = (head: string): number => Number.parseInt(head.slice(0, 8), 16);

/** The JSON of the record at `at`. Undefined if it is torn or damaged. */
function jsonAt(bytes: Buffer, at: number): Buffer | undefined {
  const head = bytes.toString("latin1", at, at + headLength);
  if (!headPattern.test(head)) return undefined;
  const end = at + headLength + lengthIn(head);
  if (bytes[end] !== lineFeed) return undefined;
  const json = bytes.subarray(at + headLength, end);
  return Bun.hash.crc32(json) === Number.parseInt(head.slice(9), 16) ? json : undefined;
}

class ContentReader {
  rows: LedgerRow[] = [];
  damagedRecords = 0;
  readonly #inFlight = new Map<string, LedgerRow>();

  get inFlight(): readonly LedgerRow[] {
    return [...this.#inFlight.values()];
  }

  add(json: Buffer | undefined): void {
    if (!json) {
      this.damagedRecords++;
      return;
    }
    const { rows, inFlight, released, stored } = JSON.parse(json.toString()) as OutboxRecord;
    for (const row of this.#validRows(rows, fromValues)) this.#addRow(row);
    for (const row of this.#validRows(inFlight, interruptedRow))
      this.#inFlight.set(row.requestId, row);
    if (released !== undefined) this.#inFlight.delete(released);
    // If the row of the marker was in a damaged record, nothing is dropped: storing a row again changes nothing.
    if (stored !== undefined)
      this.rows.splice(0, this.rows.findIndex(({ requestId }) => requestId === stored) + 1);
  }

  #validRows(
    lists: readonly (readonly unknown[])[] = [],
    rowOf: (values: readonly unknown[]) => LedgerRow,
  ): readonly LedgerRow[] {
    const valid = lists.filter(Array.isArray).map(rowOf).filter(isValidRow);
    if (valid.length < lists.length) this.damagedRecords++;
    return valid;
  }

  #addRow(row: LedgerRow): void {
    this.rows.push(row);
    this.#inFlight.delete(row.requestId);
  }
}
