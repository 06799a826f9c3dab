/** The SQLite file of events and their webhook deliveries, bounded by count and age. */
import type { Database } from "bun:sqlite";
import { join } from "node:path";
import { eventMigrations } from "./migrations/events/index.ts";
import { openDatabase } from "./open-database.ts";

/** The limits of stored events: count and age. */
export const maxEvents = 10_000;
export const keepEventsMs = 30 * 86_400_000;

/** Not in the file of the keys: a change of that file means that keys have changed. */
export function openEventFile(folder: string): Database {
  return openDatabase({
    path: join(folder, "events.db"),
    // Writes run on the thread that serves requests: never wait long for a lock.
    busyMs: 50,
    migrations: eventMigrations,
    prepare: (db) => {
      db.run("PRAGMA synchronous = NORMAL");
    },
  });
}

/** Deletes events that are too old or too many, the oldest first, with their deliveries. */
export function pruneEvents(db: Database, now: number): void {
  const before = now - keepEventsMs;
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
