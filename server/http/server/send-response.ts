/**
 * Step 14: writes a response, no faster than the client reads it. The bytes that the socket took are counted: after a
 * response with too few or too many, the client would read the next response as the rest of this one.
 */
import type { BodyChunks, OutgoingResponse, StreamedBody } from "../../request/http-types.ts";
import type { Framing, RequestHead } from "./parse-head.ts";
import { responseHead } from "./response-head.ts";
import { assembleResponse, type BufferedResponse, joinParts } from "./write-buffer.ts";

/** Where a response is written to. */
export interface ResponseWriter {
  /** Bytes that the socket has taken, of all responses. */
  readonly sentBytes: number;
  /** Bytes that it has not taken yet. */
  readonly unsentBytes: number;
  /** Nothing where all of it was taken at once. Rejects when the client has left. */
  write(data: string | Uint8Array): Promise<void> | undefined;
  /** The same, off the desk. */
  writeBuffered(data: BufferedResponse): Promise<void> | undefined;
  /** Calls back when the client has left, perhaps at once. */
  onDisconnect(then: () => void): void;
}

/**
 * `more`: lines for the head. Returns nothing where all has left already. Rejects where it could not leave to its end. A
 * throw means that nothing of the body was taken, and that it was not closed.
 */
export function sendResponse(
  { status, headers, body }: OutgoingResponse,
  { method, supportsChunked: knowsChunks }: RequestHead,
  more: string,
  wire: ResponseWriter,
): Promise<void> | undefined {
  const bare = status === 204 || status === 304;
  const silent = bare || method === "HEAD";
  if (typeof body === "string" || isBodyParts(body) || body instanceof Uint8Array) {
    const parts = isBodyParts(body) ? body : [body];
    const head = (bytes: number): string =>
      responseHead(status, headers, (bare ? "" : `content-length: ${bytes}\r\n`) + more);
    const small = silent ? undefined : assembleResponse(parts, head);
    if (small) return wire.writeBuffered(small);
    const bytes = joinParts(parts);
    const text = head(bytes.length);
    return silent ? wire.write(text) : sendBytes(text, bytes, wire);
  }
  const length = lengthOf(body);
  const framed = length === undefined && knowsChunks;
  const framing = framed ? "transfer-encoding: chunked\r\n" : "";
  const told = length === undefined ? framing : `content-length: ${length}\r\n`;
  const text = responseHead(status, headers, (bare ? "" : told) + more);
  const list = !silent && isBodySource(body) ? body.chunksInMemory?.() : undefined;
  const source = silent || list ? undefined : chunkSource(body);
  const count = new SentCount(wire);
  const begun = count.write(text);
  if (!source)
    return list && isBodySource(body)
      ? sendFromMemory(begun, list, body, count)
      : sendHeadOnly(begun, body);
  return sendChunks(begun, source, framed ? "chunked" : length, wire, count);
}

/** What one response should have put on the wire so far, held against what the socket took. */
class SentCount {
  readonly #wire: ResponseWriter;
  #expected: number;

  constructor(wire: ResponseWriter) {
    this.#wire = wire;
    this.#expected = wire.sentBytes + wire.unsentBytes;
  }

  write(data: string | Uint8Array): Promise<void> | undefined {
    this.#expected += Buffer.byteLength(data);
    return this.#wire.write(data);
  }

