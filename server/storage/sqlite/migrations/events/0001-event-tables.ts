/** The tables of events and deliveries, with events of earlier versions under the present names. */
import type { Migration } from "../../migrate.ts";

const schema = [
  `CREATE TABLE IF NOT EXISTS events (
    seq  INTEGER PRIMARY KEY AUTOINCREMENT,
    id   TEXT NOT NULL UNIQUE,
    type TEXT NOT NULL,
    at   INTEGER NOT NULL,
    data TEXT NOT NULL,
    once TEXT UNIQUE
  )`,
  `CREATE TABLE IF NOT EXISTS deliveries (
    webhook  TEXT NOT NULL,
    seq      INTEGER NOT NULL,
    state    TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    due      INTEGER NOT NULL,
    last_at  INTEGER,
    status   INTEGER,
    problem  TEXT,
    PRIMARY KEY (webhook, seq)
  ) WITHOUT ROWID`,
  `CREATE INDEX IF NOT EXISTS deliveries_due ON deliveries (webhook, due) WHERE state = 'waiting'`,
  `CREATE INDEX IF NOT EXISTS deliveries_line ON deliveries (webhook, seq) WHERE state = 'waiting'`,
  `CREATE INDEX IF NOT EXISTS deliveries_by_event ON deliveries (seq)`,
  `CREATE TABLE IF NOT EXISTS marks (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID`,
] as const;

/** Event types that had another name in earlier versions: the old name, the present one. */
const renamedTypes = [
  ["target.strayed", "target.drifted"],
  ["target.returned", "target.realigned"],
] as const;

export const eventTables: Migration = {
  name: "0001-event-tables",
  up: (db) => {
    for (const statement of schema) db.run(statement);
    for (const [from, to] of renamedTypes) {
      db.query("UPDATE events SET type = ?2 WHERE type = ?1").run(from, to);
    }
    // The field `why` of earlier versions is now `reason`.
    db.run(
      `UPDATE events
       SET data = json_remove(json_set(data, '$.reason', json_extract(data, '$.why')), '$.why')
       WHERE type LIKE 'target.%' AND json_valid(data) AND json_type(data, '$.why') IS NOT NULL`,
    );
  },
};
