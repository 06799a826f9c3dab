/** `jobs.db`: the files of clients, without their content, and what is made of them. */
import { join } from "node:path";
import { jobMigrations } from "./migrations/jobs.ts";
import { openDatabase } from "./open-database.ts";
import { SqliteDatabase } from "./sqlite-database.ts";

/** For the migrations at the start. */
const busyMs = 5000;

/** `now`: Unix milliseconds. Throws StoreError. */
export const openJobDatabase = (folder: string, now: () => number): SqliteDatabase =>
  new SqliteDatabase(
    openDatabase({
      path: join(folder, "jobs.db"),
      busyMs,
      migrations: jobMigrations,
      now: now(),
    }),
  );
