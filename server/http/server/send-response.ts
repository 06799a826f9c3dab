/**
 * Sends a response with backpressure, no faster than the client reads it. The bytes that the socket accepted are
 * counted: after a response with too few or too many, the client would read the next response as the rest of this one.
 */

import { viewOf } from "../../lib/borrowed-bytes.ts";
import type {
  BodyChunk,
  BodyChunks,
  OutgoingResponse,
  StreamChunk,
  StreamedResponseBody,
} from "../../request/http-types.ts";
import type { Framing, ParsedHead } from "./parse-head.ts";
import { assembleResponse, joinParts, responseHead, type SocketWriter } from "./socket-writer.ts";

/**
 * `headerLines`: added to the head. Returns undefined if the whole response has been sent already. The promise rejects
 * if the response could not be sent to its end. A throw means that the body was neither read nor closed.
 */
export function sendResponse(
  response: OutgoingResponse,
  { method, supportsChunked }: ParsedHead,
  headerLines: string,
  writer: SocketWriter,
): Promise<void> | undefined {
  const { status, headers, body } = response;
  // These statuses have neither a body nor a length.
  const isBodiless = status === 204 || status === 304;
  const isHeadOnly = isBodiless || method === "HEAD";
  const head = (framing: Framing | undefined): string =>
    responseHead(status, headers, (isBodiless ? "" : framingHeader(framing)) + headerLines);
  if (isInMemory(body)) return sendInMemory(body, head, isHeadOnly, writer);
  const length = "length" in body ? body.length : undefined;
  const framing = length === undefined && supportsChunked ? "chunked" : length;
  const text = head(framing);
  const count = new SentCount(writer);
  const headSent = count.write(text);
  if (isHeadOnly) return sendHeadOnly(headSent, body);
  return sendChunks(headSent, body, framing, writer, count);
}

function sendInMemory(
  body: InMemoryBody,
  head: (bytes: number) => string,
  isHeadOnly: boolean,
  writer: SocketWriter,
): Promise<void> | undefined {
  const parts = isBodyChunks(body) ? body : [body];
  const small = isHeadOnly ? undefined : assembleResponse(parts, head);
  if (small) return writer.writeBuffered(small);
  const bytes = joinParts(parts);
  const text = head(bytes.length);
  return isHeadOnly ? writer.write(text) : sendBytes(text, bytes, writer);
}

function framingHeader(framing: Framing | undefined): string {
  if (framing === undefined) return "";
  return framing === "chunked"
    ? "transfer-encoding: chunked\r\n"
    : `content-length: ${framing}\r\n`;
}

async function sendBytes(head: string, bytes: Uint8Array, writer: SocketWriter): Promise<void> {
  const { length } = bytes;
  const count = new SentCount(writer);
  await count.write(head);
  if (bytes.length !== length) throw lengthMismatch(bytes.length, length);
  await count.write(bytes);
  count.check();
}

/** For HEAD, and for statuses without a body. */
async function sendHeadOnly(
  headSent: Promise<void> | undefined,
  body: OutgoingResponse["body"],
): Promise<void> {
  try {
    await headSent;
  } finally {
    await discardBody({ body });
  }
}

/** Owns the body until it is sent or has failed. */
async function sendChunks(
  headSent: Promise<void> | undefined,
  body: IteratedBody,
  framing: Framing | undefined,
  writer: SocketWriter,
  count: SentCount,
): Promise<void> {
  const streamed = "open" in body ? body : undefined;
  const iterator = "open" in body ? readStreamedBody(body) : body[Symbol.asyncIterator]();
  let complete = false;
  // Otherwise the iterator could wait forever for a chunk after the client has disconnected.
  writer.onDisconnect(() => void endIteration(iterator));
  try {
    if (headSent) await headSent;
    await sendEach(iterator, framing, count, streamed?.isInMemory ? writer : undefined);
    if (framing === "chunked") await count.write("0\r\n\r\n");
    count.check();
    complete = true;
  } finally {
    writer.onDisconnect(noop);
    writer.heldBytes = 0;
    if (!complete) await endIteration(iterator);
    await streamed?.close(complete);
  }
}

/**
 * The next chunk is requested after the last one is sent. `holder`: counts the rest of the body, which is in memory.
 * Undefined if the rest is not in memory.
 */
