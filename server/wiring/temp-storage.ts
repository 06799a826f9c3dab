/** Puts together request temp storage: the spool folder, its bounds, and the disk reserve that the ledger lives on. */
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DiskReserve } from "../lib/disk-reserve.ts";
import { createRequestTemp, type RequestTemp } from "../lib/request-temp.ts";
import { MemoryBudget } from "../lib/spill-buffer.ts";
import { TempStorage } from "../lib/temp-storage.ts";
import type { Log } from "../observe/log.ts";
import type { Settings } from "../settings.ts";
import { diskSpace } from "../storage/expiring-files.ts";

/** Of responses that wait in memory to be passed on, of all requests together; the rest waits on disk. */
const memoryBytes = 8 * 1024 * 1024;

export interface TempStorageWiringOptions {
  readonly settings: Settings;
  readonly log: Log;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

export interface TempStorageWiring {
  readonly folder: string;
  readonly storage: TempStorage;
  readonly disk: DiskReserve;
  /** For the responses of one request. */
  createTemp(keyId: string): RequestTemp;
}

export function wireTempStorage({
  settings,
  log,
  clock,
}: TempStorageWiringOptions): TempStorageWiring {
  const folder = emptyFolder(join(settings.VEXEL_DATA, "spool"));
  const disk = new DiskReserve({
    reserveBytes: settings.VEXEL_DISK_RESERVE_BYTES,
    measure: () => diskSpace(settings.VEXEL_DATA),
    report: (isLow, freeBytes) => {
      if (isLow) log.error("disk-space-low", { freeBytes });
      else log.warn("disk-space-recovered", { freeBytes });
    },
    clock,
  });
  const storage = new TempStorage({ maxBytes: settings.VEXEL_SPOOL_MAX_BYTES, disk });
  const allowance = new MemoryBudget(memoryBytes);
  return {
    folder,
    storage,
    disk,
    createTemp: (keyId) => createRequestTemp(folder, allowance, storage.account(keyId, "response")),
  };
}

/** Files that the last process left belong to requests that are over. */
function emptyFolder(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(path)) rmSync(join(path, name), { force: true, recursive: true });
  return path;
}
