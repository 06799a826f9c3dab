/** Step 3: a body, read once and bounded; as JSON, or as it comes for a form. */

import { isUtf8 } from "node:buffer";
import { GatewayError } from "../lib/gateway-error.ts";
import { mayExceedDepth } from "../lib/json-scan.ts";
import { freeBuffer } from "../lib/spill-buffer.ts";
import type { RequestHeaders } from "../request/http-types.ts";
import type { BodyTimeout } from "./body-timeout.ts";
import { JsonBounds, jsonBounds } from "./json-bounds.ts";
import { incompleteBody, type RequestBody } from "./server/request-body.ts";

/** Smaller bodies have no room to pass any other bound than that on levels. */
const smallBytes = 16 * 1024;

/** Parsing a body of this size takes milliseconds. */
const queuedBytes = 1024 * 1024;

/** Bodies of this size and more count against the memory for JSON bodies; smaller ones are bounded by the number of connections. */
const countedBytes = 128 * 1024;

/** A body that is coming, and what was said of it. */
export interface IncomingBody {
  readonly headers: RequestHeaders;
  readonly body: Pick<RequestBody, "whole" | "next">;
}

/** How a body is taken in: how long to wait for more of it, and who counts what came. */
export interface BodyContext {
  readonly timeout: BodyTimeout;
  countReceived(bytes: number): void;
}

/** How a JSON body is taken in. */
export interface JsonBodyContext extends BodyContext {
  /** Takes memory for so many more bytes of the body. Throws GatewayError. */
  reserveMemory(bytes: number): void;
  /** Runs the parser in a turn of the event loop in which no other large body is parsed. */
  parseInTurn<T>(parse: () => T): Promise<T>;
}

/** A promise only where more of it has to come: most bodies come with their heads. */
export function readJson(
  arriving: IncomingBody,
  maxBytes: number,
  reception: JsonBodyContext,
): unknown {
  const { headers, body: content } = arriving;
  checkType(headers.get("content-type"));
  const bytes = content.whole();
  if (!bytes) return readStreamedJson(arriving, maxBytes, reception);
  reception.countReceived(bytes.length);
  if (bytes.length > maxBytes) throw tooLarge(maxBytes);
  if (bytes.length >= countedBytes) reception.reserveMemory(bytes.length);
  if (bytes.length >= smallBytes) {
    checkEncoding(headers);
    new JsonBounds().take(bytes);
    return parse(decode(bytes, headers), headers);
  }
  const text = decode(bytes, headers);
  if (mayExceedDepth(text, jsonBounds.depth)) new JsonBounds().take(bytes);
  return parse(text, headers);
}

async function readStreamedJson(
  arriving: IncomingBody,
  maxBytes: number,
  reception: JsonBodyContext,
): Promise<unknown> {
  const { headers } = arriving;
  // Compressed bytes would be refused for a structure that they do not have.
  checkEncoding(headers);
  const bounds = new JsonBounds();
  const announced = Number(headers.get("content-length") ?? 0);
  if (announced > maxBytes) throw tooLarge(maxBytes);
  let taken = 0;
  // Before any of it is read: a client that is refused need not send it.
  if (announced >= countedBytes) {
    reception.reserveMemory(announced);
    taken = announced;
  }
  const body = new GrowingBytes(announced);
  for await (const piece of readChunks(arriving, maxBytes, reception)) {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.length);
    bounds.take(bytes);
    const length = body.bytes.length + bytes.length;
    if (length > taken && length >= countedBytes) {
      const step = Math.max(length - taken, queuedBytes);
      reception.reserveMemory(step);
      taken += step;
    }
    body.append(bytes);
  }
  const parseBody = (): unknown => {
    const text = decode(body.bytes, headers);
    // The parser makes a second copy of every text: the first must not wait for the garbage collector.
    freeBuffer(body.bytes.buffer);
    return parse(text, headers);
  };
  return body.bytes.length < queuedBytes ? parseBody() : reception.parseInTurn(parseBody);
}

/** One buffer that holds all pieces of a body: kept as pieces, they would take the same memory again when joined. */
class GrowingBytes {
  #buffer: Buffer;
  #length = 0;

  /** `expected`: how many bytes are announced; their memory is taken as they come. */
  constructor(expected: number) {
    this.#buffer = Buffer.allocUnsafeSlow(Math.max(expected, smallBytes));
  }

  get bytes(): Buffer<ArrayBuffer> {
    return this.#buffer.subarray(0, this.#length) as Buffer<ArrayBuffer>;
  }

  append(piece: Buffer): void {
    const length = this.#length + piece.length;
    if (length > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(length, this.#buffer.length * 2));
      this.#buffer.copy(larger, 0, 0, this.#length);
      freeBuffer(this.#buffer.buffer);
      this.#buffer = larger;
    }
    piece.copy(this.#buffer, this.#length);
    this.#length = length;
  }
}

function decode(bytes: Buffer, headers: RequestHeaders): string {
  if (!isUtf8(bytes)) {
    checkEncoding(headers);
    throw new GatewayError("invalid_json", "The body is not valid UTF-8.");
  }
  // A byte order mark is not part of the text.
  const isMarked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return bytes.toString("utf8", isMarked ? 3 : 0);
}

function parse(text: string, headers: RequestHeaders): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    checkEncoding(headers);
    throw new GatewayError(
      "invalid_json",
      `We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. The gateway expects a JSON payload, but what was sent was not valid JSON${text === "" ? ": the body was empty" : ""}.)`,
      { cause },
    );
  }
}

/** No type at all is taken for JSON, as the clients of the first days sent none. */
function checkType(type: string | null): void {
  if (type === null || /^application\/(json|[\w.+-]+\+json)\s*(;|$)/i.test(type)) return;
  throw new GatewayError(
    "unsupported_content_type",
    `Unsupported content type: '${type.slice(0, 100)}'. This path only accepts 'application/json' requests. Please try again with a supported content type.`,
  );
}

/** Looked at only where a body cannot be read: a compressed one never is JSON, and most calls need not pay for the look. */
export function checkEncoding(headers: RequestHeaders): void {
  const encoding = headers.get("content-encoding");
  if (encoding === null || /^\s*(identity\s*)?$/i.test(encoding)) return;
  throw new GatewayError(
    "unsupported_content_type",
    `Unsupported content encoding: '${encoding.slice(0, 100)}'. The body must be sent uncompressed, without the header 'content-encoding'. Please switch off the compression of requests in your HTTP library.`,
  );
}

const tooLarge = (maxBytes: number): GatewayError =>
  new GatewayError(
    "request_too_large",
    `The body is larger than the ${maxBytes} bytes that are allowed here.`,
  );

/** The body as it comes, bounded. Whoever stops early leaves the rest to the connection, which passes over it. */
export async function* readChunks(
  { headers, body: content }: IncomingBody,
  maxBytes: number,
  reception: BodyContext,
): AsyncGenerator<Uint8Array> {
  if (Number(headers.get("content-length") ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const progress = { bytes: 0, waitedMs: 0 };
  for (;;) {
    const piece = await reception.timeout.wait(content.next(), itself, cutShort, progress);
    if (!piece) return;
    progress.bytes += piece.length;
    reception.countReceived(piece.length);
    if (progress.bytes > maxBytes) throw tooLarge(maxBytes);
    yield piece;
  }
}

const itself = <T>(value: T): T => value;

const cutShort = (error: unknown): GatewayError =>
  error instanceof GatewayError ? error : incompleteBody(error);
