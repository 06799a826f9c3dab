/**
 * Wires the stored content of requests: encrypted, in the data folder or the object store, deleted as the configuration
 * says.
 */
import { join } from "node:path";
import type { AdminDependencies } from "../admin/admin-dependencies.ts";
import type { Snapshot } from "../config/snapshot.ts";
import type { ContentRecording } from "../pipeline/record-content.ts";
import {
  ContentFiles,
  type ContentFilesOptions,
  StoreFullError,
} from "../storage/files/content-files.ts";
import type { ObjectStore } from "../storage/s3/object-store.ts";
import { S3Content } from "../storage/s3/s3-content.ts";
import type { Runtime } from "./runtime.ts";
import { secretBoxFor } from "./secret-box.ts";

interface StoredContentOptions {
  readonly disk: ContentFilesOptions["disk"];
  /** Undefined: content stays in the data folder of this replica. */
  readonly objects: ObjectStore | undefined;
}

/** A model that stores no content any more is noticed within this time. */
const checkEveryMs = 1000;
const sweepEveryMs = 60_000;

export function wireStoredContent(
  {
    settings,
    snapshot,
    log,
    now,
    resources,
  }: Pick<Runtime, "settings" | "snapshot" | "log" | "now" | "resources">,
  { disk, objects }: StoredContentOptions,
): ContentRecording & AdminDependencies["content"] {
  const secrets = secretBoxFor(settings);
  const maxBytes = settings.VEXEL_CONTENT_MAX_BYTES;
  const folder = join(settings.VEXEL_DATA, "content");
  const files = new ContentFiles({ folder, maxBytes, disk, secrets, now });
  const store = objects ? new S3Content({ objects, files, maxBytes, secrets, now }) : files;
  let checked: Snapshot["models"] | undefined;
  let sweepAt = 0;
  let isSweeping = false;
  const check = async (): Promise<void> => {
    const { models } = snapshot();
    const isDue = now() >= sweepAt;
    if (isSweeping || (models === checked && !isDue)) return;
    isSweeping = true;
    checked = models;
    const keptMs = new Map(
      [...models.values()].flatMap(({ id, storeContentMs }) =>
        storeContentMs === undefined ? [] : [[id, storeContentMs] as const],
      ),
    );
    try {
      if (isDue || (await store.hasOthers(keptMs))) await store.sweep(keptMs);
    } catch (error) {
      log.warn("content-not-deleted", { reason: String(error) });
    }
    if (isDue) sweepAt = now() + sweepEveryMs;
    isSweeping = false;
  };
  const timer = setInterval(() => void check(), checkEveryMs);
  timer.unref();
  resources.defer(() => clearInterval(timer));
  void check();
  return {
    begin: (model, requestId) => store.begin(model, requestId),
    onNotStored: (requestId, error) =>
      log.warn("content-not-stored", {
        requestId,
        reason: error instanceof StoreFullError ? `no space: ${error.message}` : String(error),
      }),
    // Undefined: not stored, expired, or the model stores no content any more.
    find: async (model, requestId) => {
      const ms = snapshot().models.get(model)?.storeContentMs;
      const found = ms === undefined ? undefined : await store.find(model, requestId);
      if (!found || ms === undefined) return undefined;
      const expiresAt = found.storedAt + ms;
      return expiresAt > now() ? { ...found, expiresAt } : undefined;
    },
  };
}
