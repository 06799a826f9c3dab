/**
 * The roll-ups of the ledger: usage by hour and by day, each with and without the API key, because charts of all keys
 * would otherwise read a group for each key, and by label for requests with tags or an end user. They are the same in
 * SQLite and PostgreSQL.
 */
import type { LedgerFilter, UsageQuery } from "../ports/ledger-queries.ts";
import { labelKindOf } from "./labels.ts";
import { groupColumns } from "./ledger-columns.ts";

export interface RollUp {
  readonly table: string;
  /** The column with the start of the period. */
  readonly start: "hour" | "day";
  /** The columns after it in the primary key. */
  readonly columns: readonly string[];
}

const [, ...withoutKey] = groupColumns;
const withLabel = ["label", ...groupColumns];

export const rollUps = {
  hour: { table: "usage_by_hour", start: "hour", columns: groupColumns },
  day: { table: "usage_by_day", start: "day", columns: groupColumns },
  hourWithoutKey: { table: "usage_by_hour_without_key", start: "hour", columns: withoutKey },
  dayWithoutKey: { table: "usage_by_day_without_key", start: "day", columns: withoutKey },
  hourWithLabel: { table: "usage_by_hour_and_label", start: "hour", columns: withLabel },
  dayWithLabel: { table: "usage_by_day_and_label", start: "day", columns: withLabel },
} as const satisfies Record<string, RollUp>;

/** The roll-ups, by hour and by day, that a query of usage reads. */
export function rollUpsFor(
  query: Pick<Partial<UsageQuery>, "groupBy" | "attributedBy"> & LedgerFilter,
): {
  readonly hour: RollUp;
  readonly day: RollUp;
} {
  if (labelKindOf(query)) return { hour: rollUps.hourWithLabel, day: rollUps.dayWithLabel };
  const { keyId, keyIds, groupBy } = query;
  const hasKey = keyId !== undefined || keyIds !== undefined || groupBy?.includes("keyId");
  return hasKey ? rollUps : { hour: rollUps.hourWithoutKey, day: rollUps.dayWithoutKey };
}

export const hasLabel = ({ columns }: RollUp): boolean => columns.length > groupColumns.length;
