/** The implementations of each storage port. A new one is one entry here, and obeys the laws of its port. */
import { readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SecretBox } from "../../../server/storage/encrypt-secret.ts";
import { ContentFiles } from "../../../server/storage/files/content-files.ts";
import { ImageFiles } from "../../../server/storage/files/image-files.ts";
import { OutboxFile } from "../../../server/storage/files/outbox.ts";
import { OutboxRecovery } from "../../../server/storage/files/outbox-recovery.ts";
import { ResponseFiles } from "../../../server/storage/files/response-files.ts";
import { StoredFiles } from "../../../server/storage/files/stored-files.ts";
import type { BlobStore } from "../../../server/storage/ports/blob-store.ts";
import type { FileStore } from "../../../server/storage/ports/file-store.ts";
import type { LedgerRow } from "../../../server/storage/ports/ledger-row.ts";
import type { ResponseStore } from "../../../server/storage/ports/response-store.ts";
import { createAdminTokenStore } from "../../../server/storage/sql/admin-token-store.ts";
import { createAlertStore } from "../../../server/storage/sql/alert-store.ts";
import { createAuditLog } from "../../../server/storage/sql/audit-log.ts";
import type { ConfigEntityStore } from "../../../server/storage/sql/config-entity-store.ts";
import type { SqlDatabase } from "../../../server/storage/sql/database.ts";
import { createDeliveryStore } from "../../../server/storage/sql/delivery-store.ts";
import { createEventStore } from "../../../server/storage/sql/event-store.ts";
import { createFileIndex, type FileIndex } from "../../../server/storage/sql/file-index.ts";
import { createJobStore, type JobStore } from "../../../server/storage/sql/job-store.ts";
import type { KeyStore } from "../../../server/storage/sql/key-store.ts";
import { createSessionStore } from "../../../server/storage/sql/session-store.ts";
import { createStatementStore } from "../../../server/storage/sql/statement-store.ts";
import { createUploadStore } from "../../../server/storage/sql/upload-store.ts";
import { createUserStore } from "../../../server/storage/sql/user-store.ts";
import { createWebhookEndpointStore } from "../../../server/storage/sql/webhook-endpoint-store.ts";
import { EmbeddingCacheFile } from "../../../server/storage/sqlite/embedding-cache-file.ts";
import { openEventFile } from "../../../server/storage/sqlite/event-database.ts";
import {
  openConfigEntityStore,
  openGatewayDatabase,
  openKeyStore,
} from "../../../server/storage/sqlite/gateway-database.ts";
import { openJobDatabase } from "../../../server/storage/sqlite/job-database.ts";
import { SqliteDatabase } from "../../../server/storage/sqlite/sqlite-database.ts";
import { unlimitedDisk } from "../../unlimited-disk.ts";
import { type Implementation, inFolder } from "./backend.ts";
import { blobMaxBytes } from "./blob-store.laws.ts";
import type { ConsoleStores } from "./console-stores.laws.ts";
import { type ContentImplementation, contentMaxBytes } from "./content-store.laws.ts";
import { vectorMaxBytes, vectorTtlMs } from "./embedding-cache-store.laws.ts";
import type { EventStorage } from "./event-store.laws.ts";
import { type LedgerStorage, openSqliteLedger } from "./ledger-storage.ts";
import { type OutboxImplementation, outboxMaxBytes } from "./outbox.laws.ts";
import { responseMaxBytes, responseTtlMs } from "./response-store.laws.ts";
import type { UploadStorage } from "./upload-store.laws.ts";
import type { WebhookEndpointStorage } from "./webhook-endpoint-store.laws.ts";

export const keyStores: readonly Implementation<KeyStore>[] = [inFolder("SQLite", openKeyStore)];

export const configEntityStores: readonly Implementation<ConfigEntityStore>[] = [
  inFolder("SQLite", openConfigEntityStore),
];

export const secrets = new SecretBox({
  folder: tmpdir(),
  secret: "a secret of the tests",
  previous: [],
});

export const openContentFiles = (folder: string, now: () => number): ContentFiles =>
  new ContentFiles({
    folder: join(folder, "content"),
    maxBytes: contentMaxBytes,
    disk: unlimitedDisk,
    secrets,
    now,
  });

export const contentFiles: ContentImplementation = {
  ...inFolder("file", openContentFiles),
  contains: (folder, text) =>
    readdirSync(folder, { recursive: true, withFileTypes: true }).some(
      (entry) => entry.isFile() && readFileSync(join(entry.parentPath, entry.name)).includes(text),
    ),
};

