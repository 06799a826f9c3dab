/** An index of the daily sums by their day: they are the only sums that expire. */
import type { PostgresMigration } from "../migrate.ts";

export const spentByDay: PostgresMigration = {
  name: "0006-spent-by-day",
  statements: ["CREATE INDEX spent_by_day ON vexel.spent (period) WHERE period LIKE '____-__-__'"],
};
