/**
 * Opens the stores of API keys and entities, the stores that replicas share (database, object store, Redis), and the
 * lock of the data folder.
 */
import type { Emit } from "../../contract/events.ts";
import type { Log } from "../lib/log.ts";
import type { StoreLatency } from "../observe/metrics/store-latency.ts";
import type { Settings } from "../settings.ts";
import { checkStoredSchema } from "../storage/sqlite/check-stored-schema.ts";
import { lockFolder } from "../storage/sqlite/folder-lock.ts";
import { openConfigEntityStore, openKeyStore } from "../storage/sqlite/gateway-database.ts";

export type Stores = Awaited<ReturnType<typeof openStores>>;

interface StoreOptions {
  readonly settings: Settings;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  readonly emit: Emit;
  readonly storeLatency: StoreLatency;
}

/**
 * The code of a database, a bucket and Redis is loaded on demand: a gateway without them spends no time and no memory
 * on it.
 */
export async function openStores({
  settings,
  env,
  log,
  now,
  clock,
  emit,
  storeLatency,
}: StoreOptions) {
  const { VEXEL_DATA: folder, DATABASE_URL, BLOB_URL, REDIS_URL } = settings;
  // First: a gateway of another version writes nothing.
  checkStoredSchema(folder, DATABASE_URL !== "");
  const objectStorage =
    BLOB_URL === "" ? undefined : await import("../storage/s3/object-storage.ts");
  const objects = objectStorage?.openObjectStorage({
    url: BLOB_URL,
    imagesMaxBytes: settings.VEXEL_IMAGES_MAX_BYTES,
    emit,
    timeCall: storeLatency.timerOf("object_store"),
    env,
    log,
    now,
    clock,
  });
  const sharedStorage =
    DATABASE_URL === "" ? undefined : await import("../storage/postgres/shared-storage.ts");
  const shared = await sharedStorage?.openSharedStorage({
    url: DATABASE_URL,
    readUrl: settings.DATABASE_READ_URL,
    poolSize: settings.DATABASE_POOL_SIZE,
    timeCall: storeLatency.timerOf("database"),
    folder,
    log,
    now,
    clock,
  });
  const redisClient = REDIS_URL === "" ? undefined : await import("../storage/redis/client.ts");
  const redis =
    redisClient &&
    new redisClient.RedisConnection({ url: REDIS_URL, timeCall: storeLatency.timerOf("redis") });
  // A gateway that starts while Redis is unavailable serves after the first attempt, and connects later.
  await redis?.attempted();
  return {
    objects,
    shared,
    redis,
    /** Unix milliseconds, of the database if replicas share one. */
    now: shared?.now ?? now,
    keys: shared?.keys ?? openKeyStore(folder, now),
    entities: shared?.entities ?? openConfigEntityStore(folder, now),
    lock: lockFolder(folder),
  };
}
