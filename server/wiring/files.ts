/** Constructs the files of clients, and the handlers of their routes. */
import { join } from "node:path";
import { createFileHandlers, type FileHandlers } from "../api/files.ts";
import { type ClientFiles, createClientFiles } from "../files/client-files.ts";
import { errorMessage } from "../lib/error-code.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { StoredFiles } from "../storage/files/stored-files.ts";
import type { FileIndex } from "../storage/ports/file-index.ts";
import type { SharedStorage } from "../storage/postgres/shared-storage.ts";
import type { ObjectStore } from "../storage/s3/object-store.ts";
import { S3Files } from "../storage/s3/s3-files.ts";
import { createFileIndex } from "../storage/sql/file-index.ts";
import { openJobDatabase } from "../storage/sqlite/job-database.ts";
import type { DiskReserve } from "../temp-storage/disk-reserve.ts";
import type { Runtime } from "./runtime.ts";

const sweepEveryMs = 60_000;
const dayMs = 86_400_000;

interface FilesWiringOptions {
  readonly disk: DiskReserve;
  /** The database that replicas share. Undefined: the rows are in the data folder. */
  readonly shared: SharedStorage | undefined;
  /** The object store that replicas share. Undefined: the contents are in the data folder. */
  readonly objects: ObjectStore | undefined;
}

export function wireFiles(runtime: Runtime, options: FilesWiringOptions): FileHandlers {
  const { settings, now } = runtime;
  const files = openFiles(runtime, options);
  if (!files) return refusingHandlers();
  return createFileHandlers({
    ...runtime,
    files,
    maxFileBytes: settings.VEXEL_FILES_FILE_MAX_BYTES,
    maxBatchBytes: settings.VEXEL_BATCH_MAX_BYTES,
    batchFileMs: settings.VEXEL_FILES_DAYS * dayMs,
    now,
  });
}

/** Undefined: replicas share a database, and no object store for the contents. */
function openFiles(
  { settings, log, now, resources }: Runtime,
  { disk, shared, objects }: FilesWiringOptions,
): ClientFiles | undefined {
  if (shared && !objects) return undefined;
  const folder = join(settings.VEXEL_DATA, "files");
  const local = new StoredFiles({ folder, disk, now });
  const files = createClientFiles({
    index: shared?.files ?? openIndex(settings.VEXEL_DATA, now, resources),
    store: objects ? new S3Files(objects, local) : local,
    quotas: {
      owner: settings.VEXEL_FILES_PROJECT_MAX_BYTES,
      all: settings.VEXEL_FILES_MAX_BYTES,
    },
    log,
    now,
  });
  let sweeping: Promise<void> | undefined;
  const sweep = (): void => {
    sweeping ??= files
      .sweep()
      .catch((error) => log.warn("file-not-deleted", { reason: errorMessage(error) }))
      .finally(() => {
        sweeping = undefined;
      });
  };
  const timer = setInterval(sweep, sweepEveryMs);
  timer.unref();
  resources.defer(() => {
    clearInterval(timer);
    return sweeping;
  });
  sweep();
  return files;
}

function openIndex(folder: string, now: () => number, resources: AsyncDisposableStack): FileIndex {
  const db = openJobDatabase(folder, now);
  resources.defer(() => db.close());
  return createFileIndex(db);
}

function refusingHandlers(): FileHandlers {
  const refuse = async (): Promise<never> => {
    throw new GatewayError(
      "files_unavailable",
      "The replicas of this gateway share a database, and no storage for files. Ask its operator to set BLOB_URL.",
    );
  };
  return {
    createFile: refuse,
    files: refuse,
    file: refuse,
    deleteFile: refuse,
    fileContent: refuse,
  };
}
