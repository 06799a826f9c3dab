/**
 * Crash recovery, also after kill -9: moves what earlier processes left in their outboxes into the ledger store, at the
 * start or, if the disk was full then, once it is not. Until then these rows count as spent. A reservation without a
 * row becomes a row with its estimated cost: the request may have been billed.
 */
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { LedgerRow } from "../ports/ledger-row.ts";
import type { LedgerStore } from "../ports/ledger-store.ts";
import type { ReservedRequest } from "../ports/outbox.ts";
import { ownOutboxes } from "./outbox.ts";
import { type OutboxContent, readOutbox } from "./outbox-records.ts";

/** In small steps, as it runs on the thread that serves requests; a disk that is still full is noticed by the first. */
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
