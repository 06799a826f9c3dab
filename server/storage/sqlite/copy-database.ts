/** Copies a SQLite database as of one moment, also while another process writes to it. */
import { Database } from "bun:sqlite";
import { errorMessage } from "../../lib/error-code.ts";
import { StoreError } from "./open-database.ts";

/** `to` must not exist. Throws StoreError. */
export function copyDatabase(from: string, to: string): void {
  const db = new Database(from, { readonly: true, strict: true });
  try {
    db.run("PRAGMA busy_timeout = 10000");
    db.run("VACUUM INTO ?1", [to]);
  } catch (cause) {
    const reason = errorMessage(cause);
    throw new StoreError(`${from} cannot be copied: ${reason}`, { cause });
  } finally {
    db.close();
  }
}
