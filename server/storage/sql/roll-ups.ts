/**
 * The roll-ups of the ledger: usage by hour and by day, each with and without the API key, because charts of all keys
 * would otherwise read a group for each key. They are the same in SQLite and PostgreSQL.
 */
import { groupColumns } from "./ledger-columns.ts";

export interface RollUp {
  readonly table: string;
  /** The column with the start of the period. */
  readonly start: "hour" | "day";
  /** The columns after it in the primary key. */
  readonly columns: readonly string[];
}

const [, ...withoutKey] = groupColumns;

export const rollUps = {
  hour: { table: "usage_by_hour", start: "hour", columns: groupColumns },
  day: { table: "usage_by_day", start: "day", columns: groupColumns },
  hourWithoutKey: { table: "usage_by_hour_without_key", start: "hour", columns: withoutKey },
  dayWithoutKey: { table: "usage_by_day_without_key", start: "day", columns: withoutKey },
} as const satisfies Record<string, RollUp>;
