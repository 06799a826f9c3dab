/** The results of a job: segments in the file store, each with the results of consecutive lines of one range. */
import type { BorrowedBytes } from "../lib/borrowed-bytes.ts";
import type { FileStore } from "../storage/ports/file-store.ts";
import type { ClaimedRange } from "../storage/sql/stored-job.ts";
import type { JobResults, SegmentKind } from "./job-kind.ts";

export const jobFolder = (id: string): string => `jobs/${id}`;

const padded = (number: number): string => String(number).padStart(10, "0");

/**
 * In the order of the lines. The attempt is part of the name: a process that has lost its claim never overwrites the
 * results of the process that has it now.
 */
const segmentName = (
  { job, number, attempts }: ClaimedRange,
  line: number,
  kind: SegmentKind,
): string => `${jobFolder(job.id)}/${padded(number)}-${padded(line)}-${attempts}.${kind}`;

const namePattern = /\/(\d{10})-(\d{10})-(\d+)\.(output|error)$/;

interface Segment {
  readonly name: string;
  readonly size: number;
  readonly kind: string;
  /** The range, and the line at which the segment begins. */
  readonly start: string;
  readonly attempt: number;
}

export interface WrittenSegment {
  readonly bytes: number;
  remove(): Promise<void>;
}

/** Writes the results of lines from `line` on. Returns their size, and a function that deletes them. */
export async function writeSegment(
  files: FileStore,
  range: ClaimedRange,
  line: number,
  kind: SegmentKind,
  chunks: AsyncIterable<BorrowedBytes> | Iterable<BorrowedBytes>,
): Promise<WrittenSegment> {
  const name = segmentName(range, line, kind);
  const bytes = await files.write(name, chunks);
  return { bytes, remove: () => files.remove(name) };
}

/** Deletes results of lines that an earlier process wrote, but did not settle: the lines run again. */
export async function removeUnsettled(files: FileStore, range: ClaimedRange): Promise<void> {
  const next = range.firstLine + range.settled;
  for (const { name } of await files.list(jobFolder(range.job.id))) {
    const [, number, line] = namePattern.exec(name) ?? [];
    if (Number(number) === range.number && Number(line) >= next) await files.remove(name);
  }
}

/**
 * In the order of the lines. Of segments that begin at the same line, only those of the last attempt count: a process
 * that had lost its claim may have written the others, and died before it deleted them.
 */
export async function listSegments(files: FileStore, id: string): Promise<readonly Segment[]> {
  const segments: Segment[] = [];
  const last = new Map<string, number>();
  for (const { name, size } of await files.list(jobFolder(id))) {
    const [, number, line, attempt, kind] = namePattern.exec(name) ?? [];
    if (kind === undefined) continue;
    const segment = { name, size, kind, start: `${number}-${line}`, attempt: Number(attempt) };
    segments.push(segment);
    last.set(segment.start, Math.max(segment.attempt, last.get(segment.start) ?? 0));
  }
  return segments.filter(({ start, attempt }) => attempt === last.get(start));
}

export function resultsOf(files: FileStore, id: string): JobResults {
  const listed = listSegments(files, id);
  const segments = async (kind: SegmentKind) =>
    (await listed).filter((segment) => segment.kind === kind);
  return {
    size: async (kind) => (await segments(kind)).reduce((sum, { size }) => sum + size, 0),
    read: async function* (kind) {
      for (const { name } of await segments(kind)) {
        const found = await files.find(name);
        if (!found) throw new Error(`The results of ${id} are incomplete: ${name} is missing.`);
        yield* found.read();
      }
    },
  };
}
