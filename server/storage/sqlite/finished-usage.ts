/**
 * Coarser roll-ups of the hours that are over: usage by day, without the API key, and by API key alone. They are added
 * up from `usage_by_hour` in small steps, one with each transaction of rows, and let charts over months read few rows.
 */
import type { Statement } from "bun:sqlite";
import { groupColumns, sumColumns } from "../sql/usage-columns.ts";
import type { PreparedStatements } from "./prepared-statements.ts";
import type { UsageGroup } from "./usage-table.ts";

export const dayMs = 86_400_000;

/** A coarser table. It has the columns of `usage_by_hour`, so that hours are added up by one statement. */
export interface CoarseTable {
  readonly name: string;
  /** The column with the start of the period. */
  readonly start: "day" | "hour";
  /** The columns that groups have. The other columns are the empty text. */
  readonly columns: readonly (typeof groupColumns)[number][];
}

const [, ...withoutKey] = groupColumns;
const keyAndProject = ["key_id", "project"] as const;

export const coarseTables = {
  usage_by_day: { name: "usage_by_day", start: "day", columns: groupColumns },
  usage_without_key: { name: "usage_without_key", start: "hour", columns: withoutKey },
  usage_by_day_without_key: {
    name: "usage_by_day_without_key",
    start: "day",
    columns: withoutKey,
  },
  usage_by_key: { name: "usage_by_key", start: "hour", columns: keyAndProject },
  usage_by_day_and_key: { name: "usage_by_day_and_key", start: "day", columns: keyAndProject },
} as const satisfies Record<string, CoarseTable>;

/** One step adds up about this many groups: a request waits for it for a millisecond or two. */
const stepGroups = 256;

const addSums = sumColumns.map((name) => `${name} = ${name} + excluded.${name}`).join(", ");

/** Adds up groups of `source`, which has the columns of `usage_by_hour`. */
export function rollUpStatement({ name, start, columns }: CoarseTable, source: string): string {
  const startOf = start === "day" ? `hour - hour % ${dayMs}` : "hour";
  const values = groupColumns.map((each) => (columns.includes(each) ? each : "''"));
  const sums = sumColumns.map((each) => `sum(${each})`);
  return `INSERT INTO ${name} (${[start, ...groupColumns, ...sumColumns].join(", ")})
    SELECT ${[startOf, ...values, ...sums].join(", ")} FROM ${source}
    GROUP BY ${[startOf, ...columns].join(", ")}
    ON CONFLICT DO UPDATE SET ${addSums}`;
}

/** One group as a table, for rows that arrive after their group was added up. */
const oneGroup = `(SELECT ${["hour", ...groupColumns, ...sumColumns]
  .map((name, at) => `?${at + 1} AS ${name}`)
  .join(", ")}) WHERE true`;

/** Hours before `hour` are added up, and in it the keys up to `key`. */
interface Position {
  readonly hour: number;
  readonly key: string | null;
}

/** SQLite compares text by its bytes. */
const isAddedUp = ([hour, key]: UsageGroup["keys"], done: Position): boolean =>
  hour < done.hour ||
  (hour === done.hour &&
    done.key !== null &&
    Buffer.compare(Buffer.from(key ?? ""), Buffer.from(done.key)) <= 0);

export class FinishedUsage {
  readonly #position: Statement<Position, []>;
  readonly #setPosition: Statement;
  readonly #nextHour: Statement<{ hour: number }, [number]>;
  readonly #lastKey: Statement<{ key: string }, [number, string | null]>;
  readonly #rollUps: readonly Statement[];
  readonly #additions: readonly Statement[];
  readonly #prunes: readonly Statement[];

  constructor(statements: PreparedStatements) {
    const tables = Object.values<CoarseTable>(coarseTables);
    this.#position = statements.prepare("SELECT until AS hour, key_id AS key FROM finished_usage");
    this.#setPosition = statements.prepare("UPDATE finished_usage SET until = ?1, key_id = ?2");
    this.#nextHour = statements.prepare(
      "SELECT hour FROM usage_by_hour WHERE hour >= ?1 ORDER BY hour LIMIT 1",
    );
    this.#lastKey = statements.prepare(
      `SELECT key_id AS key FROM usage_by_hour WHERE hour = ?1 AND (?2 IS NULL OR key_id > ?2)
       ORDER BY key_id LIMIT 1 OFFSET ${stepGroups - 1}`,
    );
    const step = `usage_by_hour WHERE hour = ?1 AND (?2 IS NULL OR key_id > ?2)
      AND (?3 IS NULL OR key_id <= ?3)`;
    this.#rollUps = tables.map((table) => statements.prepare(rollUpStatement(table, step)));
    this.#additions = tables.map((table) => statements.prepare(rollUpStatement(table, oneGroup)));
    this.#prunes = tables.map(({ name, start }) =>
      statements.prepare(`DELETE FROM ${name} WHERE ${start} < ?1`),
    );
  }

  /** After the groups were added to `usage_by_hour`, in the same transaction. */
  add(groups: Iterable<UsageGroup>): void {
    const done = this.#position.get() ?? { hour: 0, key: null };
    let latest = done.hour;
    for (const { keys, sums } of groups) {
      if (keys[0] > latest) latest = keys[0];
      if (isAddedUp(keys, done)) {
        for (const addition of this.#additions) addition.run(...keys, ...sums);
      }
    }
    if (latest > done.hour) this.#step(done, latest);
  }

  /** Adds up the next keys of the first hour that is not added up, if it is before `latest`. */
  #step(done: Position, latest: number): void {
    const hour = this.#nextHour.get(done.hour)?.hour ?? latest;
    const after = hour === done.hour ? done.key : null;
    if (hour >= latest) {
      this.#setPosition.run(latest, null);
      return;
    }
    const last = this.#lastKey.get(hour, after)?.key ?? null;
    for (const statement of this.#rollUps) statement.run(hour, after, last);
    if (last === null) this.#setPosition.run(this.#nextHour.get(hour + 1)?.hour ?? latest, null);
    else this.#setPosition.run(hour, last);
  }

  /** Deletes usage before `before`, the start of a day. */
  prune(before: number): void {
    for (const statement of this.#prunes) statement.run(before);
  }
}
