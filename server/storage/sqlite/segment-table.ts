/**
 * Segment summaries of the ledger (zone maps): for each run of about two thousand rows in the order of their request
 * ids, the range of each number and a Bloom filter of the texts. A list skips segments without a matching row, so that
 * it needs no index by key, model or error, which would cost several page writes for each row. The summaries are
 * written in the same transaction as the rows.
 */

import type { Statement } from "bun:sqlite";
import type { LedgerRow } from "../ports/ledger-row.ts";
import type { PreparedStatements } from "./prepared-statements.ts";
import { hasSameNames } from "./usage-table.ts";

/** A segment with this many rows is followed by another one. Later rows with an id inside it still belong to it. */
const segmentRows = 2048;

/** The numbers whose range a segment has, by the name of the column. */
const rangedColumns = ["at", "status", "latency_ms", "cost"] as const;

const columns = [
  "first_id",
  "last_id",
  "rows",
  "errors",
  ...rangedColumns.flatMap((name) => [`min_${name}`, `max_${name}`]),
  "terms",
] as const;

interface StoredSegment {
  readonly first_id: string;
  readonly last_id: string;
  readonly rows: number;
  readonly errors: number;
  readonly terms: Uint8Array;
  readonly [range: string]: unknown;
}

class Segment {
  readonly firstId: string;
  #lastId: string;
  #rows = 0;
  #errors = 0;
  /** The minimum and the maximum of each column. Null: no row has a value. */
  readonly #ranges: (number | null)[];
  readonly #terms: Uint8Array;
  /** The row that was added before. */
  #last: LedgerRow | undefined;

  constructor(firstId: string, stored?: StoredSegment) {
    this.firstId = firstId;
    this.#lastId = stored?.last_id ?? firstId;
    this.#rows = stored?.rows ?? 0;
    this.#errors = stored?.errors ?? 0;
    this.#terms = stored?.terms ?? new Uint8Array(termBytes);
    this.#ranges = rangedColumns.flatMap((name) => [
      (stored?.[`min_${name}`] as number | null | undefined) ?? null,
      (stored?.[`max_${name}`] as number | null | undefined) ?? null,
    ]);
  }

  /** Whether a new segment begins with this row. */
  endsBefore(requestId: string): boolean {
    return this.#rows >= segmentRows && requestId > this.#lastId;
  }

  add(row: LedgerRow): void {
    if (row.requestId > this.#lastId) this.#lastId = row.requestId;
    this.#rows++;
    if (row.error !== null) this.#errors++;
    this.#widen(0, row.at);
    this.#widen(2, row.status);
    this.#widen(4, row.latencyMs);
    if (row.cost !== null) this.#widen(6, row.cost);
    if (!this.#last || !hasSameNames(this.#last, row)) this.#addNames(row);
    if (row.error !== null) addTerm(this.#terms, "error", row.error);
    this.#last = row;
  }

  #addNames(row: LedgerRow): void {
    const terms = this.#terms;
    addTerm(terms, "keyId", row.keyId);
    addTerm(terms, "project", row.project);
    addTerm(terms, "model", row.model);
    addTerm(terms, "upstream", row.upstream);
    addTerm(terms, "targetModel", row.targetModel);
  }

  /** In the order of `columns`. */
  get values() {
    return [
      this.firstId,
      this.#lastId,
      this.#rows,
      this.#errors,
      ...this.#ranges,
      this.#terms,
    ] as const;
  }

  #widen(at: number, value: number): void {
    const ranges = this.#ranges;
    const min = ranges[at] ?? null;
    const max = ranges[at + 1] ?? null;
    if (min === null || value < min) ranges[at] = value;
    if (max === null || value > max) ranges[at + 1] = value;
  }
}

export class SegmentTable {
  readonly #find: Statement<StoredSegment, [string]>;
  readonly #next: Statement<{ first_id: string }, [string]>;
  readonly #save: Statement;
  readonly #prune: Statement;

