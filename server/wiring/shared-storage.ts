/**
 * Wires the storage that replicas share: PostgreSQL behind the storage ports. Loaded only with `DATABASE_URL`. The data
 * folder keeps a copy of the configuration, for a start while the database is unreachable.
 */
import { errorMessage } from "../lib/error-code.ts";
import type { Log } from "../lib/log.ts";
import type { Settings } from "../settings.ts";
import type { AuditLog } from "../storage/ports/audit-log.ts";
import type { ConfigEntityStore } from "../storage/ports/config-entity-store.ts";
import type { DeliveryStore } from "../storage/ports/delivery-store.ts";
import type { EventStore } from "../storage/ports/event-store.ts";
import type { KeyStore } from "../storage/ports/key-store.ts";
import type { LedgerQueries } from "../storage/ports/ledger-queries.ts";
import type { LedgerStore } from "../storage/ports/ledger-store.ts";
import type { SessionStore } from "../storage/ports/session-store.ts";
import type { SharedResponses } from "../storage/ports/shared-responses.ts";
import type { UserStore } from "../storage/ports/user-store.ts";
import { PostgresDatabase } from "../storage/postgres/database.ts";
import { withLastKnownEntities, withLastKnownKeys } from "../storage/postgres/last-known-stores.ts";
import { createPostgresLedgerQueries } from "../storage/postgres/ledger-queries.ts";
import { PostgresLedgerStore } from "../storage/postgres/ledger-store.ts";
import { createPostgresResponses } from "../storage/postgres/responses.ts";
import { SharedSpend } from "../storage/postgres/shared-spend.ts";
import { createAuditLog } from "../storage/sql/audit-log.ts";
import { createConfigEntityStore } from "../storage/sql/config-entity-store.ts";
import { createDeliveryStore } from "../storage/sql/delivery-store.ts";
import { createEventStore } from "../storage/sql/event-store.ts";
import { createKeyStore } from "../storage/sql/key-store.ts";
import { createSessionStore } from "../storage/sql/session-store.ts";
import { createUserStore } from "../storage/sql/user-store.ts";
import { LastKnownConfig } from "../storage/sqlite/last-known-config.ts";
import { StoreError } from "../storage/sqlite/open-database.ts";
import { isUnavailable } from "../storage/unavailable.ts";

export interface SharedStorage {
  readonly keys: KeyStore;
  readonly entities: ConfigEntityStore;
  readonly users: UserStore;
  readonly sessions: SessionStore;
  readonly audit: AuditLog;
  readonly events: EventStore;
  readonly deliveries: DeliveryStore;
  readonly ledger: LedgerStore;
  readonly queries: LedgerQueries;
  readonly spend: Pick<SharedSpend, "read" | "add" | "refresh">;
  readonly responses: SharedResponses;
  /** The clock of the database, in Unix milliseconds. It decides when shared data expire. */
  now(): Promise<number>;
  close(): Promise<void>;
}

export interface SharedStorageOptions {
  readonly settings: Pick<Settings, "DATABASE_URL" | "VEXEL_DATA" | "VEXEL_RESPONSE_TTL">;
  readonly log: Pick<Log, "warn">;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

/** Rejects with StoreError if the database cannot be used, and there is no copy of the configuration to start from. */
export async function openSharedStorage(options: SharedStorageOptions): Promise<SharedStorage> {
  const { settings, log, now, clock } = options;
  const copy = new LastKnownConfig(settings.VEXEL_DATA, now);
  const db = new PostgresDatabase({ url: settings.DATABASE_URL, now });
  try {
    await db.migrate();
  } catch (error) {
    const hasCopy = copy.revision("keys") !== undefined && copy.revision("config") !== undefined;
    if (!isUnavailable(error) || !hasCopy) {
      copy.close();
      await db.close();
      throw new StoreError(startRefused(error), { cause: error });
    }
    log.warn("database-unavailable", {
      reason: reasonOf(error),
      servedFrom: "the last known configuration",
    });
  }
  const serverNow = () => db.serverNow();
  return {
    now: serverNow,
    keys: withLastKnownKeys(createKeyStore(db), copy),
    entities: withLastKnownEntities(createConfigEntityStore(db), copy),
    users: createUserStore(db),
    sessions: createSessionStore(db),
    audit: createAuditLog(db),
    events: createEventStore(db),
    deliveries: createDeliveryStore(db),
    ledger: new PostgresLedgerStore(db),
    queries: createPostgresLedgerQueries(db, clock),
    spend: new SharedSpend(db, now),
    responses: createPostgresResponses({
      db,
      ttlMs: settings.VEXEL_RESPONSE_TTL * 1000,
      now: serverNow,
    }),
    close: async () => {
      await db.close();
      copy.close();
    },
  };
}

/** The error of the driver has more detail than the message for clients. */
function reasonOf(error: unknown): string {
  const cause = isUnavailable(error) && error instanceof Error ? error.cause : error;
  return errorMessage(cause);
}

const startRefused = (error: unknown): string =>
  isUnavailable(error)
    ? `The database (DATABASE_URL) cannot be reached: ${reasonOf(error)}. The data folder has no copy of an earlier configuration, so the gateway does not start. Start the database, or check the address.`
    : `The database (DATABASE_URL) cannot be used: ${reasonOf(error)}`;
