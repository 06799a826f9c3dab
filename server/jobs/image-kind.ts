/**
 * Image jobs: jobs of one line, whose result is the images response or its error. Their input in the file store is the
 * validated query, and the files of its form. Their result there is a line with the headers of the gateway, and the
 * images response, which is sent without parsing it.
 */
import { type BorrowedBytes, copyAll } from "../lib/borrowed-bytes.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { readWithin } from "../lib/timers.ts";
import type { FilePart } from "../request/http-types.ts";
import { unreadableError } from "../request/open-body.ts";
import type { FileStore, FoundFile } from "../storage/ports/file-store.ts";
import type { JobError, StoredJob } from "../storage/sql/stored-job.ts";
import type {
  EditQuery,
  GenerationQuery,
  ImageOperation,
  ImageSource,
} from "../upstream/contract.ts";
import { chunksOf, type JobKind, type JobLine, jobErrorOf, type LineResult } from "./job-kind.ts";
import type { JobWebhook } from "./job-metadata.ts";
import { linePaths } from "./line-request.ts";
import { jobFolder } from "./segments.ts";

/** What an image job stores in its row. */
export interface ImageJobData extends JobWebhook {
  readonly operation: ImageOperation;
  readonly model: string;
  readonly publicUrl: string;
  readonly fingerprint: string;
  readonly idempotencyKey?: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** The header `vexel-tags`. */
  readonly tags?: string;
  readonly [name: string]: unknown;
}

export const imageDataOf = ({ data }: Pick<StoredJob, "data">): ImageJobData =>
  data as ImageJobData;

export const createImageKind = (files: FileStore, maxRanges: number): JobKind => ({
  name: "image",
  ranges: [{ endpoints: [linePaths.generations, linePaths.edits], max: maxRanges }],
  priority: "interactive",
  open: async ({ range: { job, reserved } }) => {
    const { operation, publicUrl, tags, fingerprint, idempotencyKey: key } = imageDataOf(job);
    const query = await readInput(files, job.id);
    if (!query)
      throw new GatewayError("job_input_missing", "The stored request of the job is missing.");
    const line: JobLine = {
      operation,
      query,
      publicUrl,
      ...(tags !== undefined && { tags }),
      ...(key !== undefined && { idempotency: { key, fingerprint } }),
      // The only line of the range.
      ...(reserved && {
        reserved: {
          nanos: reserved.nanos,
          labels: Object.keys(reserved.labels).join("\t") || null,
        },
      }),
    };
    return { lines: oneLine(line) };
  },
  format: (_, result) => formatResult(result),
  // Its client has asked for the end of this one image.
  inFlightMs: 0,
  notRun: ({ ending }) =>
    ending === "cancelled"
      ? new GatewayError("job_cancelled", "The job was canceled.")
      : new GatewayError("job_expired", "The job did not end before its deadline."),
  finish: async (job, results) => {
    await removeInput(files, job.id);
    const bytes = await results.size("output");
    if (bytes > 0) return { status: "completed", bytes };
    const error = job.error ?? readError(await copyAll(results.read("error")));
    return { status: job.ending === "cancelled" ? "cancelled" : "failed", error, bytes };
  },
});

async function* oneLine(line: JobLine): AsyncGenerator<JobLine> {
  yield line;
}

/** The response itself or, of a failure, its error with its status. */
async function* formatResult(result: LineResult): AsyncGenerator<BorrowedBytes> {
  if (result.kind === "none") {
    yield Buffer.from(JSON.stringify(jobErrorOf(result.error)));
  } else if (result.status >= 200 && result.status <= 299) {
    yield headersLine(result.headers);
    yield* chunksOf(result.body);
  } else yield Buffer.from(JSON.stringify(await errorOf(result)));
}

async function errorOf({
  status,
  body,
}: Extract<LineResult, { kind: "response" }>): Promise<JobError> {
  const text = await copyAll(chunksOf(body));
  const { error } = JSON.parse(text.toString()) as { error: Omit<JobError, "status_code"> };
  return { ...error, status_code: status };
}

const readError = (json: Buffer): JobError => JSON.parse(json.toString()) as JobError;

