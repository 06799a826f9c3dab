/** The message of the error that the client got. */
import type { PostgresMigration } from "../migrate.ts";

export const errorMessage: PostgresMigration = {
  name: "0008-error-message",
  statements: ["ALTER TABLE vexel.ledger ADD COLUMN error_message TEXT"],
};