async function sendEach(
  iterator: AsyncIterator<StreamChunk>,
  framing: Framing | undefined,
  count: SentCount,
  holder: SocketWriter | undefined,
): Promise<void> {
  const write = framing === "chunked" ? writeChunk : writeUnframed;
  // Without an announced length, the body may have any length.
  const maxLength = typeof framing === "number" ? framing : Infinity;
  let length = 0;
  for (;;) {
    const next = await iterator.next();
    if (next.done) break;
    const value = asBodyChunk(next.value);
    if (value.length === 0) continue;
    length += Buffer.byteLength(value);
    if (length > maxLength) throw lengthMismatch(length, maxLength);
    if (holder) holder.heldBytes = maxLength - length;
    const written = write(value, count);
    if (written) await written;
    count.check();
  }
  if (typeof framing === "number" && length < framing) throw lengthMismatch(length, framing);
}

const asBodyChunk = (chunk: StreamChunk): BodyChunk =>
  typeof chunk === "string" ? chunk : viewOf(chunk);

const writeUnframed = (value: BodyChunk, count: SentCount): Promise<void> | undefined =>
  count.write(value);

function writeChunk(value: BodyChunk, count: SentCount): Promise<void> | undefined {
  const size = Buffer.byteLength(value).toString(16);
  if (typeof value === "string") return count.write(`${size}\r\n${value}\r\n`);
  if (value.length > maxCopiedBytes) return writeLargeChunk(`${size}\r\n`, value, count);
  return count.write(Buffer.concat([Buffer.from(`${size}\r\n`), value, Buffer.from("\r\n")]));
}

/**
 * Up to this size a copy costs less than a system call; above, copies would accumulate faster than they are collected.
 */
const maxCopiedBytes = 8 * 1024;

async function writeLargeChunk(size: string, value: Uint8Array, count: SentCount): Promise<void> {
  const { length } = value;
  const sizeSent = count.write(size);
  if (sizeSent) await sizeSent;
  if (value.length !== length) throw lengthMismatch(value.length, length);
  for (const part of [value, "\r\n"]) {
    const written = count.write(part);
    if (written) await written;
    count.check();
  }
}

const noop = (): void => undefined;

/** Compares the bytes that one response has written so far with the bytes that the socket accepted. */
class SentCount {
  readonly #writer: SocketWriter;
  #expected: number;

  constructor(writer: SocketWriter) {
    this.#writer = writer;
    this.#expected = writer.sentBytes + writer.unsentBytes;
  }

  write(data: BodyChunk): Promise<void> | undefined {
    this.#expected += Buffer.byteLength(data);
    return this.#writer.write(data);
  }

  /**
   * Called when nothing is unsent. Throws if the socket accepted fewer or more bytes than were written: fewer if a
   * buffer was freed before the socket had accepted it.
   */
  check(): void {
    const { sentBytes } = this.#writer;
    if (sentBytes === this.#expected) return;
    const difference = Math.abs(sentBytes - this.#expected);
    throw new Error(
      `The socket accepted ${difference} bytes ${sentBytes < this.#expected ? "fewer" : "more"} than the response has.`,
    );
  }
}

/**
 * The body length differs from the announced length: the client would read the start of the next response as the rest
 * of this one, or the rest of this one as the next response.
 */
const lengthMismatch = (length: number, announced: number): Error =>
  new Error(`A response body announced with ${announced} bytes has ${length}.`);

/** Closes a body that is not sent: the request was HEAD, or the client disconnected before the response was ready. */
export async function discardBody({ body }: Pick<OutgoingResponse, "body">): Promise<void> {
  if (isInMemory(body)) return;
  if ("open" in body) await body.close(false);
  else await body[Symbol.asyncIterator]().return?.();
}

/** A body that is sent chunk by chunk, as its chunks are read. */
type IteratedBody = StreamedResponseBody | AsyncIterable<StreamChunk>;

type InMemoryBody = Exclude<OutgoingResponse["body"], IteratedBody>;

const isInMemory = (body: OutgoingResponse["body"]): body is InMemoryBody =>
  typeof body === "string" || isBodyChunks(body) || body instanceof Uint8Array;

const isBodyChunks = (body: OutgoingResponse["body"]): body is BodyChunks => Array.isArray(body);

/** A body that cannot be opened fails like one that cannot be read. */
async function* readStreamedBody(body: StreamedResponseBody): AsyncGenerator<StreamChunk> {
  yield* body.open();
}

/** Errors of an iterator that is ended early are ignored. */
async function endIteration(iterator: AsyncIterator<unknown>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // The response has failed already.
  }
}
