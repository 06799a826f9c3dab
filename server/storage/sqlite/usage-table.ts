/**
 * Roll-ups of the ledger: usage by hour, key, project, model and target. They are written in the same transaction as the
 * rows, so the two always agree, and they stay when old rows are pruned.
 */
import type { Database, Statement } from "bun:sqlite";
import { latencyBoundsMs } from "../ports/ledger-queries.ts";
import type { LedgerRow } from "../ports/ledger-row.ts";

export const hourMs = 3_600_000;

/** Usage is kept this much longer than rows: a year can be compared with the year before. */
export const usageLongerMs = 400 * 24 * hourMs;

/** The columns that identify a group. A value that a request does not have is the empty text. */
export const groupColumns = ["key_id", "project", "model", "upstream", "target_model"] as const;

export const latencyColumns = [...latencyBoundsMs.keys(), latencyBoundsMs.length].map(
  (at) => `latency_${at}`,
);

export const sumColumns = [
  "requests",
  "errors",
  "unmetered",
  "unpriced",
  "input_tokens",
  "output_tokens",
  "images",
  "inputs",
  "cached_inputs",
  "cost",
  "estimated_cost",
  "latency_ms",
  ...latencyColumns,
] as const;

/** The index of the first latency count in `sumColumns`. */
const latencyAt = sumColumns.length - latencyColumns.length;

export interface UsageGroup {
  readonly keys: readonly [hour: number, ...texts: string[]];
  /** In the order of `sumColumns`. */
  readonly sums: number[];
}

/** Sums the new rows of one transaction: most have few keys, models and targets, and one hour. */
export class UsageTally {
  readonly #groups = new Map<string, UsageGroup>();

  add(row: LedgerRow): void {
    const { keyId, latencyMs } = row;
    const hour = row.at - (row.at % hourMs);
    const texts = [
      keyId,
      row.project ?? "",
      row.model ?? "",
      row.upstream ?? "",
      row.targetModel ?? "",
    ];
    const id = `${hour}\n${texts.join("\n")}`;
    let group = this.#groups.get(id);
    if (!group) {
      const sums = new Array<number>(sumColumns.length).fill(0);
      group = { keys: [hour, ...texts], sums };
      this.#groups.set(id, group);
    }
    const isError = row.error !== null;
    const values = [
      1,
      isError ? 1 : 0,
      !isError && row.inputTokens === null ? 1 : 0,
      !isError && row.cost === null ? 1 : 0,
      row.inputTokens ?? 0,
      row.outputTokens ?? 0,
      row.images ?? 0,
      row.inputs ?? 0,
      row.cachedInputs ?? 0,
      row.cost ?? 0,
      row.estimatedCost ?? 0,
      latencyMs,
    ];
    const { sums } = group;
    for (let at = 0; at < values.length; at++) sums[at] = (sums[at] ?? 0) + (values[at] ?? 0);
    const bucket = latencyAt + bucketOf(latencyMs);
    sums[bucket] = (sums[bucket] ?? 0) + 1;
  }

  get groups(): Iterable<UsageGroup> {
    return this.#groups.values();
  }
}

function bucketOf(latencyMs: number): number {
  const at = latencyBoundsMs.findIndex((bound) => latencyMs <= bound);
  return at < 0 ? latencyBoundsMs.length : at;
}

const columns = ["hour", ...groupColumns, ...sumColumns];
const addition = `INSERT INTO usage_by_hour (${columns.join(", ")})
  VALUES (${columns.map((_, at) => `?${at + 1}`).join(", ")})
  ON CONFLICT DO UPDATE SET ${sumColumns.map((name) => `${name} = ${name} + excluded.${name}`).join(", ")}`;

export class UsageTable {
  readonly #add: Statement;
  readonly #prune: Statement;

  constructor(db: Database) {
    this.#add = db.prepare(addition);
    this.#prune = db.prepare("DELETE FROM usage_by_hour WHERE hour < ?1");
  }

  /** Runs inside the transaction that writes the rows. */
  add({ groups }: UsageTally): void {
    for (const { keys, sums } of groups) this.#add.run(...keys, ...sums);
  }

  /** Deletes the hours before `before`. */
  prune(before: number): void {
    this.#prune.run(before);
  }

  close(): void {
    for (const statement of [this.#add, this.#prune]) statement.finalize();
  }
}