type ImageQuery = GenerationQuery | EditQuery;

/** A file of the query: its metadata and its name in the file store. */
interface StoredPart extends Pick<FilePart, "field" | "filename" | "type" | "size"> {
  readonly stored: string;
}

const inputName = (id: string): string => `${jobFolder(id)}/input.json`;

/** The size of the files of a query, and of its prompt: what counts against the quota of jobs. */
export const inputSize = (query: ImageQuery): number =>
  filesOf(query).reduce((sum, { size }) => sum + size, Buffer.byteLength(query.prompt));

const filesOf = (query: ImageQuery): readonly FilePart[] =>
  "images" in query
    ? [
        ...[...query.images, query.mask, query.markup].flatMap((source) =>
          source?.kind === "file" ? [source.file] : [],
        ),
        ...query.files,
      ]
    : [];

export async function writeInput(files: FileStore, id: string, query: ImageQuery): Promise<void> {
  const parts = new Map<FilePart, StoredPart>();
  for (const file of filesOf(query)) {
    const stored = `${jobFolder(id)}/file-${parts.size}`;
    await files.write(stored, file.stream(), "upload");
    const { field, filename, type, size } = file;
    parts.set(file, { field, filename, type, size, stored });
  }
  // A file is not JSON: its stored part takes its place.
  const text = JSON.stringify(query, (_, value) => parts.get(value as FilePart) ?? value);
  await files.write(inputName(id), [Buffer.from(text)], "upload");
}

/** The prompt and the files are not needed after the end of the job. */
export async function removeInput(files: FileStore, id: string): Promise<void> {
  for (const { name } of await files.list(jobFolder(id))) {
    if (name === inputName(id) || name.startsWith(`${jobFolder(id)}/file-`))
      await files.remove(name);
  }
}

/** Undefined if it does not exist. */
export async function readInput(files: FileStore, id: string): Promise<ImageQuery | undefined> {
  const found = await files.find(inputName(id));
  if (!found) return undefined;
  const query = JSON.parse(await new Response(found.read()).text()) as ImageQuery;
  if (!("images" in query)) return query;
  const open = (part: unknown): FilePart => openPart(files, part as StoredPart);
  const source = (each: ImageSource): ImageSource =>
    each.kind === "file" ? { kind: "file", file: open(each.file) } : each;
  return {
    ...query,
    images: query.images.map(source),
    ...(query.mask && { mask: source(query.mask) }),
    ...(query.markup && { markup: source(query.markup) }),
    files: query.files.map(open),
  };
}

function openPart(files: FileStore, { stored, ...part }: StoredPart): FilePart {
  async function* stream(): AsyncGenerator<Uint8Array> {
    const found = await files.find(stored);
    if (!found) throw new Error(`The file ${stored} of the job is missing.`);
    yield* found.read();
  }
  return { ...part, stream, bytes: () => new Response(stream()).bytes() };
}

export type ResultHeaders = Readonly<Record<string, string>>;

/** More than the headers of the gateway may have together, also if each character is escaped. */
const maxHeadersBytes = 16 * 1024;
const lineFeed = 10;

export const headersLine = (headers: ResultHeaders): Buffer =>
  Buffer.from(`${JSON.stringify(headers)}\n`);

/** `body`: the images response. */
export interface ImageResult {
  readonly headers: ResultHeaders;
  readonly body: FoundFile;
}

/** The longest time between two chunks of the store. */
export const stallMs = 30_000;

/** Rejects with `storage_unavailable` if the file cannot be read. */
export async function readImageResult(file: FoundFile): Promise<ImageResult> {
  const chunks = file.read(0, Math.min(file.size, maxHeadersBytes));
  const head = await copyAll(readWithin(chunks, stallMs)).catch((cause: unknown) => {
    throw unreadableError(cause);
  });
  const start = head.indexOf(lineFeed) + 1;
  const headers = JSON.parse(head.toString("utf8", 0, start)) as ResultHeaders;
  const body: FoundFile = {
    size: file.size - start,
    read: (from = 0, to = file.size - start) => file.read(start + from, start + to),
  };
  return { headers, body };
}
