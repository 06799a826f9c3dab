/**
 * Roll-ups of the ledger: usage by hour, key, project, model and target. They are written in the same transaction as the
 * rows, so the two always agree, and they stay when old rows are pruned.
 */
import type { Statement } from "bun:sqlite";
import { latencyBoundsMs } from "../ports/ledger-queries.ts";
import type { LedgerRow } from "../ports/ledger-row.ts";
import { groupColumns, hourMs, latencyColumns, sumColumns } from "../sql/usage-columns.ts";
import type { PreparedStatements } from "./prepared-statements.ts";

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
  /** The group of the row before: the next row often belongs to it too. */
  #last: { readonly row: LedgerRow; readonly group: UsageGroup } | undefined;

  add(row: LedgerRow): void {
    const last = this.#last;
    let group: UsageGroup;
    if (last && isSameGroup(last.row, row)) group = last.group;
    else {
      group = this.#groupOf(row);
      this.#last = { row, group };
    }
    addRow(group.sums, row);
  }

  #groupOf(row: LedgerRow): UsageGroup {
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

  get groups(): Iterable<UsageGroup> {
    return this.#groups.values();
  }
}

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
  const add = (at: number, value: number): void => {
    sums[at] = (sums[at] as number) + value;
  };
  add(0, 1);
  if (isError) add(1, 1);
  if (!isError && row.inputTokens === null) add(2, 1);
  if (!isError && row.cost === null) add(3, 1);
  add(4, row.inputTokens ?? 0);
  add(5, row.outputTokens ?? 0);
  add(6, row.images ?? 0);
  add(7, row.inputs ?? 0);
  add(8, row.cachedInputs ?? 0);
  add(9, row.cost ?? 0);
  add(10, row.estimatedCost ?? 0);
  add(11, latencyMs);
  add(latencyAt + bucketOf(latencyMs), 1);
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

  constructor(statements: PreparedStatements) {
    this.#add = statements.prepare(addition);
    this.#prune = statements.prepare("DELETE FROM usage_by_hour WHERE hour < ?1");
  }

  /** Runs inside the transaction that writes the rows. */
  add({ groups }: UsageTally): void {
    for (const { keys, sums } of groups) this.#add.run(...keys, ...sums);
  }

  /** Deletes the hours before `before`. */
  prune(before: number): void {
    this.#prune.run(before);
  }
}
