/** Opens request temp storage: the folder of the temp files, its limits, and the disk reserve for the ledger. */
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Log } from "../lib/log.ts";
import { DiskReserve, diskSpace } from "./disk-reserve.ts";
import { MemoryBudget, requestTemps } from "./request-temp.ts";
import { TempStorage } from "./temp-storage.ts";

/** Memory for responses that wait to be passed on, for all requests together; the rest is spilled to disk. */
const responseMemoryBytes = 8 * 1024 * 1024;
/** Memory for uploaded files, for all requests together. */
const uploadMemoryBytes = 32 * 1024 * 1024;
/** Free disk space that is kept for the ledger. */
const reserveBytes = 256 * 1024 * 1024;

interface OpenTempStorageOptions {
  /** The data folder. */
  readonly dataFolder: string;
  readonly maxBytes: number;
  readonly log: Pick<Log, "warn" | "error">;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

export type OpenedTempStorage = ReturnType<typeof openTempStorage>;

export function openTempStorage(options: OpenTempStorageOptions) {
  const { dataFolder, maxBytes, log, clock } = options;
  const folder = emptyFolder(join(dataFolder, "temp"));
  const disk = new DiskReserve({
    reserveBytes,
    measure: () => diskSpace(dataFolder),
    report: (isLow, freeBytes) => {
      if (isLow) log.error("disk-space-low", { freeBytes });
      else log.warn("disk-space-recovered", { freeBytes });
    },
    clock,
  });
  const storage = new TempStorage({ maxBytes, disk });
  /** Creates the temp storage of one request, for its responses. */
  const createTemp = requestTemps(folder, new MemoryBudget(responseMemoryBytes), storage);
  return { folder, storage, disk, createTemp, uploadMemory: new MemoryBudget(uploadMemoryBytes) };
}

/** Files of an earlier process belong to requests that have ended. */
function emptyFolder(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(path)) rmSync(join(path, name), { force: true, recursive: true });
  return path;
}
