/** vexel db: migrates the shared database, moves a data folder into it, backs up, compares and restores. */
import { existsSync } from "node:fs";
import type { Settings } from "../server/settings.ts";
import { OutboxRecovery } from "../server/storage/files/outbox-recovery.ts";
import type { PostgresDatabase } from "../server/storage/postgres/database.ts";
import { checkStoredSchema } from "../server/storage/sqlite/check-stored-schema.ts";
import { openEventFile } from "../server/storage/sqlite/event-database.ts";
import { lockFolder } from "../server/storage/sqlite/folder-lock.ts";
import { openGatewayFile } from "../server/storage/sqlite/gateway-database.ts";
import { openJobDatabase } from "../server/storage/sqlite/job-database.ts";
import { SqliteLedgerStore } from "../server/storage/sqlite/ledger-store.ts";
import { StoreError } from "../server/storage/sqlite/open-database.ts";
import {
  type Command,
  readArguments,
  settingsOrUsage,
  table,
  UsageError,
  unknownAction,
} from "./command.ts";
import { writeError, writeOutput } from "./write.ts";

export const db: Command = {
  name: "db",
  summary: "Back up and restore; migrate the shared database, or move a data folder into it.",
  help: `Usage: vexel db migrate
       vexel db move
       vexel db backup FOLDER [--with-secrets]
       vexel db restore FOLDER
       vexel db compare FOLDER [--export FILE]

"migrate" and "move" use the PostgreSQL database DATABASE_URL. "migrate" creates and updates its tables;
every gateway does that at its start, too. "move" copies API keys, stored entities, users,
sessions, the audit log, the ledger, jobs and events from the data folder VEXEL_DATA into the
database, which must be empty. Stop the gateway of the data folder first. All rows are
moved or none, and the data folder is not changed. Stored credentials stay encrypted with
their current key: run "vexel config reencrypt" afterwards, unless VEXEL_SECRET was set
before.

"backup" copies the data folder VEXEL_DATA or, with DATABASE_URL, the database (with
pg_dump) into a new FOLDER, also while gateways run. The keys that decrypt stored
credentials and sign image links are copied with --with-secrets only. "restore" copies a
backup into an empty data folder or an empty database (with pg_restore). No gateway may
use the folder or the database meanwhile.

"compare" says how many rows of the data folder VEXEL_DATA a backup lacks, before the backup
takes its place. --export writes the rows to a new FILE, as JSON lines. Stop the gateway
first.`,
  run: async (args) => {
    const { positionals, values } = readArguments(args, {
      "with-secrets": { type: "boolean" },
      export: { type: "string" },
    });
    const [action, folder, ...more] = positionals;
    if (action === "backup" || action === "restore" || action === "compare") {
      if (folder === undefined) throw new UsageError("missing argument: FOLDER.");
      if (more.length > 0) throw new UsageError(`unexpected argument "${more[0]}".`);
      if (action === "compare") {
        const { compareBackup } = await import("./compare-backup.ts");
        return compareBackup(settingsOrUsage(), folder, values.export);
      }
      const { backup, restore } = await import("./backup.ts");
      return action === "backup"
        ? backup(settingsOrUsage(), folder, values["with-secrets"] ?? false)
        : restore(settingsOrUsage(), folder);
    }
    if (action !== "migrate" && action !== "move")
      throw unknownAction(action, ["migrate", "move", "backup", "restore", "compare"]);
    if (folder !== undefined) throw new UsageError(`unexpected argument "${folder}".`);
    const settings = settingsOrUsage();
    if (settings.DATABASE_URL === "") throw new UsageError("DATABASE_URL is not set.");
    return migrateOrMove(settings, action);
  },
};

async function migrateOrMove(settings: Settings, action: "migrate" | "move"): Promise<number> {
  // Before the database is migrated.
  if (action === "move") checkStoredSchema(settings.VEXEL_DATA, false);
  const database = await connect(settings);
  try {
    await database.migrate();
    return action === "move" ? await move(database, settings) : reportMigrated();
  } finally {
    await database.close();
  }
}

/** A large ledger takes minutes to move. */
const timeoutMs = 24 * 3_600_000;

async function connect({ DATABASE_URL: url }: Settings): Promise<PostgresDatabase> {
  const { PostgresDatabase } = await import("../server/storage/postgres/database.ts");
  return new PostgresDatabase({ url, now: Date.now, maxConnections: 1, timeoutMs });
}

function reportMigrated(): number {
  writeOutput("The database has the tables of this version.\n");
  return 0;
}

async function move(database: PostgresDatabase, { VEXEL_DATA: folder }: Settings): Promise<number> {
  if (!existsSync(folder)) {
    throw new StoreError(
      `The data folder ${folder} does not exist. Set VEXEL_DATA to the data folder of the gateway.`,
    );
  }
  const lock = lockFolder(folder);
  try {
    await prepareFolder(folder);
    const { moveFromSqlite } = await import("../server/storage/postgres/move-from-sqlite.ts");
    const moved = await moveFromSqlite(database, folder);
    const rows = moved.map(({ table: name, rows }) => [name, String(rows)]);
    writeOutput(`${table([["TABLE", "ROWS"], ...rows])}\n`);
    return 0;
  } finally {
    lock.release();
  }
}

/** Migrates the databases to the current schema, or throws; then moves the rows of the outbox into the ledger. */
async function prepareFolder(folder: string): Promise<void> {
  openGatewayFile(folder, Date.now).close();
  openEventFile(folder).close();
  await openJobDatabase(folder, Date.now).close();
  const ledger = new SqliteLedgerStore({ folder, maxBytes: 0, now: Date.now() });
  try {
    const recovery = new OutboxRecovery(folder, ledger);
    const { damaged } = recovery;
    await recovery.recover();
    for (const { path, records } of damaged) {
      writeError(`${path} has ${records} damaged records, which were not moved.\n`);
    }
  } finally {
    await ledger.close();
  }
}
