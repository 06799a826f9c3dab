/**
 * Revisions of API keys: every change of a key gets the next number, so that a running gateway reads only what changed.
 * Existing keys are numbered in the order in which they were created.
 */
import type { Migration } from "../../migrate.ts";

export const keyRevisions: Migration = {
  name: "0002-key-revisions",
  up: (db) => {
    db.run("CREATE TABLE revisions (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID");
    db.run("ALTER TABLE keys ADD COLUMN created_revision INTEGER NOT NULL DEFAULT 0");
    db.run("ALTER TABLE keys ADD COLUMN revision INTEGER NOT NULL DEFAULT 0");
    db.run(`
      UPDATE keys SET created_revision = numbered.number, revision = numbered.number
      FROM (SELECT id, row_number() OVER (ORDER BY created_at, id) AS number FROM keys) AS numbered
      WHERE keys.id = numbered.id`);
    db.run("INSERT INTO revisions (name, value) SELECT 'keys', count(*) FROM keys");
    db.run("CREATE INDEX keys_by_revision ON keys (revision)");
    db.run("CREATE INDEX keys_by_creation ON keys (created_at, id)");
    db.run("CREATE INDEX keys_by_name ON keys (name)");
  },
};
