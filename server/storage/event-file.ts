/** The SQLite file of events and their webhook deliveries, bounded by count and age. */
import type { Database } from "bun:sqlite";
import { join } from "node:path";
import { openDatabase } from "./open-database.ts";

/** The limits of stored events: count and age. */
const maxEvents = 10_000;
const keepDays = 30;

// Not in the file of the keys: a change of that file means that keys have changed.
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

export function openEventFile(folder: string): Database {
  return openDatabase({
    path: join(folder, "events.db"),
    // Writes run on the thread that serves requests: never wait long for a lock.
    busyMs: 50,
    prepare: (db) => {
      db.run("PRAGMA synchronous = NORMAL");
      for (const statement of schema) db.run(statement);
      migrateEvents(db);
    },
  });
}

/** Event types that had another name in earlier versions: the old name, the present one. */
const renamedTypes = [
  ["target.strayed", "target.drifted"],
  ["target.returned", "target.realigned"],
] as const;

/** Gives events of earlier versions the present names: of their types, and of the field that was called `why`. */
function migrateEvents(db: Database): void {
  db.transaction(() => {
    for (const [from, to] of renamedTypes) {
      db.query("UPDATE events SET type = ?2 WHERE type = ?1").run(from, to);
    }
    db.run(
      `UPDATE events
       SET data = json_remove(json_set(data, '$.reason', json_extract(data, '$.why')), '$.why')
       WHERE type LIKE 'target.%' AND json_valid(data) AND json_type(data, '$.why') IS NOT NULL`,
    );
  })();
}

/** Deletes events that are too old or too many, the oldest first, with their deliveries. */
export function pruneEvents(db: Database, now: number): void {
  const before = now - keepDays * 86_400_000;
  const row = db
    .query<{ last: number | null }, [number, number]>(
      `SELECT MAX(
         COALESCE((SELECT MAX(seq) FROM (SELECT seq, at FROM events ORDER BY seq LIMIT 1000)
                   WHERE at < ?1), 0),
         COALESCE((SELECT MAX(seq) FROM events), 0) - ?2
       ) AS last`,
    )
    .get(before, maxEvents);
  const last = row?.last ?? 0;
  if (last <= 0) return;
  db.transaction(() => {
    db.query("DELETE FROM deliveries WHERE seq <= ?1").run(last);
    db.query("DELETE FROM events WHERE seq <= ?1").run(last);
  })();
}
