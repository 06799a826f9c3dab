/**
 * Wires the object store behind the storage ports: images, stored responses and stored content. Loaded only with
 * `BLOB_URL`.
 */
import type { Log } from "../lib/log.ts";
import type { Settings } from "../settings.ts";
import type { BlobStore } from "../storage/ports/blob-store.ts";
import type { SharedResponses } from "../storage/ports/shared-responses.ts";
import { parseBlobUrl } from "../storage/s3/blob-url.ts";
import { ObjectStore } from "../storage/s3/object-store.ts";
import { S3Images } from "../storage/s3/s3-images.ts";
import { createS3Responses } from "../storage/s3/s3-responses.ts";

export interface ObjectStorage {
  readonly images: BlobStore;
  readonly responses: SharedResponses;
  /** For the stored content of requests. */
  readonly objects: ObjectStore;
}

export interface ObjectStorageOptions {
  readonly settings: Pick<Settings, "BLOB_URL" | "VEXEL_IMAGES_MAX_BYTES" | "VEXEL_RESPONSE_TTL">;
  /** Has the credentials, unless `BLOB_URL` has them. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Pick<Log, "info" | "warn">;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

/** Throws StoreError if `BLOB_URL` cannot be used. The object store need not be reachable. */
export function openObjectStorage(options: ObjectStorageOptions): ObjectStorage {
  const { settings, env, log, now, clock } = options;
  const location = parseBlobUrl(settings.BLOB_URL, env);
  const objects = new ObjectStore({
    location,
    clock,
    onAvailability: (error) =>
      error === undefined
        ? log.info("object-store-recovered")
        : log.warn("object-store-unavailable", { reason: error.message }),
  });
  return {
    objects,
    images: new S3Images({
      objects,
      maxBytes: settings.VEXEL_IMAGES_MAX_BYTES,
      now,
      isPresigned: location.links === "presigned",
    }),
    responses: createS3Responses({ objects, ttlMs: settings.VEXEL_RESPONSE_TTL * 1000, now }),
  };
}
