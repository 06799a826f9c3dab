/** The stores of the console, held to their laws. */
import { Database } from "bun:sqlite";
import { SqliteAuditLog } from "../../server/storage/sqlite/audit-log.ts";
import { migrate } from "../../server/storage/sqlite/migrate.ts";
import { gatewayMigrations } from "../../server/storage/sqlite/migrations/gateway/index.ts";
import { SqliteSessionStore } from "../../server/storage/sqlite/session-store.ts";
import { SqliteUserStore } from "../../server/storage/sqlite/user-store.ts";
import { consoleStoreLaws } from "./laws/console-stores.laws.ts";

consoleStoreLaws("SQLite", () => {
  const db = new Database(":memory:", { strict: true });
  migrate(db, gatewayMigrations, 0);
  return {
    users: new SqliteUserStore(db),
    sessions: new SqliteSessionStore(db),
    audit: new SqliteAuditLog(db),
  };
});
