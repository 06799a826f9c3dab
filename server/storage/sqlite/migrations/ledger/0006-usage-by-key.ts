/** Usage by API key alone, by hour and by day; and hours are added up in steps, up to a key. */
import { coarseTables, rollUpStatement } from "../../finished-usage.ts";
import type { Migration } from "../../migrate.ts";

export const usageByKey: Migration = {
  name: "0006-usage-by-key",
  up: (db) => {
    // In the hour `until`, the keys up to `key_id` are added up. NULL: none.
    db.run("ALTER TABLE finished_usage ADD COLUMN key_id TEXT");
    const [{ sql = "" } = {}] = db
      .query<{ sql: string }, []>("SELECT sql FROM sqlite_master WHERE name = 'usage_by_hour'")
      .all();
    const { usage_by_key, usage_by_day_and_key } = coarseTables;
    for (const table of [usage_by_key, usage_by_day_and_key]) {
      db.run(sql.replace("usage_by_hour", table.name).replaceAll(/\bhour\b/g, table.start));
      db.run(
        rollUpStatement(table, "usage_by_hour WHERE hour < (SELECT until FROM finished_usage)"),
      );
    }
  },
};
