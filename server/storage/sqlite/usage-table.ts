/**
 * The roll-ups of the ledger in SQLite. They are written in the same transaction as the rows, so that they always agree
 * with them, and they stay when old rows are pruned.
 */
import type { Statement } from "bun:sqlite";
import { isRefused } from "../../../contract/errors.ts";
import { dayMs, hourMs } from "../../lib/timers.ts";
import { latencyBoundsMs } from "../ports/ledger-queries.ts";
import type { LedgerRow } from "../ports/ledger-row.ts";
import type { Parameters } from "../sql/database.ts";
import { labelsOf } from "../sql/labels.ts";
import { latencyColumns, sumColumns } from "../sql/ledger-columns.ts";
import { hasLabel, type RollUp, rollUps } from "../sql/roll-ups.ts";
import type { TimeRange } from "../sql/usage-range.ts";
import type { LabelBounds } from "./label-bounds.ts";
import type { PreparedStatements } from "./prepared-statements.ts";

/** The days (UTC) of a range, the latest first. */
export function* daysOf({ from, to }: TimeRange): Generator<TimeRange> {
  for (let end = to; end > from; ) {
    const start = Math.max(from, Math.floor((end - 1) / dayMs) * dayMs);
    yield { from: start, to: end };
    end = start;
  }
}

/**
 * The condition that a group is of the range, which is within one day. The primary key begins with the period, so the
 * groups of one key or label are found by searching for each period (`isSearch`).
 */
export function periodFilterOf(
  { start }: RollUp,
  { from, to }: TimeRange,
  isSearch: boolean,
  parameters: Parameters,
): string {
  if (!isSearch) return `${start} >= ${parameters.add(from)} AND ${start} < ${parameters.add(to)}`;
  const lengthMs = start === "day" ? dayMs : hourMs;
  const count = Math.ceil((to - from) / lengthMs);
  return parameters.inList(
    start,
    Array.from({ length: count }, (_, at) => from + at * lengthMs),
  );
}

/** The index of the first latency count in `sumColumns`. */
const latencyAt = sumColumns.length - latencyColumns.length;

interface UsageSums {
  /** The start of the period, and the names in the order of the columns. */
  readonly keys: readonly [start: number, ...names: string[]];
  /** In the order of `sumColumns`. */
  readonly sums: number[];
}

/** Sums the new rows of one transaction: most have few keys, models and targets, and one hour. */
export class UsageTally {
  readonly #groups = new Map<string, UsageSums>();
  /** The group of the row before: the next row often belongs to it too. */
  #last: { readonly row: LedgerRow; readonly group: UsageSums } | undefined;
  /** By label, for rows with tags or an end user, and failed ones. */
  readonly #labeled = new Map<string, UsageSums>();
  readonly #labels: LabelBounds;

  constructor(labels: LabelBounds) {
    this.#labels = labels;
  }

