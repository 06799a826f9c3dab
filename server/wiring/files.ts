/** Opens the storage of what clients store, and constructs the files of clients and the handlers of their routes. */
import { join } from "node:path";
import { createFileHandlers, expiryOf, receiveFile } from "../api/files.ts";
import { createResolveFileIds, type FindStoredImage } from "../api/stored-images.ts";
import { createUploadHandlers } from "../api/uploads.ts";
import { findKey } from "../auth/authenticate.ts";
import { ownerOf } from "../auth/owner.ts";
import { type ClientFiles, createClientFiles } from "../files/client-files.ts";
import { createReceivingFiles } from "../files/receiving-files.ts";
import { createUploads } from "../files/uploads.ts";
import { errorMessage } from "../lib/error-code.ts";
import { dayMs, repeat } from "../lib/timers.ts";
import type { IncomingRequest } from "../request/http-types.ts";
import { StoredFiles } from "../storage/files/stored-files.ts";
import type { FileStore } from "../storage/ports/file-store.ts";
import type { SharedStorage } from "../storage/postgres/shared-storage.ts";
import type { ObjectStore } from "../storage/s3/object-store.ts";
import { S3Files } from "../storage/s3/s3-files.ts";
import { createFileIndex, type FileIndex } from "../storage/sql/file-index.ts";
import { createJobStore, type JobStore } from "../storage/sql/job-store.ts";
import { createUploadStore, type UploadStore } from "../storage/sql/upload-store.ts";
import { openJobDatabase } from "../storage/sqlite/job-database.ts";
import type { DiskReserve } from "../temp-storage/disk-reserve.ts";
import type { Runtime } from "./runtime.ts";

const sweepEveryMs = 60_000;

interface StoredDataOptions {
  readonly disk: DiskReserve;
  /** The database that replicas share. Undefined if the rows are in the data folder. */
  readonly shared: SharedStorage | undefined;
  /** The object store that replicas share. Undefined if the contents are in the data folder. */
  readonly objects: ObjectStore | undefined;
}

/** Where files and jobs of clients are stored. */
export interface StoredData {
  readonly contents: FileStore;
  readonly index: FileIndex;
  readonly uploads: UploadStore;
  readonly jobs: JobStore;
  /** Other replicas use it as well. */
  readonly isShared: boolean;
}

/** Undefined if replicas share a database, and no object store for the contents. */
export function openStoredData(
  { settings, now, resources }: Runtime,
  { disk, shared, objects }: StoredDataOptions,
): StoredData | undefined {
  if (shared && !objects) return undefined;
  const local = new StoredFiles({ folder: join(settings.VEXEL_DATA, "files"), disk, now });
  const contents = objects ? new S3Files(objects, local) : local;
  if (shared) {
    const { files: index, uploads, jobs } = shared;
    return { contents, index, uploads, jobs, isShared: true };
  }
  const db = openJobDatabase(settings.VEXEL_DATA, now);
  resources.defer(() => db.close());
  return {
    contents,
    index: createFileIndex(db),
    uploads: createUploadStore(db),
    jobs: createJobStore(db),
    isShared: false,
  };
}

export function wireFiles(runtime: Runtime, data: StoredData) {
  const { settings, snapshot, byteTurns, responseMemory, log, now } = runtime;
  const maxBatchBytes = settings.VEXEL_BATCH_MAX_BYTES;
  const batchFileMs = settings.VEXEL_FILES_DAYS * dayMs;
  const { index, contents } = data;
  const maxBytes = settings.VEXEL_FILES_MAX_BYTES;
  const quotas = { owner: maxBytes / 2, all: maxBytes };
  const receiving = createReceivingFiles({ index, store: contents, quotas, turns: byteTurns });
  const files = createClientFiles({ index, store: contents, receiving, log, now });
  const uploads = createUploads({
    store: data.uploads,
    contents,
    files,
    index,
    receiving,
    turns: byteTurns,
    expiryOf: (createdAt, purpose, seconds) =>
      expiryOf(createdAt, purpose, seconds ?? undefined, batchFileMs),
    log,
    now,
  });
  runtime.resources.defer(
    repeat(
      {
        everyMs: sweepEveryMs,
        isImmediate: true,
        onFailure: (error) => log.warn("file-not-deleted", { reason: errorMessage(error) }),
      },
      async () => {
        await files.sweep();
        await uploads.sweep();
      },
    ),
  );
  const maxFileBytes = settings.VEXEL_MAX_UPLOAD_BYTES;
  const fileOptions = { files, maxFileBytes, maxBatchBytes, batchFileMs };
  return {
    files,
    /** Files of clients become images of edits. */
    resolveFileIds: createResolveFileIds(
      createFindImage(runtime, index, files),
      settings.VEXEL_MAX_FILE_BYTES,
    ),
    /** Stores the file of a form. */
    receive: (incoming: Pick<IncomingRequest, "headers" | "parts">, owner: string) =>
      receiveFile(incoming, owner, fileOptions),
    handlers: {
      ...createFileHandlers({ ...fileOptions, snapshot, responseMemory, turns: byteTurns, now }),
      ...createUploadHandlers({ snapshot, uploads, maxBatchBytes, now }),
    },
  };
}

const createFindImage =
  (
    { snapshot, now }: Runtime,
    index: FileIndex,
    files: Pick<ClientFiles, "findContent">,
  ): FindStoredImage =>
  async (keyId, fileId) => {
    // A user of the console has no key, and no files.
    const key = findKey(keyId, snapshot());
    const file = key && (await index.find(ownerOf(key), fileId, now()));
    const content = file && (await files.findContent(file));
    return content && { ...content, purpose: file.purpose, filename: file.filename };
  };
