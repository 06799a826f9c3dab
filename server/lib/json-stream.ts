/**
 * Streams JSON with long strings that are not in memory, chunk by chunk. The total length is known before the first
 * chunk.
 */
import { type BorrowedBytes, type BorrowedChunks, joinCopies, viewOf } from "./borrowed-bytes.ts";

/** Each `open` reads the body from its first chunk. */
export interface StreamedJson {
  readonly length: number;
  open(): BorrowedChunks;
  /** The chunks are in memory. Until they are sent, they count as unread bytes of the client. */
  readonly isInMemory?: true;
}

/** Placeholder in a JSON value for a string that is read while the JSON is written. Its characters need no escaping. */
export class StreamedString implements StreamedJson {
  /** Length in characters, without quotes. */
  readonly length: number;
  readonly open: () => BorrowedChunks;
  /** Written before the streamed characters, within the same string: such as `data:image/png;base64,`. */
  readonly prefix: string;
  /** Written after the streamed characters, within the same string: such as the padding of base64. */
  readonly suffix: string;

  constructor(
    length: number,
    open: () => BorrowedChunks,
    { prefix = "", suffix = "" }: Partial<Pick<StreamedString, "prefix" | "suffix">> = {},
  ) {
    this.length = length;
    this.open = open;
    this.prefix = prefix;
    this.suffix = suffix;
  }
}

/** As JSON.stringify. Returns a string if the value contains no StreamedString. */
export function stringifyStreamed(value: unknown): string | StreamedJson {
  const texts: StreamedString[] = [];
  const mark = crypto.randomUUID();
  const json = JSON.stringify(value, (_, entry: unknown) => {
    if (!(entry instanceof StreamedString)) return entry;
    texts.push(entry);
    return entry.prefix + mark + entry.suffix;
  });
  if (texts.length === 0) return json;
  const chunks = json.split(mark).map((chunk) => Buffer.from(chunk));
  const length = [...chunks, ...texts].reduce((sum, chunk) => sum + chunk.length, 0);
  return { length, open: () => interleave(chunks, texts) };
}

async function* interleave(
  chunks: readonly Uint8Array[],
  texts: readonly StreamedString[],
): AsyncGenerator<BorrowedBytes> {
  for (const [at, chunk] of chunks.entries()) {
    yield chunk;
    const text = texts[at];
    if (text) yield* text.open();
  }
}

/** The JSON between two strings. */
export function wrapJson(
  before: string,
  json: string | StreamedJson,
  after: string,
): string | StreamedJson {
  if (typeof json === "string") return before + json + after;
  const head = Buffer.from(before);
  const tail = Buffer.from(after);
  async function* open(): AsyncGenerator<BorrowedBytes> {
    yield head;
    yield* (json as StreamedJson).open();
    yield tail;
  }
  return { length: head.length + json.length + tail.length, open };
}

/** The length of `bytes` bytes in base64. */
export const base64Length = (bytes: number): number => 4 * Math.ceil(bytes / 3);

/** Encodes a stream as base64: three bytes make four characters, and an incomplete group waits for the next chunk. */
export async function* encodeBase64Stream(chunks: BorrowedChunks): AsyncGenerator<BorrowedBytes> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const { buffer, byteOffset, length } = viewOf(chunk);
    const bytes =
      rest.length > 0 ? joinCopies([rest, chunk]) : Buffer.from(buffer, byteOffset, length);
    const whole = bytes.length - (bytes.length % 3);
    if (whole > 0) yield Buffer.from(bytes.toString("base64", 0, whole), "latin1");
    rest = Buffer.from(bytes.subarray(whole));
  }
  if (rest.length > 0) yield Buffer.from(rest.toString("base64"), "latin1");
}
