/** API keys. Also accepts the files of versions without migrations, the oldest of which lack the column `settings`. */
import type { Migration } from "../../migrate.ts";

export const keys: Migration = {
  name: "0001-keys",
  up: (db) => {
    db.run(`
      CREATE TABLE IF NOT EXISTS keys (
        id         TEXT PRIMARY KEY,
        name       TEXT NOT NULL,
        hash       TEXT NOT NULL UNIQUE,
        hint       TEXT NOT NULL,
        models     TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        revoked_at INTEGER,
        settings   TEXT
      )`);
    const columns = db.query<{ name: string }, []>("PRAGMA table_info(keys)").all();
    if (!columns.some(({ name }) => name === "settings")) {
      db.run("ALTER TABLE keys ADD COLUMN settings TEXT");
    }
  },
};