  add(row: LedgerRow): void {
    const last = this.#last;
    let group: UsageSums;
    if (last && isSameGroup(last.row, row)) group = last.group;
    else {
      group = groupIn(this.#groups, [hourOf(row), ...namesOf(row)]);
      this.#last = { row, group };
    }
    addRow(group.sums, row);
    if (row.endUser !== null || row.tags !== null || row.error !== null) this.#addLabels(row);
  }

  #addLabels(row: LedgerRow): void {
    const hour = hourOf(row);
    for (const label of labelsOf(row)) {
      const bounded = this.#labels.bound(hour, row.keyId, label);
      addRow(groupIn(this.#labeled, [hour, bounded, ...namesOf(row)]).sums, row);
    }
  }

  groupsOf(rollUp: RollUp): Iterable<UsageSums> {
    const { start, columns } = rollUp;
    const groups = new Map<string, UsageSums>();
    for (const { keys, sums } of (hasLabel(rollUp) ? this.#labeled : this.#groups).values()) {
      const [hour, ...names] = keys;
      const period = start === "day" ? hour - (hour % dayMs) : hour;
      const group = groupIn(groups, [period, ...names.slice(-columns.length)]);
      for (const [at, sum] of sums.entries()) add(group.sums, at, sum);
    }
    return groups.values();
  }
}

function groupIn(groups: Map<string, UsageSums>, keys: UsageSums["keys"]): UsageSums {
  const id = keys.join("\n");
  let group = groups.get(id);
  if (!group) {
    group = { keys, sums: new Array<number>(sumColumns.length).fill(0) };
    groups.set(id, group);
  }
  return group;
}

/** In the order of `groupColumns`. */
const namesOf = (row: LedgerRow): string[] => [
  row.keyId,
  row.project ?? "",
  row.model ?? "",
  row.upstream ?? "",
  row.targetModel ?? "",
];

const hourOf = ({ at }: LedgerRow): number => at - (at % hourMs);

const isSameGroup = (one: LedgerRow, other: LedgerRow): boolean =>
  one.keyId === other.keyId &&
  one.project === other.project &&
  one.model === other.model &&
  one.upstream === other.upstream &&
  one.targetModel === other.targetModel &&
  hourOf(one) === hourOf(other);

/** `sums` is in the order of `sumColumns`. Adds each column by its index: no array is allocated for each request. */
function addRow(sums: number[], row: LedgerRow): void {
  const { latencyMs } = row;
  const isError = row.error !== null;
  add(sums, 0, 1);
  if (isError) add(sums, 1, 1);
  if (!isError && row.inputTokens === null) add(sums, 2, 1);
  const isUnpriced = row.cost === null && row.estimatedCost === null;
  if (!isError && isUnpriced) add(sums, 3, 1);
  add(sums, 4, row.inputTokens);
  add(sums, 5, row.outputTokens);
  add(sums, 6, row.images);
  add(sums, 7, row.inputs);
  add(sums, 8, row.cachedInputs);
  add(sums, 9, row.cost);
  add(sums, 10, row.estimatedCost);
  add(sums, 11, latencyMs);
  if (isRefused(row.error, row.attempts)) add(sums, 12, 1);
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

function addition({ table, start, columns }: RollUp): string {
  const names = [start, ...columns, ...sumColumns];
  return `INSERT INTO ${table} (${names.join(", ")})
    VALUES (${names.map((_, at) => `?${at + 1}`).join(", ")})
    ON CONFLICT DO UPDATE SET ${sumColumns.map((name) => `${name} = ${name} + excluded.${name}`).join(", ")}`;
}

/** Deletes the oldest groups that began before `?1`, at most `?2`. */
function deletion({ table, start, columns }: RollUp): string {
  const primaryKey = [start, ...columns].join(", ");
  return `DELETE FROM ${table} WHERE (${primaryKey}) IN
    (SELECT ${primaryKey} FROM ${table} WHERE ${start} < ?1 ORDER BY ${primaryKey} LIMIT ?2)`;
}

export class UsageTables {
  readonly #tables: readonly {
    readonly rollUp: RollUp;
    readonly add: Statement;
    readonly prune: Statement;
  }[];

  constructor(statements: PreparedStatements) {
    this.#tables = Object.values(rollUps).map((rollUp) => ({
      rollUp,
      add: statements.prepare(addition(rollUp)),
      prune: statements.prepare(deletion(rollUp)),
    }));
  }

  /** Runs inside the transaction that writes the rows. */
  add(tally: UsageTally): void {
    for (const { rollUp, add } of this.#tables) {
      for (const { keys, sums } of tally.groupsOf(rollUp)) add.run(...keys, ...sums);
    }
  }

  /** Deletes at most `limit` groups before `before`, the start of a day. Returns how many. */
  prune(before: number, limit: number): number {
    let pruned = 0;
    for (const { prune } of this.#tables) {
      if (pruned < limit) pruned += prune.run(before, limit - pruned).changes;
    }
    return pruned;
  }
}
