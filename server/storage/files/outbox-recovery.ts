/**
 * Crash recovery, also after kill -9: moves the rows that earlier processes left in their outboxes into the ledger
 * store, at the start or, if the disk was full, later. Until then these rows count as spent. A reservation without a
 * row becomes a row with its estimated cost: the request may have been billed.
 */
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fromValues } from "../ledger-row-values.ts";
import { isCompleteRow, type LedgerRow } from "../ports/ledger-row.ts";
import type { LedgerStore } from "../ports/ledger-store.ts";
import type { ReservedRequest } from "../ports/outbox.ts";
import { type OutboxRecord, ownOutboxes, type ReservedValues } from "./outbox.ts";

/** Rows per step: few, because recovery runs on the thread that serves requests. A full disk fails the first step. */
const chunkRows = 500;
const outboxName = /^outbox-\d+-[\w-]+\.log$/;

interface LeftOutbox extends OutboxContent {
  readonly path: string;
}

export class OutboxRecovery {
  readonly #store: Pick<LedgerStore, "append">;
  readonly #paths: string[];
  #rows: LedgerRow[];
  #running: Promise<void> | undefined;
  /** Records that cannot be read. */
  readonly unreadable: number;
  /** Requests that were in flight with a reservation, and have no row in an outbox. */
  readonly reservations: number;

  /** The folder must be locked: then every outbox except those of this process was left by an earlier process. */
  constructor(folder: string, store: Pick<LedgerStore, "append">) {
    this.#store = store;
    const left = leftOutboxes(folder);
    const rows = left.flatMap((each) => each.rows);
    const settled = new Set(rows.map(({ requestId }) => requestId));
    const open = new Map(
      left
        .flatMap(({ reserved }) => reserved)
        .filter(({ requestId }) => !settled.has(requestId))
        .map((request) => [request.requestId, request]),
    );
    this.#paths = left.map(({ path }) => path);
    // Rows come first: a request with a row keeps it.
    this.#rows = [...rows, ...[...open.values()].map(interruptedRow)];
    this.unreadable = left.reduce((sum, each) => sum + each.unreadable, 0);
    this.reservations = open.size;
  }

  /** Rows that are not in the ledger store yet. */
  get rows(): readonly LedgerRow[] {
    return this.#rows;
  }

  get isDone(): boolean {
    return this.#paths.length === 0;
  }

  /**
   * Stores as many rows as the store takes. The files are removed once all rows are stored. Rejects with the store's
   * error.
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
    }
    for (let path = this.#paths[0]; path !== undefined; path = this.#paths[0]) {
      rmSync(path, { force: true });
      this.#paths.shift();
    }
  }
}

/** The rows of every outbox in the folder that are not known to be in the ledger store. */
export const outboxRows = (folder: string): LedgerRow[] =>
  readdirSync(folder)
    .filter((name) => outboxName.test(name))
    .flatMap((name) => [...readOutbox(readFileSync(join(folder, name))).rows]);

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

/** The client got no response, and how far the upstream request came is unknown. */
const interruptedRow = (request: ReservedRequest): LedgerRow => ({
  requestId: request.requestId,
  at: request.at,
  endpoint: request.endpoint,
  keyId: request.keyId,
  model: request.model,
  project: request.project,
  estimatedCost: request.estimate,
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
  inputs: null,
  timeline: null,
});

interface OutboxContent {
  /** Rows that are not known to be in the ledger store. */
  readonly rows: readonly LedgerRow[];
  /** Reservations without a row: it is unknown whether the requests were billed. */
  readonly reserved: readonly ReservedRequest[];
  /** Records and rows that cannot be read. */
  readonly unreadable: number;
}

const lineFeed = 0x0a;
const headLength = 18;
const headPattern = /^([0-9a-f]{8}) ([0-9a-f]{8}) $/;

export function readOutbox(bytes: Buffer): OutboxContent {
  const content = new ContentReader();
  for (let at = 0; at < bytes.length; ) {
    const json = jsonAt(bytes, at);
    content.add(json);
    if (json !== undefined) at += headLength + json.length + 1;
    else {
      const next = bytes.indexOf(lineFeed, at);
      at = next < 0 ? bytes.length : next + 1;
    }
  }
  const { rows, reserved, unreadable } = content;
  return { rows, reserved, unreadable };
}

/** The JSON of the record at `at`. Undefined: it is torn or damaged. */
function jsonAt(bytes: Buffer, at: number): Buffer | undefined {
  const [, length = "", checksum = ""] =
    headPattern.exec(bytes.toString("latin1", at, at + headLength)) ?? [];
  if (length === "") return undefined;
  const end = at + headLength + Number.parseInt(length, 16);
  if (bytes[end] !== lineFeed) return undefined;
  const json = bytes.subarray(at + headLength, end);
  return Bun.hash.crc32(json) === Number.parseInt(checksum, 16) ? json : undefined;
}

class ContentReader {
  rows: LedgerRow[] = [];
  unreadable = 0;
  readonly #reserved = new Map<string, ReservedRequest>();

  get reserved(): readonly ReservedRequest[] {
    return [...this.#reserved.values()];
  }

  add(json: Buffer | undefined): void {
    if (!json) {
      this.unreadable++;
      return;
    }
    const { rows = [], reserved, released, stored } = JSON.parse(json.toString()) as OutboxRecord;
    for (const values of rows) this.#addRow(fromValues(values));
    if (reserved) this.#reserved.set(reserved[0], reservedOf(reserved));
    if (released !== undefined) this.#reserved.delete(released);
    // If the row of the marker was in a damaged record, nothing is dropped: storing a row again changes nothing.
    if (stored !== undefined)
      this.rows.splice(0, this.rows.findIndex(({ requestId }) => requestId === stored) + 1);
  }

  #addRow(row: LedgerRow): void {
    if (!isCompleteRow(row)) {
      this.unreadable++;
      return;
    }
    this.rows.push(row);
    this.#reserved.delete(row.requestId);
  }
}

const reservedOf = (values: ReservedValues): ReservedRequest => {
  const [requestId, at, endpoint, keyId, model, project, estimate] = values;
  return { requestId, at, endpoint, keyId, model, project, estimate };
};
