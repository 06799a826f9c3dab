/**
 * Opens the stores of a gateway as the settings say: in the data folder, or in the database and object store that
 * replicas share.
 */

import { Attribution } from "../attribution/attribution.ts";
import type { Budgets } from "../budgets/budgets.ts";
import { openImageLinks } from "../images/open-image-links.ts";
import { openLedger } from "../ledger/open-ledger.ts";
import { commaList } from "../lib/comma-list.ts";
import { openSharedLimits } from "../limits/open-shared-limits.ts";
import type { Settings } from "../settings.ts";
import { SecretBox } from "../storage/encrypt-secret.ts";
import type { BlobStore } from "../storage/ports/blob-store.ts";
import type { SharedStorage } from "../storage/postgres/shared-storage.ts";
import type { RedisConnection } from "../storage/redis/client.ts";
import { RequestClaims } from "../storage/redis/request-claims.ts";
import { SharedEmbeddings } from "../storage/redis/shared-embeddings.ts";
import type { ObjectStore } from "../storage/s3/object-store.ts";
import { openStoredContent } from "../storage/stored-content.ts";
import type { DiskReserve } from "../temp-storage/disk-reserve.ts";
import { openTempStorage } from "../temp-storage/open-temp-storage.ts";
import type { Runtime } from "./runtime.ts";

/** Encrypts stored secrets: with `VEXEL_SECRET`, or with the generated key of the data folder. */
export const secretBoxFor = (
  settings: Pick<Settings, "VEXEL_DATA" | "VEXEL_SECRET" | "VEXEL_SECRET_PREVIOUS">,
): SecretBox => new SecretBox({ folder: settings.VEXEL_DATA, ...secretsOf(settings) });

export function wireAttribution(
  { settings, secrets }: Pick<Runtime, "settings" | "secrets">,
  budgets: Pick<Budgets, "load">,
): Attribution {
  return new Attribution({
    loadBudgets: budgets.load,
    endUsers: settings.VEXEL_END_USERS,
    hash: (name) => secrets.hash(name, "end users"),
  });
}

/** The current secret, and earlier ones. */
const secretsOf = (settings: Pick<Settings, "VEXEL_SECRET" | "VEXEL_SECRET_PREVIOUS">) => ({
  secret: settings.VEXEL_SECRET,
  previous: commaList(settings.VEXEL_SECRET_PREVIOUS),
});

export const wireTempStorage = ({ settings, log, clock }: Omit<Runtime, "emit">) =>
  openTempStorage({
    dataFolder: settings.VEXEL_DATA,
    maxBytes: settings.VEXEL_TEMP_STORAGE_BYTES,
    log,
    clock,
  });

/** `shared`: the ledger that replicas share. Undefined if the ledger is in the data folder only. */
export const wireLedger = (
  runtime: Runtime,
  shared: SharedStorage | undefined,
  objects: ObjectStore | undefined,
) =>
  openLedger({
    ...runtime,
    folder: runtime.settings.VEXEL_DATA,
    maxBytes: runtime.settings.VEXEL_LEDGER_MAX_BYTES,
    days: runtime.settings.VEXEL_LEDGER_DAYS,
    onError: runtime.settings.VEXEL_ON_LEDGER_ERROR,
    shared,
    exportTo:
      runtime.settings.VEXEL_LEDGER_EXPORT === "on" && objects
        ? { objects, percent: runtime.settings.VEXEL_LEDGER_EXPORT_PERCENT }
        : undefined,
  });

/** What replicas share through Redis. */
export function wireReplicas(runtime: Runtime, redis: RedisConnection) {
  const { settings } = runtime;
  return {
    ...openSharedLimits({ ...runtime, folder: settings.VEXEL_DATA, redis }),
    /** The embedding cache. Undefined if it is off. */
    embeddings: openSharedCache(runtime, redis),
    claims: new RequestClaims(redis, { retentionMs: settings.VEXEL_RESPONSE_TTL * 1000 }),
  };
}

function openSharedCache(
  { settings, now, resources }: Runtime,
  redis: RedisConnection,
): SharedEmbeddings | undefined {
  const { VEXEL_CACHE_REDIS_TTL: sharedTtl, VEXEL_CACHE_TTL: localTtl } = settings;
  if (sharedTtl === 0) return undefined;
  const ttlMs = (localTtl === 0 ? sharedTtl : Math.min(sharedTtl, localTtl)) * 1000;
  const embeddings = new SharedEmbeddings(redis, { secret: settings.VEXEL_SECRET, ttlMs, now });
  resources.defer(() => embeddings.close());
  return embeddings;
}

/** `objects`: the object store. Undefined if content stays in the data folder of this replica. */
export const wireStoredContent = (
  runtime: Runtime,
  disk: DiskReserve,
  objects: ObjectStore | undefined,
) =>
  openStoredContent({
    ...runtime,
    folder: runtime.settings.VEXEL_DATA,
    maxBytes: runtime.settings.VEXEL_CONTENT_MAX_BYTES,
    models: () => runtime.snapshot().models,
    disk,
    objects,
  });

/** `images`: the images that replicas share. Undefined if images are in the data folder. */
export const wireImageLinks = (
  { settings, now }: Runtime,
  disk: DiskReserve,
  images: BlobStore | undefined,
) =>
  openImageLinks({
    folder: settings.VEXEL_DATA,
    ttlMs: settings.VEXEL_IMAGE_TTL * 1000,
    replayMs: settings.VEXEL_RESPONSE_TTL * 1000,
    jobMs: settings.VEXEL_JOBS_TTL * 1000,
    maxBytes: settings.VEXEL_IMAGES_MAX_BYTES,
    disk,
    secrets: secretsOf(settings),
    images,
    now,
  });
