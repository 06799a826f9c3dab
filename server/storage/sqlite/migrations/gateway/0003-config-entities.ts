/** Configuration entities that are edited at runtime: upstreams, models, projects and webhooks as JSON. */
import type { Migration } from "../../migrate.ts";

export const configEntities: Migration = {
  name: "0003-config-entities",
  up: (db) => {
    db.run(`
      CREATE TABLE config_entities (
        kind       TEXT NOT NULL,
        id         TEXT NOT NULL,
        value      TEXT NOT NULL,
        version    INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        PRIMARY KEY (kind, id)
      ) WITHOUT ROWID`);
    db.run("INSERT INTO revisions (name, value) VALUES ('config', 0)");
  },
};
