/**
 * Pages of jobs. A row may have 100 KB of metadata and errors, so a page is read in steps of few rows, other requests
 * are served between them, and a page ends by its bytes as well as by its entries.
 */
import { nextTurn } from "../../lib/tasks.ts";
import type { StoredPage } from "./page.ts";
import { type JobRow, jobOf, type StoredJob } from "./stored-job.ts";

const rowsOfStep = 8;

/** The most bytes of metadata and errors in one page. A page has at least one job. */
export const maxPageBytes = 1024 * 1024;

interface JobPageReader {
  readonly limit: number;
  /** The rows after `last`. If absent, from the cursor of the request. */
  readonly readStep: (last: JobRow | undefined, count: number) => Promise<readonly JobRow[]>;
  readonly cursorOf: (last: JobRow) => string;
}

export async function readJobPage({
  limit,
  readStep,
  cursorOf,
}: JobPageReader): Promise<StoredPage<StoredJob>> {
  const entries: StoredJob[] = [];
  let bytes = 0;
  let last: JobRow | undefined;
  for (;;) {
    // One row more than the limit shows whether there is another page.
    const count = Math.min(rowsOfStep, limit + 1 - entries.length);
    const rows = await readStep(last, count);
    for (const row of rows) {
      bytes += Buffer.byteLength(row.data) + Buffer.byteLength(row.error ?? "");
      if (last && (entries.length === limit || bytes > maxPageBytes))
        return { entries, next: cursorOf(last) };
      entries.push(jobOf(row));
      last = row;
    }
    if (rows.length < count) return { entries };
    await nextTurn();
  }
}
