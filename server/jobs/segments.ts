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

export const isOutput = ({ name }: { readonly name: string }): boolean =>
  namePattern.exec(name)?.[4] === "output";

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

export function resultsOf(files: FileStore, id: string): JobResults {
  const listed = files.list(jobFolder(id));
  const segments = async (kind: SegmentKind) =>
    (await listed).filter(({ name }) => namePattern.exec(name)?.[4] === kind);
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