  constructor(statements: PreparedStatements) {
    this.#find = statements.prepare(
      `SELECT ${columns.join(", ")} FROM ledger_segments WHERE first_id <= ?1
       ORDER BY first_id DESC LIMIT 1`,
    );
    this.#next = statements.prepare(
      "SELECT first_id FROM ledger_segments WHERE first_id > ?1 ORDER BY first_id LIMIT 1",
    );
    this.#save = statements.prepare(
      `INSERT OR REPLACE INTO ledger_segments (${columns.join(", ")})
       VALUES (${columns.map((_, at) => `?${at + 1}`).join(", ")})`,
    );
    this.#prune = statements.prepare(
      // A blob is greater than every text: without rows, all segments are deleted. The condition for `first_id` follows
      // from the one for `last_id`, and lets the statement read only the segments that it deletes.
      `WITH oldest AS (SELECT coalesce((SELECT min(request_id) FROM ledger), x'') AS id)
       DELETE FROM ledger_segments
       WHERE first_id < (SELECT id FROM oldest) AND last_id < (SELECT id FROM oldest)`,
    );
  }

  /** New rows in any order. Runs inside the transaction that writes them. */
  add(rows: Iterable<LedgerRow>): void {
    let segment: Segment | undefined;
    /** The first id of the segment after it. */
    let end: string | undefined;
    for (const row of rows) {
      const { requestId } = row;
      const isInside =
        segment && requestId >= segment.firstId && (end === undefined || requestId < end);
      if (!isInside) {
        this.#write(segment);
        const stored = this.#find.get(requestId);
        segment = stored ? new Segment(stored.first_id, stored) : new Segment(requestId);
        end = this.#next.get(requestId)?.first_id;
      }
      if (!segment || segment.endsBefore(requestId)) {
        this.#write(segment);
        segment = new Segment(requestId);
      }
      segment.add(row);
    }
    this.#write(segment);
  }

  /** Deletes the segments before the oldest row. */
  prune(): void {
    this.#prune.run();
  }

  #write(segment: Segment | undefined): void {
    if (segment) this.#save.run(...segment.values);
  }
}

/** The columns whose texts are in the filter. */
export type Term = "keyId" | "project" | "model" | "upstream" | "targetModel" | "error";

/**
 * False positives: with 2,048 keys in a segment (8 bits each), one of thirty segments; with 500, under one of a
 * thousand.
 */
const termBytes = 2048;
const bits = termBytes * 8;

/** Hashes of texts that occur again and again, such as model ids. */
const hashes: Record<Term, Map<string | null, number>> = {
  keyId: new Map(),
  project: new Map(),
  model: new Map(),
  upstream: new Map(),
  targetModel: new Map(),
  error: new Map(),
};
const maxHashes = 4096;

/** Adds a text to the Bloom filter of a segment, which may have a text too many, and never one too few. */
function addTerm(filter: Uint8Array, term: Term, value: string | null): void {
  const hash = hashOf(term, value);
  setBit(filter, hash % bits);
  setBit(filter, (hash >>> 11) % bits);
  setBit(filter, Math.imul(hash, 0x9e3779b1) >>> 18);
}

export function mayHaveTerm(filter: Uint8Array, term: Term, value: string | null): boolean {
  const hash = hashOf(term, value);
  return (
    hasBit(filter, hash % bits) &&
    hasBit(filter, (hash >>> 11) % bits) &&
    hasBit(filter, Math.imul(hash, 0x9e3779b1) >>> 18)
  );
}

function setBit(filter: Uint8Array, at: number): void {
  filter[at >>> 3] = (filter[at >>> 3] ?? 0) | (1 << (at & 7));
}

const hasBit = (filter: Uint8Array, at: number): boolean =>
  ((filter[at >>> 3] ?? 0) & (1 << (at & 7))) !== 0;

function hashOf(term: Term, value: string | null): number {
  const known = hashes[term];
  let hash = known.get(value);
  if (hash === undefined) {
    // The filter is stored, so the hash must never change: 32 bits of a CRC, which every version of Bun computes alike.
    hash = Bun.hash.crc32(value === null ? term : `${term}:${value}`);
    if (known.size >= maxHashes) known.clear();
    known.set(value, hash);
  }
  return hash;
}