export const blobStores: readonly Implementation<BlobStore>[] = [
  inFolder(
    "file",
    (folder, now) =>
      new ImageFiles({
        folder: join(folder, "images"),
        maxBytes: blobMaxBytes,
        disk: unlimitedDisk,
        now,
      }),
  ),
];

export const openResponseFiles = (folder: string, now: () => number): ResponseFiles =>
  new ResponseFiles({
    folder: join(folder, "responses"),
    ttlMs: responseTtlMs,
    maxBytes: responseMaxBytes,
    disk: unlimitedDisk,
    now,
  });

export const responseStores: readonly Implementation<ResponseStore>[] = [
  inFolder("file", openResponseFiles),
];

export const embeddingCacheStores: readonly Implementation<EmbeddingCacheFile>[] = [
  inFolder(
    "SQLite",
    (folder, now) =>
      new EmbeddingCacheFile({
        folder,
        maxBytes: vectorMaxBytes,
        ttlMs: vectorTtlMs,
        keyFormat: 1,
        now,
        report: (reason) => {
          throw new Error(reason);
        },
      }),
  ),
];

export const ledgers: readonly Implementation<LedgerStorage>[] = [
  inFolder("SQLite", openSqliteLedger),
];

export const openConsoleStores = (db: SqlDatabase): ConsoleStores => ({
  users: createUserStore(db),
  sessions: createSessionStore(db),
  tokens: createAdminTokenStore(db),
  audit: createAuditLog(db),
  statements: createStatementStore(db),
  close: () => db.close(),
});

export const consoleStores: readonly Implementation<ConsoleStores>[] = [
  inFolder("SQLite", (folder, now) => openConsoleStores(openGatewayDatabase(folder, now))),
];

/** Short queues and small shares: each event is a transaction. */
const eventLimits = { maxWaiting: 50, operatorShare: 10, ownerShare: 5 };

export const openEventStorage = (db: SqlDatabase): EventStorage => ({
  limits: eventLimits,
  events: createEventStore(db, eventLimits),
  deliveries: createDeliveryStore(db),
  alerts: createAlertStore(db),
  close: () => db.close(),
});

export const eventStorages: readonly Implementation<EventStorage>[] = [
  inFolder("SQLite", (folder) => openEventStorage(new SqliteDatabase(openEventFile(folder)))),
];

export const openStoredFiles = (folder: string, now: () => number): StoredFiles =>
  new StoredFiles({ folder: join(folder, "files"), disk: unlimitedDisk, now });

export const fileStores: readonly Implementation<FileStore>[] = [inFolder("file", openStoredFiles)];

export const openFileIndex = (db: SqlDatabase): FileIndex & { close(): Promise<void> } => ({
  ...createFileIndex(db),
  close: () => db.close(),
});

export const fileIndexes: readonly Implementation<FileIndex>[] = [
  inFolder("SQLite", (folder, now) => openFileIndex(openJobDatabase(folder, now))),
];

export const openJobStorage = (db: SqlDatabase) =>
  Object.assign(createJobStore(db), { close: () => db.close() });

export const jobStores: readonly Implementation<JobStore>[] = [
  inFolder("SQLite", (folder, now) => openJobStorage(openJobDatabase(folder, now))),
];

export const openUploadStore = (db: SqlDatabase): UploadStorage & { close(): Promise<void> } => ({
  ...createUploadStore(db),
  files: createFileIndex(db),
  close: () => db.close(),
});

export const uploadStores: readonly Implementation<UploadStorage>[] = [
  inFolder("SQLite", (folder, now) => openUploadStore(openJobDatabase(folder, now))),
];

export const openWebhookEndpoints = (db: SqlDatabase): WebhookEndpointStorage => ({
  endpoints: createWebhookEndpointStore(db),
  events: createEventStore(db),
  close: () => db.close(),
});

export const webhookEndpointStorages: readonly Implementation<WebhookEndpointStorage>[] = [
  inFolder("SQLite", (folder) => openWebhookEndpoints(new SqliteDatabase(openEventFile(folder)))),
];

export const outboxes: readonly OutboxImplementation[] = [
  {
    ...inFolder(
      "file",
      (folder) =>
        new OutboxFile({
          folder,
          id: Bun.randomUUIDv7(),
          maxBytes: outboxMaxBytes,
          compactBytes: outboxMaxBytes / 4,
          // What could not be written is missing in the recovered rows.
          onError: () => undefined,
        }),
    ),
    recover: async (folder) => {
      const rows: LedgerRow[] = [];
      const recovery = new OutboxRecovery(folder, {
        append: async (more) => void rows.push(...more),
      });
      if (recovery.damaged.length > 0 || recovery.torn > 0)
        throw new Error("records are damaged or cut off");
      await recovery.recover();
      return rows;
    },
  },
];
