/**
 * The state of a delivery whose last attempt failed: `given_up` in earlier versions, now `abandoned`, as in the log.
 */
import type { Migration } from "../../migrate.ts";

export const abandonedDeliveries: Migration = {
  name: "0002-abandoned-deliveries",
  up: (db) => {
    db.run("UPDATE deliveries SET state = 'abandoned' WHERE state = 'given_up'");
  },
};
