/**
 * Coarser roll-ups of the hours that are over: usage by day, and usage by hour and by day without the API key. They are
 * added up from `usage_by_hour` once an hour and not with each row, and let charts over months read few rows.
 */
import type { Database, Statement } from "bun:sqlite";
import { groupColumns, sumColumns, type UsageGroup } from "./usage-table.ts";

export const dayMs = 86_400_000;

/** A coarser table: what its columns are in terms of a row of `usage_by_hour`. */
interface CoarseTable {
  readonly name: "usage_by_day" | "usage_without_key" | "usage_by_day_without_key";
  /** The column with the start of the period, and its value. */
  readonly start: "day" | "hour";
  readonly startOf: string;
  readonly keyOf: string;
}

const coarseTables: readonly CoarseTable[] = [
  {
    name: "usage_by_day",
    start: "day",
    keyOf: "key_id",
    startOf: `hour - hour % ${dayMs}`,
  },
  { name: "usage_without_key", start: "hour", startOf: "hour", keyOf: "''" },
  {
    name: "usage_by_day_without_key",
    start: "day",
    keyOf: "''",
    startOf: `hour - hour % ${dayMs}`,
  },
];

const addSums = sumColumns.map((name) => `${name} = ${name} + excluded.${name}`).join(", ");

function rollUpStatement({ name, start, startOf, keyOf }: CoarseTable, source: string): string {
  const [, ...others] = groupColumns;
  const sums = sumColumns.map((each) => `sum(${each})`);
  return `INSERT INTO ${name} (${[start, ...groupColumns, ...sumColumns].join(", ")})
    SELECT ${startOf}, ${[keyOf, ...others, ...sums].join(", ")} FROM ${source}
    GROUP BY 1, 2, ${others.join(", ")}
    ON CONFLICT DO UPDATE SET ${addSums}`;
}

/** One group as a table, for rows that arrive after their hour was added up. */
const oneGroup = `(SELECT ${["hour", ...groupColumns, ...sumColumns]
  .map((name, at) => `?${at + 1} AS ${name}`)
  .join(", ")}) WHERE true`;

export class FinishedUsage {
  readonly #until: Statement<{ until: number }, []>;
  readonly #setUntil: Statement;
  readonly #rollUps: readonly Statement[];
  readonly #additions: readonly Statement[];
  readonly #prunes: readonly Statement[];

  constructor(db: Database) {
    this.#until = db.prepare("SELECT until FROM finished_usage");
    this.#setUntil = db.prepare("UPDATE finished_usage SET until = ?1");
    const finished = "usage_by_hour WHERE hour >= ?1 AND hour < ?2";
    this.#rollUps = coarseTables.map((table) => db.prepare(rollUpStatement(table, finished)));
    this.#additions = coarseTables.map((table) => db.prepare(rollUpStatement(table, oneGroup)));
    this.#prunes = coarseTables.map(({ name, start }) =>
      db.prepare(`DELETE FROM ${name} WHERE ${start} < ?1`),
    );
  }

  /** After the groups were added to `usage_by_hour`, in the same transaction. */
  add(groups: Iterable<UsageGroup>): void {
    const until = this.#until.get()?.until ?? 0;
    let latest = until;
    for (const { keys, sums } of groups) {
      const [hour] = keys;
      if (hour > latest) latest = hour;
      if (hour < until) for (const addition of this.#additions) addition.run(...keys, ...sums);
    }
    if (latest > until) this.rollUp(latest);
  }

  /** Adds up the hours before `until` that are not added up yet. */
  rollUp(until: number): void {
    const from = this.#until.get()?.until ?? 0;
    for (const statement of this.#rollUps) statement.run(from, until);
    this.#setUntil.run(until);
  }

  /** Deletes usage before `before`, the start of a day. */
  prune(before: number): void {
    for (const statement of this.#prunes) statement.run(before);
  }

  close(): void {
    for (const statement of [
      ...[this.#until, this.#setUntil],
      ...[...this.#rollUps, ...this.#additions, ...this.#prunes],
    ])
      statement.finalize();
  }
}
