/** `events.db`: events and their webhook deliveries. */
import type { Database } from "bun:sqlite";
import { join } from "node:path";
import { eventMigrations } from "./migrations/events.ts";
import { openDatabase } from "./open-database.ts";

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
