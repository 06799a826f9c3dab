/** Opens the object store behind the storage ports: images, stored responses and content. Loaded only if it is used. */
import type { Emit } from "../../../contract/events.ts";
import type { Log } from "../../lib/log.ts";
import type { TimeCall } from "../../lib/time-call.ts";
import { parseBlobUrl } from "./blob-url.ts";
import { ObjectStore } from "./object-store.ts";
import { S3Images } from "./s3-images.ts";

interface ObjectStorageOptions {
  /** `BLOB_URL`. */
  readonly url: string;
  readonly imagesMaxBytes: number;
  /** Has the credentials, unless the URL has them. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Pick<Log, "warn" | "error">;
  readonly emit: Emit;
  /** Observes how long each request takes. */
  readonly timeCall?: TimeCall;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

export type ObjectStorage = ReturnType<typeof openObjectStorage>;

/** Throws StoreError if `BLOB_URL` cannot be used. The object store need not be reachable. */
export function openObjectStorage(options: ObjectStorageOptions) {
  const { url, imagesMaxBytes, env, now, clock, timeCall } = options;
  const location = parseBlobUrl(url, env);
  const objects = new ObjectStore({
    location,
    clock,
    timeCall,
    onAvailability: (error) => reportAvailability(options, error?.message),
  });
  return {
    /** For stored responses, the stored content of requests, and files. */
    objects,
    images: new S3Images({
      objects,
      maxBytes: imagesMaxBytes,
      now,
      isPresigned: location.links === "presigned",
    }),
  };
}

/** `reason`: why the object store cannot be used. Undefined if it responds again. */
function reportAvailability(
  { log, emit }: Pick<ObjectStorageOptions, "log" | "emit">,
  reason: string | undefined,
): void {
  if (reason === undefined) {
    log.warn("object-store-recovered");
    emit({ type: "object_store.recovered", data: {} });
    return;
  }
  log.error("object-store-unavailable", { reason });
  emit({ type: "object_store.unavailable", data: { reason } });
}
