/** The tables of a ledger that are filled from its rows, and that the first versions did not have. */
export const derivedTables = [
  "usage_by_hour",
  "usage_by_day",
  "usage_without_key",
  "usage_by_day_without_key",
  "usage_by_key",
  "usage_by_day_and_key",
  "finished_usage",
  "ledger_segments",
] as const;
