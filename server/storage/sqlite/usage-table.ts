/**
 * Roll-ups of the ledger: usage by hour, key, project, model and target. They are written in the same transaction as
 * the rows, so the two always agree, and they stay when old rows are pruned. The hours that are over have coarser
 * roll-ups: usage by day, without the API key, and by API key alone. They are added up from `usage_by_hour` in small
 * steps, one with each transaction of rows, and let charts over months read few rows.
 */
import type { Statement } from "bun:sqlite";
import { latencyBoundsMs } from "../ports/ledger-queries.ts";
import type { LedgerRow } from "../ports/ledger-row.ts";
import { dayMs, groupColumns, hourMs, latencyColumns, sumColumns } from "../sql/ledger-columns.ts";
import type { PreparedStatements } from "./prepared-statements.ts";

/** The index of the first latency count in `sumColumns`. */
const latencyAt = sumColumns.length - latencyColumns.length;

export interface RollupGroup {
  readonly keys: readonly [hour: number, ...texts: string[]];
  /** In the order of `sumColumns`. */
  readonly sums: number[];
}

/** Sums the new rows of one transaction: most have few keys, models and targets, and one hour. */
export class UsageTally {
  readonly #groups = new Map<string, RollupGroup>();
  /** The group of the row before: the next row often belongs to it too. */
  #last: { readonly row: LedgerRow; readonly group: RollupGroup } | undefined;

  add(row: LedgerRow): void {
    const last = this.#last;
    let group: RollupGroup;
    if (last && isSameGroup(last.row, row)) group = last.group;
    else {
      group = this.#groupOf(row);
      this.#last = { row, group };
    }
    addRow(group.sums, row);
  }

  #groupOf(row: LedgerRow): RollupGroup {
    const keys = [
      hourOf(row),
      row.keyId,
      row.project ?? "",
      row.model ?? "",
      row.upstream ?? "",
      row.targetModel ?? "",
    ] as const;
    const id = keys.join("\n");
    let group = this.#groups.get(id);
    if (!group) {
      group = { keys, sums: new Array<number>(sumColumns.length).fill(0) };
      this.#groups.set(id, group);
    }
    return group;
  }

  get groups(): Iterable<RollupGroup> {
    return this.#groups.values();
  }
}

const hourOf = ({ at }: LedgerRow): number => at - (at % hourMs);

const isSameGroup = (one: LedgerRow, other: LedgerRow): boolean =>
  hasSameNames(one, other) && hourOf(one) === hourOf(other);

/** Whether two rows have the same key, project, model and target. */
export const hasSameNames = (one: LedgerRow, other: LedgerRow): boolean =>
  one.keyId === other.keyId &&
  one.project === other.project &&
  one.model === other.model &&
  one.upstream === other.upstream &&
  one.targetModel === other.targetModel;

/** `sums` is in the order of `sumColumns`. Adds each column by its index: no array is allocated for each request. */
function addRow(sums: number[], row: LedgerRow): void {
  const { latencyMs } = row;
  const isError = row.error !== null;
  add(sums, 0, 1);
  if (isError) add(sums, 1, 1);
  if (!isError && row.inputTokens === null) add(sums, 2, 1);
  if (!isError && row.cost === null) add(sums, 3, 1);
  add(sums, 4, row.inputTokens);
  add(sums, 5, row.outputTokens);
  add(sums, 6, row.images);
  add(sums, 7, row.inputs);
  add(sums, 8, row.cachedInputs);
  add(sums, 9, row.cost);
  add(sums, 10, row.estimatedCost);
  add(sums, 11, latencyMs);
  add(sums, latencyAt + bucketOf(latencyMs), 1);
}

function add(sums: number[], at: number, value: number | null): void {
  sums[at] = (sums[at] as number) + (value ?? 0);
}

function bucketOf(latencyMs: number): number {
  let at = 0;
  while (at < latencyBoundsMs.length && !(latencyMs <= (latencyBoundsMs[at] as number))) at++;
  return at;
}

const hourColumns = ["hour", ...groupColumns, ...sumColumns];
const addSums = sumColumns.map((name) => `${name} = ${name} + excluded.${name}`).join(", ");
const addition = `INSERT INTO usage_by_hour (${hourColumns.join(", ")})
  VALUES (${hourColumns.map((_, at) => `?${at + 1}`).join(", ")})
  ON CONFLICT DO UPDATE SET ${addSums}`;

