/** Step 3: reads a request body once, within bounds: as JSON, or in chunks for a form. */

import { isUtf8 } from "node:buffer";
import { GatewayError } from "../lib/gateway-error.ts";
import { mayExceedDepth } from "../lib/json-scan.ts";
import { freeBuffer } from "../lib/spill-buffer.ts";
import type { RequestHeaders } from "../request/http-types.ts";
import type { BodyTimeout } from "./body-timeout.ts";
import { JsonBounds, jsonBounds } from "./json-bounds.ts";
import { incompleteBody, type RequestBody } from "./server/http-server.ts";

/** Smaller bodies cannot exceed any bound except the one on depth. */
const smallBytes = 16 * 1024;

/** Parsing a body of this size takes milliseconds, so larger ones are queued. */
const queuedBytes = 1024 * 1024;

/**
 * Bodies of at least this size count against the memory for JSON bodies; the number of connections bounds smaller ones.
 */
const countedBytes = 128 * 1024;

/** An incoming body, with the headers of its request. */
export interface IncomingBody {
  readonly headers: RequestHeaders;
  readonly body: Pick<RequestBody, "whole" | "next">;
}

/** The dependencies of reading a body: its timeout, and a counter of received bytes. */
export interface BodyContext {
  readonly timeout: BodyTimeout;
  countReceived(bytes: number): void;
}

/** The dependencies of reading a JSON body. */
export interface JsonBodyContext extends BodyContext {
  /** Reserves memory for more bytes of the body. Throws GatewayError. */
  reserveMemory(bytes: number): void;
  /** Runs the parser in a turn of the event loop in which no other large body is parsed. */
  parseInTurn<T>(parse: () => T): Promise<T>;
}

/** Most bodies arrive with their heads, and are parsed at once. */
export async function readJson(
  incoming: IncomingBody,
  maxBytes: number,
  context: JsonBodyContext,
): Promise<unknown> {
  const { headers, body: content } = incoming;
  checkType(headers.get("content-type"));
  const bytes = content.whole();
  if (!bytes) return readStreamedJson(incoming, maxBytes, context);
  context.countReceived(bytes.length);
  if (bytes.length > maxBytes) throw tooLarge(maxBytes);
  if (bytes.length >= countedBytes) context.reserveMemory(bytes.length);
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
  incoming: IncomingBody,
  maxBytes: number,
  context: JsonBodyContext,
): Promise<unknown> {
  const { headers } = incoming;
  // Otherwise a compressed body would be refused for its structure, which only the uncompressed body has.
  checkEncoding(headers);
  const bounds = new JsonBounds();
  const announced = Number(headers.get("content-length") ?? 0);
  if (announced > maxBytes) throw tooLarge(maxBytes);
  let reserved = 0;
  // Before any of it is read: a client that is refused does not have to send it.
  if (announced >= countedBytes) {
    context.reserveMemory(announced);
    reserved = announced;
  }
  const body = new GrowingBytes(announced);
  for await (const chunk of readChunks(incoming, maxBytes, context)) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
    bounds.take(bytes);
    const length = body.bytes.length + bytes.length;
    if (length > reserved && length >= countedBytes) {
      const step = Math.max(length - reserved, queuedBytes);
      context.reserveMemory(step);
      reserved += step;
    }
    body.append(bytes);
  }
  const parseBody = (): unknown => {
    const text = decode(body.bytes, headers);
    // The parser copies every string: the bytes must not wait for the garbage collector.
    freeBuffer(body.bytes.buffer);
    return parse(text, headers);
  };
  return body.bytes.length < queuedBytes ? parseBody() : context.parseInTurn(parseBody);
}

/** One buffer for all chunks of a body: separate chunks would take the same memory again when joined. */
class GrowingBytes {
  #buffer: Buffer;
  #length = 0;

  /** `expected`: the announced length; the system assigns the memory as bytes are written. */
  constructor(expected: number) {
    this.#buffer = Buffer.allocUnsafeSlow(Math.max(expected, smallBytes));
  }

  get bytes(): Buffer<ArrayBuffer> {
    return this.#buffer.subarray(0, this.#length) as Buffer<ArrayBuffer>;
  }

  append(chunk: Buffer): void {
    const length = this.#length + chunk.length;
    if (length > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(length, this.#buffer.length * 2));
      this.#buffer.copy(larger, 0, 0, this.#length);
      freeBuffer(this.#buffer.buffer);
      this.#buffer = larger;
    }
    chunk.copy(this.#buffer, this.#length);
    this.#length = length;
  }
}

function decode(bytes: Buffer, headers: RequestHeaders): string {
  if (!isUtf8(bytes)) {
    checkEncoding(headers);
    throw new GatewayError(
      "invalid_json",
      "The request body is not valid UTF-8. Encode the JSON in UTF-8.",
    );
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

/** A missing type is read as JSON, because the first clients sent none. */
function checkType(type: string | null): void {
  if (type === null || /^application\/(json|[\w.+-]+\+json)\s*(;|$)/i.test(type)) return;
  throw new GatewayError(
    "unsupported_content_type",
    `Unsupported content type: '${type.slice(0, 100)}'. This path only accepts 'application/json' requests. Please try again with a supported content type.`,
  );
}

/**
 * Called only where a body cannot be read: a compressed body is never valid JSON, and other requests save the check.
 */
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
    `The request body is larger than the maximum of ${maxBytes} bytes.`,
  );

/** Yields the chunks of the body, up to `maxBytes`. If the consumer stops early, the connection discards the rest. */
export async function* readChunks(
  { headers, body: content }: IncomingBody,
  maxBytes: number,
  context: BodyContext,
): AsyncGenerator<Uint8Array> {
  if (Number(headers.get("content-length") ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const progress = { bytes: 0, waitedMs: 0 };
  for (;;) {
    const chunk = await context.timeout.wait(content.next(), identity, toIncompleteBody, progress);
    if (!chunk) return;
    progress.bytes += chunk.length;
    context.countReceived(chunk.length);
    if (progress.bytes > maxBytes) throw tooLarge(maxBytes);
    yield chunk;
  }
}

const identity = <T>(value: T): T => value;

const toIncompleteBody = (error: unknown): GatewayError =>
  error instanceof GatewayError ? error : incompleteBody(error);
