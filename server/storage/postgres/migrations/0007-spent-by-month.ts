/**
 * An index of the other sums, by month and in total. With the index of the daily sums, replicas read the sums of the
 * current periods without those of all other days. Like that one, it does not slow down the updates of sums.
 */
import type { PostgresMigration } from "../migrate.ts";

export const spentByMonth: PostgresMigration = {
  name: "0007-spent-by-month",
  statements: [
    "CREATE INDEX spent_by_month ON vexel.spent (period) WHERE period NOT LIKE '____-__-__'",
  ],
};
