/** The stored content of requests: encrypted, in the data folder or the object store, deleted as the models say. */
import { join } from "node:path";
import type { Log } from "../lib/log.ts";
import { repeat } from "../lib/timers.ts";
import type { SecretBox } from "./encrypt-secret.ts";
import { ContentFiles, type ContentFilesOptions, StoreFullError } from "./files/content-files.ts";
import type { ExpiringContent } from "./ports/content-store.ts";
import type { ObjectStore } from "./s3/object-store.ts";
import { S3Content } from "./s3/s3-content.ts";

interface StoringModel {
  readonly id: string;
  /** How long its content is stored. If absent, it is not stored. */
  readonly storeContentMs?: number;
}

interface StoredContentOptions {
  /** The data folder. */
  readonly folder: string;
  readonly maxBytes: number;
  readonly secrets: SecretBox;
  readonly models: () => ReadonlyMap<string, StoringModel>;
  readonly disk: ContentFilesOptions["disk"];
  /** Undefined if content stays in the data folder of this replica. */
  readonly objects: ObjectStore | undefined;
  readonly log: Pick<Log, "warn">;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly resources: AsyncDisposableStack;
}

/** A model that stores no content any more is noticed within this time. */
const checkEveryMs = 1000;
const sweepEveryMs = 60_000;

export function openStoredContent(options: StoredContentOptions) {
  const { maxBytes, secrets, models, disk, objects, log, now, resources } = options;
  const folder = join(options.folder, "content");
  const files = new ContentFiles({ folder, maxBytes, disk, secrets, now });
  const store = objects ? new S3Content({ objects, files, maxBytes, secrets, now }) : files;
  /** The models that store content, as of the last sweep. */
  let swept: string | undefined;
  let sweepAt = 0;
  const check = async (): Promise<void> => {
    const retentionMs = new Map(
      [...models().values()].flatMap(({ id, storeContentMs }) =>
        storeContentMs === undefined ? [] : [[id, storeContentMs] as const],
      ),
    );
    const storing = JSON.stringify([...retentionMs]);
    if (storing === swept && now() < sweepAt) return;
    swept = storing;
    sweepAt = now() + sweepEveryMs;
    await store.sweep(retentionMs);
  };
  const onFailure = (error: unknown): void =>
    log.warn("content-not-deleted", { reason: String(error) });
  const stop = repeat({ everyMs: checkEveryMs, isImmediate: true, onFailure }, check);
  resources.defer(() => void stop());
  return {
    begin: (model: string, requestId: string) => store.begin(model, requestId),
    /** Logs content that could not be stored. */
    onNotStored: (requestId: string, error: unknown): void =>
      log.warn("content-not-stored", {
        requestId,
        reason: error instanceof StoreFullError ? `no space: ${error.message}` : String(error),
      }),
    delete: (model: string, requestId: string) => store.delete(model, requestId),
    /** Undefined if not stored, expired, or the model stores no content any more. */
    find: async (model: string, requestId: string): Promise<ExpiringContent | undefined> => {
      const ms = models().get(model)?.storeContentMs;
      const found = ms === undefined ? undefined : await store.find(model, requestId);
      if (!found || ms === undefined) return undefined;
      const expiresAt = found.storedAt + ms;
      return expiresAt > now() ? { ...found, expiresAt } : undefined;
    },
  };
}
