/**
 * The stored result of an image job: a line with the headers of the gateway, and the images response, which is sent
 * without parsing it.
 */
import { copyAll } from "../lib/borrowed-bytes.ts";
import { readWithin } from "../lib/timers.ts";
import { unreadableError } from "../request/open-body.ts";
import type { FoundFile } from "../storage/ports/file-store.ts";

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
