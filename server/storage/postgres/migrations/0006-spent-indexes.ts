/**
 * Indexes of the spend table: by day, because daily sums are the only sums that expire, and by the time of the last
 * change, because every replica reads the changes every two seconds.
 */
import type { PostgresMigration } from "../migrate.ts";

export const spentIndexes: PostgresMigration = {
  name: "0006-spent-indexes",
  statements: [
    "CREATE INDEX spent_by_day ON vexel.spent (period) WHERE period LIKE '____-__-__'",
    "CREATE INDEX spent_by_change ON vexel.spent (updated_at)",
  ],
};
