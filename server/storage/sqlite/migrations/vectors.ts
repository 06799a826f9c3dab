/** The migrations of `vectors.db`, in order. A migration that was released is never changed: a new one is appended. */
import type { Migration } from "../migrate.ts";

/** `made_at`: the age, by which a vector expires. */
const tables: Migration = {
  name: "0001-tables",
  statements: [
    `CREATE TABLE vectors (
      id       INTEGER PRIMARY KEY,
      key      BLOB NOT NULL UNIQUE,
      vector   BLOB NOT NULL,
      tokens   INTEGER,
      checksum INTEGER NOT NULL,
      used_at  INTEGER NOT NULL,
      made_at  INTEGER NOT NULL
    )`,
    "CREATE INDEX vectors_by_use ON vectors (used_at)",
    "CREATE INDEX vectors_by_age ON vectors (made_at)",
  ],
};

export const vectorMigrations: readonly Migration[] = [tables];
