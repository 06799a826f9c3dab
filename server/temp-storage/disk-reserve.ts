/**
 * Free space of a disk, kept above a reserve. Uploads stop at the reserve, since nothing has been paid for them yet.
 * New image requests stop at three quarters of the reserve, and responses at half: the space between the two is for the
 * images of requests in flight, which are paid for. The ledger may use the rest without a check.
 */

import { statfsSync } from "node:fs";

export type DiskUse = "upload" | "request" | "response";

/** The fraction of the reserve that each use must leave free. */
const reserveFraction = { upload: 1, request: 3 / 4, response: 1 / 2 } as const satisfies Record<
  DiskUse,
  number
>;

export interface DiskSpace {
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/** Throws the error of the file system. */
export function diskSpace(folder: string): DiskSpace {
  const { bsize, bavail, blocks } = statfsSync(folder);
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}

interface DiskReserveOptions {
  readonly reserveBytes: number;
  /** Reads the free space from the operating system. Throws if the folder does not exist. */
  readonly measure: () => DiskSpace;
  /** Called when little more than the reserve is free, and when enough space is free again. */
  readonly report: (isLow: boolean, freeBytes: number) => void;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

/** On a small disk the reserve is at most this fraction of the disk. */
const maxDiskFraction = 1 / 20;
/**
 * Low-space report, as multiples of the reserve: low below the first, enough above the second. Uploads stop at the
 * reserve, so both are above it. The gap between them (hysteresis) prevents flapping.
 */
const lowThreshold = 1.25;
const recoveredThreshold = 1.5;
/** How long a measurement is valid. Bytes that the gateway writes meanwhile are subtracted from it. */
const validMs = 1000;

export class DiskReserve {
  readonly #options: DiskReserveOptions;
  #free = 0;
  #reserve = 0;
  #isLow = false;
  #measuredAt = Number.NEGATIVE_INFINITY;

  constructor(options: DiskReserveOptions) {
    this.#options = options;
  }

  hasSpace(bytes: number, use: DiskUse): boolean {
    const isStale = this.#options.clock() - this.#measuredAt > validMs;
    if (!isStale && this.#fits(bytes, use)) return true;
    this.#measure();
    return this.#fits(bytes, use);
  }

  /** Subtracts bytes that are about to be written. */
  recordWrite(bytes: number): void {
    this.#free -= bytes;
  }

  #fits(bytes: number, use: DiskUse): boolean {
    return this.#free - bytes >= this.#reserve * reserveFraction[use];
  }

  #measure(): void {
    const { reserveBytes, measure, report, clock } = this.#options;
    try {
      const { freeBytes, totalBytes } = measure();
      this.#free = freeBytes;
      this.#reserve = Math.min(reserveBytes, totalBytes * maxDiskFraction);
      const isLow = freeBytes < this.#reserve * (this.#isLow ? recoveredThreshold : lowThreshold);
      if (isLow !== this.#isLow) report(isLow, freeBytes);
      this.#isLow = isLow;
    } catch {
      // The folder was removed, or the system reports no free space. The write itself reports the error.
      this.#free = Number.POSITIVE_INFINITY;
    }
    this.#measuredAt = clock();
  }
}