/** Deletes the oldest groups that began before `?1`, at most `?2`. */
function pruneStatement(table: string, start: CoarseTable["start"]): string {
  const primaryKey = [start, ...groupColumns].join(", ");
  return `DELETE FROM ${table} WHERE (${primaryKey}) IN
    (SELECT ${primaryKey} FROM ${table} WHERE ${start} < ?1 ORDER BY ${primaryKey} LIMIT ?2)`;
}

export class UsageTable {
  readonly #add: Statement;
  readonly #prune: Statement;

  constructor(statements: PreparedStatements) {
    this.#add = statements.prepare(addition);
    this.#prune = statements.prepare(pruneStatement("usage_by_hour", "hour"));
  }

  /** Runs inside the transaction that writes the rows. */
  add({ groups }: UsageTally): void {
    for (const { keys, sums } of groups) this.#add.run(...keys, ...sums);
  }

  /** Deletes at most `limit` groups of the hours before `before`. Returns how many. */
  prune(before: number, limit: number): number {
    return this.#prune.run(before, limit).changes;
  }
}

/** A coarser table. It has the columns of `usage_by_hour`, so that hours are added up by one statement. */
interface CoarseTable {
  /** The column with the start of the period. */
  readonly start: "day" | "hour";
  /** The columns that groups have. The other columns are the empty text. */
  readonly columns: readonly string[];
}

const [, ...withoutKey] = groupColumns;
const keyAndProject = ["key_id", "project"];

export const coarseTables = {
  usage_by_day: { start: "day", columns: groupColumns },
  usage_without_key: { start: "hour", columns: withoutKey },
  usage_by_day_without_key: { start: "day", columns: withoutKey },
  usage_by_key: { start: "hour", columns: keyAndProject },
  usage_by_day_and_key: { start: "day", columns: keyAndProject },
} as const satisfies Record<string, CoarseTable>;

/** One step adds up about this many groups: a request waits for it for a millisecond or two. */
const stepGroups = 256;

/** Adds up groups of `source`, which has the columns of `usage_by_hour`. */
function rollUpStatement(name: string, { start, columns }: CoarseTable, source: string): string {
  const startOf = start === "day" ? `hour - hour % ${dayMs}` : "hour";
  const values = groupColumns.map((each) => (columns.includes(each) ? each : "''"));
  const sums = sumColumns.map((each) => `sum(${each})`);
  return `INSERT INTO ${name} (${[start, ...groupColumns, ...sumColumns].join(", ")})
    SELECT ${[startOf, ...values, ...sums].join(", ")} FROM ${source}
    GROUP BY ${[startOf, ...columns].join(", ")}
    ON CONFLICT DO UPDATE SET ${addSums}`;
}

/** One group as a table, for rows that arrive after their group was added up. */
const oneGroup = `(SELECT ${hourColumns
  .map((name, at) => `?${at + 1} AS ${name}`)
  .join(", ")}) WHERE true`;

/** Hours before `hour` are added up, and in it the keys up to `key`. */
interface Position {
  readonly hour: number;
  readonly key: string | null;
}

/** SQLite compares text by its bytes. */
const isAddedUp = ([hour, key]: RollupGroup["keys"], done: Position): boolean =>
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
    const tables = Object.entries<CoarseTable>(coarseTables);
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
    this.#rollUps = tables.map(([name, table]) =>
      statements.prepare(rollUpStatement(name, table, step)),
    );
    this.#additions = tables.map(([name, table]) =>
      statements.prepare(rollUpStatement(name, table, oneGroup)),
    );
    this.#prunes = tables.map(([name, { start }]) =>
      statements.prepare(pruneStatement(name, start)),
    );
  }

  /** Called after the groups were added to `usage_by_hour`, in the same transaction. */
  add(groups: Iterable<RollupGroup>): void {
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

  /** Deletes at most `limit` groups before `before`, the start of a day. Returns how many. */
  prune(before: number, limit: number): number {
    let pruned = 0;
    for (const statement of this.#prunes) {
      if (pruned < limit) pruned += statement.run(before, limit - pruned).changes;
    }
    return pruned;
  }
}
