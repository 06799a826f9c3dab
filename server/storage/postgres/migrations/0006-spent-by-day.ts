/**
 * An index of the daily sums by their day: they are the only sums that expire. The day of a sum never changes, so the
 * index does not slow down the updates of sums.
 */
import type { PostgresMigration } from "../migrate.ts";

export const spentByDay: PostgresMigration = {
  name: "0006-spent-by-day",
  statements: ["CREATE INDEX spent_by_day ON vexel.spent (period) WHERE period LIKE '____-__-__'"],
};