  /** Where nothing is unsent. Throws when bytes are missing: a buffer was released before the socket had taken it. */
  check(): void {
    const { sentBytes } = this.#wire;
    if (sentBytes === this.#expected) return;
    const bytes = `${sentBytes - this.#expected}`;
    throw new Error(`The bytes of a response do not add up: ${bytes} beside what was announced.`);
  }
}

async function sendBytes(head: string, bytes: Uint8Array, wire: ResponseWriter): Promise<void> {
  const { length } = bytes;
  const count = new SentCount(wire);
  await count.write(head);
  if (bytes.length !== length) throw lengthMismatch(bytes.length, length);
  await count.write(bytes);
  count.check();
}

/** The client asked for the head alone. */
async function sendHeadOnly(
  begun: Promise<void> | undefined,
  body: OutgoingResponse["body"],
): Promise<void> {
  try {
    await begun;
  } finally {
    await discardBody({ body });
  }
}

/** The caller takes no body, or has left before there was one: whoever makes it is told that nobody takes it. */
export async function discardBody({ body }: Pick<OutgoingResponse, "body">): Promise<void> {
  if (typeof body === "string" || isBodyParts(body)) return;
  if (body instanceof Uint8Array || body instanceof Blob) return;
  if (isBodySource(body)) await body.close(false);
  else await body[Symbol.asyncIterator]().return?.();
}

type Body = Exclude<OutgoingResponse["body"], string | BodyChunks | Uint8Array>;

const isBodyParts = (body: OutgoingResponse["body"]): body is BodyChunks => Array.isArray(body);

const isBodySource = (body: Body): body is StreamedBody => "open" in body;

function lengthOf(body: Body): number | undefined {
  if (body instanceof Blob) return body.size;
  return "length" in body ? body.length : undefined;
}

/** A source of pieces, and who is told how it ended. */
interface ChunkSource {
  readonly iterator: AsyncIterator<string | Uint8Array>;
  end(complete: boolean): Promise<void>;
}

/** A body in memory is not read piece by piece. */
async function sendFromMemory(
  begun: Promise<void> | undefined,
  list: readonly Uint8Array[],
  body: StreamedBody,
  count: SentCount,
): Promise<void> {
  let complete = false;
  try {
    const length = list.reduce((sum, piece) => sum + piece.length, 0);
    if (length !== body.length) throw lengthMismatch(length, body.length);
    if (begun) await begun;
    let sent = 0;
    for (const piece of list) {
      sent += piece.length;
      const put = count.write(piece);
      if (put) await put;
      count.check();
    }
    if (sent !== length) throw lengthMismatch(sent, length);
    complete = true;
  } finally {
    await body.close(complete);
  }
}

const chunkSource = (body: Body): ChunkSource =>
  isBodySource(body) ? bodySourceChunks(body) : iterableChunks(body);

function bodySourceChunks(body: StreamedBody): ChunkSource {
  return { iterator: readBodySource(body), end: (all) => body.close(all) };
}

/** One that cannot be opened fails as one that cannot be read. */
async function* readBodySource(body: StreamedBody): AsyncGenerator<Uint8Array> {
  yield* body.open();
}

function iterableChunks(body: AsyncIterable<string | Uint8Array> | Blob): ChunkSource {
  const iterable: AsyncIterable<string | Uint8Array> =
    body instanceof Blob ? body.stream() : (body as AsyncIterable<string | Uint8Array>);
  return { iterator: iterable[Symbol.asyncIterator](), end: async () => undefined };
}

/** A piece lives only until the next is asked for, so none is asked for before the last has left. */
async function sendChunks(
  begun: Promise<void> | undefined,
  { iterator, end }: ChunkSource,
  framing: Framing | undefined,
  wire: ResponseWriter,
  count: SentCount,
): Promise<void> {
  const framed = framing === "chunked";
  let complete = false;
  let length = 0;
  // Whoever waits for a piece that never comes would wait for ever.
  wire.onDisconnect(() => void endIteration(iterator));
  try {
    if (begun) await begun;
    for (;;) {
      const { done, value } = await iterator.next();
      if (done) break;
      if (value.length === 0) continue;
      length += Buffer.byteLength(value);
      if (typeof framing === "number" && length > framing) throw lengthMismatch(length, framing);
      const put = framed ? writeChunk(value, count) : count.write(value);
      if (put) await put;
      count.check();
    }
    if (typeof framing === "number" && length < framing) throw lengthMismatch(length, framing);
    const last = framed ? count.write("0\r\n\r\n") : undefined;
    if (last) await last;
    count.check();
    complete = true;
  } finally {
    wire.onDisconnect(noop);
    if (!complete) await endIteration(iterator);
    await end(complete);
  }
}

function writeChunk(value: string | Uint8Array, count: SentCount): Promise<void> | undefined {
  const size = Buffer.byteLength(value).toString(16);
  if (typeof value === "string") return count.write(`${size}\r\n${value}\r\n`);
  if (value.length > maxCopiedBytes) return writeLargeChunk(`${size}\r\n`, value, count);
  return count.write(Buffer.concat([Buffer.from(`${size}\r\n`), value, Buffer.from("\r\n")]));
}

/** Up to here a copy costs less than a call to the system; above, copies would pile up faster than they are collected. */
const maxCopiedBytes = 8 * 1024;

async function writeLargeChunk(size: string, value: Uint8Array, count: SentCount): Promise<void> {
  const { length } = value;
  const begun = count.write(size);
  if (begun) await begun;
  if (value.length !== length) throw lengthMismatch(value.length, length);
  for (const part of [value, "\r\n"]) {
    const put = count.write(part);
    if (put) await put;
    count.check();
  }
}

/** The client would read the next response as the rest of this one, or the rest as the next. */
const lengthMismatch = (length: number, said: number): Error =>
  new Error(`A response body of ${said} bytes turned out to have ${length}.`);

const noop = (): void => undefined;

/** What a source has to say when it is let go interests nobody any more. */
async function endIteration(iterator: AsyncIterator<unknown>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // It ended in the way it would have ended anyhow.
  }
}
