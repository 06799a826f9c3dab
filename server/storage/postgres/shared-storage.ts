/**
 * The storage that replicas share: PostgreSQL. Loaded only with `DATABASE_URL`. The data folder keeps a copy of the
 * configuration, for a start while the database is unreachable.
 */
import { errorMessage } from "../../lib/error-code.ts";
import type { Log } from "../../lib/log.ts";
import type { TimeCall } from "../../lib/time-call.ts";
import { createAdminTokenStore } from "../sql/admin-token-store.ts";
import { createAlertStore } from "../sql/alert-store.ts";
import { createAuditLog } from "../sql/audit-log.ts";
import { createConfigEntityStore } from "../sql/config-entity-store.ts";
import { createDeliveryStore } from "../sql/delivery-store.ts";
import { createEventStore } from "../sql/event-store.ts";
import { createFileIndex } from "../sql/file-index.ts";
import { createJobStore } from "../sql/job-store.ts";
import { createKeyStore } from "../sql/key-store.ts";
import { createSessionStore } from "../sql/session-store.ts";
import { createStatementStore } from "../sql/statement-store.ts";
import { createUploadStore } from "../sql/upload-store.ts";
import { createUserStore } from "../sql/user-store.ts";
import { createWebhookEndpointStore } from "../sql/webhook-endpoint-store.ts";
import { LastKnownConfig } from "../sqlite/last-known-config.ts";
import { StoreError } from "../sqlite/open-database.ts";
import { isUnavailable } from "../unavailable.ts";
import { PostgresDatabase } from "./database.ts";
import { DatabaseClock, withMeasuredClock } from "./database-clock.ts";
import { withLastKnownEntities, withLastKnownKeys } from "./last-known-stores.ts";
import { createLedgerExports } from "./ledger-exports.ts";
import { createPostgresLedgerQueries } from "./ledger-queries.ts";
import { PostgresLedgerStore } from "./ledger-store.ts";
import { SharedSpend } from "./shared-spend.ts";

interface SharedStorageOptions {
  /** `DATABASE_URL`. */
  readonly url: string;
  /** `DATABASE_READ_URL`: the read replica for ledger queries of the console. Empty: they use the database itself. */
  readonly readUrl: string;
  /** `DATABASE_POOL_SIZE`: the most connections to both together. */
  readonly poolSize: number;
  /** The data folder. */
  readonly folder: string;
  /** Observes how long each query or transaction takes. */
  readonly timeCall: TimeCall;
  readonly log: Pick<Log, "warn">;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

/** Rejects with StoreError if the database cannot be used, and there is no copy of the configuration to start from. */
export async function openSharedStorage(options: SharedStorageOptions) {
  const { folder, log, now, clock } = options;
  const copy = new LastKnownConfig(folder, now);
  const { db, queryDb } = openDatabases(options);
  try {
    await db.migrate();
  } catch (error) {
    const hasCopy = copy.revision("keys") !== undefined && copy.revision("config") !== undefined;
    if (!isUnavailable(error) || !hasCopy) {
      copy.close();
      await Promise.all([db.close(), queryDb.close()]);
      throw new StoreError(startRefused(error), { cause: error });
    }
    log.warn("database-unavailable", {
      reason: reasonOf(error),
      servedFrom: "the last known configuration",
    });
  }
  const databaseClock = new DatabaseClock({ serverNow: () => db.serverNow(), now, clock });
  await databaseClock.start();
  return {
    /** The clock of the database, in Unix milliseconds. What is stored has its times. */
    now: databaseClock.now,
    keys: withLastKnownKeys(createKeyStore(db), copy),
    entities: withLastKnownEntities(createConfigEntityStore(db), copy),
    users: createUserStore(db),
    sessions: createSessionStore(db),
    adminTokens: createAdminTokenStore(db),
    audit: createAuditLog(db),
    statements: createStatementStore(db),
    events: createEventStore(db),
    deliveries: createDeliveryStore(db),
    alerts: createAlertStore(db),
    webhookEndpoints: createWebhookEndpointStore(db),
    files: createFileIndex(db),
    uploads: createUploadStore(db),
    jobs: withMeasuredClock(createJobStore(db), databaseClock),
    ledger: new PostgresLedgerStore(db),
    exports: createLedgerExports(db),
    queries: createPostgresLedgerQueries(queryDb, clock),
    spend: new SharedSpend(db, databaseClock.now),
    close: async () => {
      await databaseClock.close();
      await Promise.all([db.close(), queryDb.close()]);
      copy.close();
    },
  };
}

export type SharedStorage = Awaited<ReturnType<typeof openSharedStorage>>;

/** Ledger queries can be slow. With connections of their own, they hold back neither ledger rows nor changed keys. */
function openDatabases({ url, readUrl, poolSize, now, timeCall }: SharedStorageOptions) {
  const forQueries = Math.ceil(poolSize / 4);
  const db = new PostgresDatabase({ url, now, maxConnections: poolSize - forQueries, timeCall });
  const source =
    readUrl === "" ? { url } : ({ url: readUrl, setting: "DATABASE_READ_URL" } as const);
  const queryDb = new PostgresDatabase({ ...source, now, maxConnections: forQueries, timeCall });
  return { db, queryDb };
}

/** The error of the driver has more detail than the message for clients. */
function reasonOf(error: unknown): string {
  const cause = isUnavailable(error) && error instanceof Error ? error.cause : error;
  return errorMessage(cause);
}

function startRefused(error: unknown): string {
  if (error instanceof StoreError) return error.message;
  return isUnavailable(error)
    ? `The database (DATABASE_URL) cannot be reached: ${reasonOf(error)}. The data folder has no copy of an earlier configuration, so the gateway does not start. Start the database, or check the address.`
    : `The database (DATABASE_URL) cannot be used: ${reasonOf(error)}`;
}
