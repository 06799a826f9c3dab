/** The number of inputs of a request, and its timeline. Earlier rows have neither. */
import type { Migration } from "../../migrate.ts";

export const requestDetails: Migration = {
  name: "0004-request-details",
  up: (db) => {
    db.run("ALTER TABLE ledger ADD COLUMN inputs INTEGER");
    db.run("ALTER TABLE ledger ADD COLUMN timeline TEXT");
    db.run("ALTER TABLE usage_by_hour ADD COLUMN inputs INTEGER NOT NULL DEFAULT 0");
  },
};
