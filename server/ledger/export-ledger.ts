/**
 * Exports the ledger to the object store: for each hour, files of gzipped JSON lines and then a manifest that names
 * them. The names depend on the hour only, so an hour that is exported again replaces its files.
 */
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { logReason } from "../lib/gateway-error.ts";
import type { Log } from "../lib/log.ts";
import { repeat } from "../lib/timers.ts";
import type { LedgerStore } from "../storage/ports/ledger-store.ts";
import type { ExportedHour, LedgerExports } from "../storage/postgres/ledger-exports.ts";
import type { ObjectStore } from "../storage/s3/object-store.ts";

export interface ExportOptions {
  readonly exports: Pick<LedgerExports, "claim" | "renew" | "read" | "finish">;
  readonly objects: Pick<ObjectStore, "write" | "writeText">;
  /** The share of the rows that is exported. */
  readonly percent: number;
  /** Unix milliseconds, by the clock of the database. */
  readonly now: () => number;
  readonly log: Pick<Log, "info" | "warn">;
  /** Aborted when the gateway closes. */
  readonly signal: AbortSignal;
  /** Rows of one file. */
  readonly fileRows?: number;
}

interface ExportedFile {
  readonly key: string;
  readonly rows: number;
  readonly bytes: number;
  readonly sha256: string;
}

/** Rows of one query. They are in memory. */
const pageRows = 5000;
const defaultFileRows = 100_000;
/** Rows of the last minutes of an hour are forwarded after it. Later ones are exported with the hour again. */
const waitMs = 5 * 60_000;
const compress = promisify(gzip);

/** Exports every hour that is due. Rejects while the database or the object store is unavailable. */
export async function exportLedger(options: ExportOptions): Promise<void> {
  for (;;) {
    const hour = await options.exports.claim((await options.now()) - waitMs);
    if (!hour) return;
    const files = await exportHour(hour, options);
    if (!files || options.signal.aborted) return;
    const rows = files.reduce((sum, file) => sum + file.rows, 0);
    await options.objects.writeText(
      `${nameOf(hour)}.json`,
      JSON.stringify({
        hour: new Date(hour.hour).toISOString(),
        requests: hour.requests,
        rows,
        files,
      }),
    );
    await options.exports.finish(hour);
    options.log.info("ledger-exported", { hour: new Date(hour.hour).toISOString(), rows });
  }
}

/** Undefined if another replica has taken over. */
async function exportHour(
  hour: ExportedHour,
  { exports, objects, percent, signal, fileRows = defaultFileRows }: ExportOptions,
): Promise<readonly ExportedFile[] | undefined> {
  const files: ExportedFile[] = [];
  let lastId = "";
  for (let isComplete = false; !isComplete; ) {
    if (!(await exports.renew(hour))) return undefined;
    const first = await exports.read(hour, lastId, Math.min(pageRows, fileRows), percent);
    if (first.lines.length === 0) break;
    const key = `${nameOf(hour)}-${String(files.length + 1).padStart(4, "0")}.jsonl.gz`;
    const sum = createHash("sha256");
    let [rows, bytes] = [0, 0];
    const chunks = async function* () {
      for (let page = first; page.lines.length > 0; ) {
        signal.throwIfAborted();
        // Gzip files that are joined are one gzip file.
        const chunk = await compress(`${page.lines.join("\n")}\n`);
        sum.update(chunk);
        rows += page.lines.length;
        bytes += chunk.length;
        lastId = page.lastId;
        yield chunk;
        if (rows >= fileRows) return;
        page = await exports.read(hour, lastId, Math.min(pageRows, fileRows - rows), percent);
      }
      isComplete = true;
    };
    await objects.write(key, chunks(), "application/gzip");
    files.push({ key, rows, bytes, sha256: sum.digest("hex") });
  }
  return files;
}

/** Such as `ledger/2026-11-15/07`. */
const nameOf = ({ hour }: ExportedHour): string =>
  `ledger/${new Date(hour).toISOString().slice(0, 13).replace("T", "/")}`;

interface ExportedLedger {
  readonly ledger: Pick<LedgerStore, "prune">;
  readonly exports: Pick<LedgerExports, "firstPending">;
}

/** Retention deletes a row only after its export. */
export const pruneExported = ({ ledger, exports }: ExportedLedger): Pick<LedgerStore, "prune"> => ({
  prune: async (before, limit) =>
    ledger.prune(Math.min(before, (await exports.firstPending()) ?? before), limit),
});

const exportEveryMs = 60_000;

/** Exports in the background until the returned function is called. */
export const startLedgerExport = (parts: Omit<ExportOptions, "signal">): (() => Promise<void>) =>
  repeat(
    {
      everyMs: exportEveryMs,
      isImmediate: true,
      onFailure: (error) => parts.log.warn("ledger-not-exported", { reason: logReason(error) }),
    },
    (signal) => exportLedger({ ...parts, signal }),
  );
