/** Wires request temp storage: the folder of the temp files, its limits, and the disk reserve for the ledger. */
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DiskReserve, diskSpace } from "../temp-storage/disk-reserve.ts";
import { MemoryBudget, requestTemps } from "../temp-storage/request-temp.ts";
import { TempStorage } from "../temp-storage/temp-storage.ts";
import type { Runtime } from "./runtime.ts";

/** Memory for responses that wait to be passed on, for all requests together; the rest is spilled to disk. */
const memoryBytes = 8 * 1024 * 1024;

export type TempStorageWiring = ReturnType<typeof wireTempStorage>;

export function wireTempStorage({
  settings,
  log,
  clock,
}: Pick<Runtime, "settings" | "log" | "clock">) {
  const folder = emptyFolder(join(settings.VEXEL_DATA, "temp"));
  const disk = new DiskReserve({
    reserveBytes: settings.VEXEL_DISK_RESERVE_BYTES,
    measure: () => diskSpace(settings.VEXEL_DATA),
    report: (isLow, freeBytes) => {
      if (isLow) log.error("disk-space-low", { freeBytes });
      else log.warn("disk-space-recovered", { freeBytes });
    },
    clock,
  });
  const storage = new TempStorage({ maxBytes: settings.VEXEL_TEMP_STORAGE_BYTES, disk });
  /** Creates the temp storage of one request, for its responses. */
  const createTemp = requestTemps(folder, new MemoryBudget(memoryBytes), storage);
  return { folder, storage, disk, createTemp };
}

/** Files of an earlier process belong to requests that have ended. */
function emptyFolder(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(path)) rmSync(join(path, name), { force: true, recursive: true });
  return path;
}
