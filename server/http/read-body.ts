/**
 * Reads a request body once, as JSON or in chunks for a form. A body above the body size limit is refused with 413, and
 * another content type or encoding with 415. Validates a JSON body against its schema.
 */

import { isAscii, isUtf8 } from "node:buffer";
import type { z } from "zod";
import { viewOf } from "../lib/borrowed-bytes.ts";
import { GrowingBytes, lendEach } from "../lib/byte-memory.ts";
import { cutDataUrls } from "../lib/cut-inline-images.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { jsonBounds, parsedMemory, scanWithinBounds, smallBytes } from "../lib/json-bounds.ts";
import { JsonScan, mayExceedDepth } from "../lib/json-scan.ts";
import { nextTurn, runInSteps, type Serialize } from "../lib/tasks.ts";
import type { RequestHeaders } from "../request/http-types.ts";
import type { BodyTimeout } from "./body-timeout.ts";
import { incompleteBody, type RequestBody } from "./server/http-server.ts";
import { validationError } from "./validation-error.ts";

/** Parsing a body that takes this much memory takes milliseconds: other requests are served before and after it. */
const largeBytes = 1024 * 1024;

/** The memory of a body without an announced length is reserved in steps of at least this size. */
const reservedBytes = 1024 * 1024;

/**
 * Bodies that take at least this much memory count against the memory for JSON bodies; the number of connections bounds
 * smaller ones.
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
  /** Large bodies are parsed one after the other. */
  readonly parseInTurn: Serialize;
}

/** The maximum size of a JSON body. */
interface JsonLimits {
  /** The JSON text, without long `data:` URLs. */
  readonly maxTextBytes: number;
  /** Long `data:` URLs together. */
  readonly maxDataUrlBytes: number;
  /** The setting of `maxTextBytes`. If absent, the endpoint has a limit of its own. */
  readonly textSetting?: string | undefined;
  /** The setting of `maxDataUrlBytes`. If absent, such URLs count as text. */
  readonly dataUrlSetting?: string | undefined;
}

/** Most bodies arrive with their heads, and are parsed at once. */
export async function readJson(
  incoming: IncomingBody,
  limits: JsonLimits,
  context: JsonBodyContext,
): Promise<unknown> {
  const { headers, body } = incoming;
  checkType(headers.get("content-type"));
  const bytes = body.whole();
  if (!bytes) return readStreamedJson(incoming, limits, context);
  context.countReceived(bytes.length);
  if (bytes.length > limits.maxTextBytes) throw tooLarge(limits.maxTextBytes, limits.textSetting);
  if (bytes.length >= smallBytes) {
    checkEncoding(headers);
    const scan = new JsonScan();
    scanWithinBounds(bytes, scan);
    const memory = parsedMemory(bytes.length, scan);
    if (memory >= countedBytes) context.reserveMemory(memory);
    return parseJson(decode(bytes, headers), headers);
  }
  const text = decode(bytes, headers);
  if (mayExceedDepth(text, jsonBounds.depth)) scanWithinBounds(bytes);
  return parseJson(text, headers);
}

async function readStreamedJson(
  incoming: IncomingBody,
  { maxTextBytes, maxDataUrlBytes, textSetting, dataUrlSetting = textSetting }: JsonLimits,
  context: JsonBodyContext,
): Promise<unknown> {
  const { headers } = incoming;
  const maxBytes = maxTextBytes + maxDataUrlBytes;
  // Checked first: otherwise the bounds on the JSON structure would refuse a compressed body, with a misleading error.
  checkEncoding(headers);
  const announced = Number(headers.get("content-length") ?? 0);
  if (announced > maxBytes) throw tooLarge(maxBytes, dataUrlSetting);
  const reserve = memoryReserver(announced > 0 ? 0 : reservedBytes, context);
  // Memory is reserved before the body is read: a client that is refused does not have to send the body.
  reserve(announced);
  const scan = new JsonScan();
  // JavaScriptCore stores a text with two bytes per character if one of them is not Latin-1.
  let bytesPerCharacter = 1;
  let memory = 0;
  using received = new GrowingBytes(announced);
  for await (const chunk of lendEach(readBodyChunks(incoming, maxBytes, context, dataUrlSetting))) {
    scanWithinBounds(chunk, scan);
    received.append(chunk);
    if (!isAscii(viewOf(chunk))) bytesPerCharacter = 2;
    memory = parsedMemory(received.length * bytesPerCharacter, scan);
    reserve(memory);
  }
  const parse = function* (): Generator<void, unknown> {
    const { json, restore } = yield* cutDataUrls(received.bytes);
    if (json.length > maxTextBytes) throw tooLarge(maxTextBytes, textSetting);
    const text = decode(json, headers);
    // The parser needs only the text: the body is not in memory a third time.
    received[Symbol.dispose]();
    if (memory >= largeBytes) yield;
    return restore(parseJson(text, headers));
  };
  // Awaited here: `using` frees the bytes when the function ends.
  if (memory < largeBytes) return await runInSteps(parse());
  return await context.parseInTurn(async () => {
    const value = await runInSteps(parse());
    await nextTurn();
    return value;
  });
}

/** Returns a function that reserves the memory that a body takes so far, in steps of at least `minStep` bytes. */
function memoryReserver(minStep: number, context: JsonBodyContext): (memory: number) => void {
  let reserved = 0;
  return (memory) => {
    if (memory <= reserved || memory < countedBytes) return;
    const step = Math.max(memory - reserved, minStep);
    context.reserveMemory(step);
    reserved += step;
  };
}

function invalidUtf8(headers: RequestHeaders): GatewayError {
  checkEncoding(headers);
  return new GatewayError(
    "invalid_json",
    "The request body is not valid UTF-8. Encode the JSON in UTF-8.",
  );
}

function decode(bytes: Buffer, headers: RequestHeaders): string {
  if (!isUtf8(bytes)) throw invalidUtf8(headers);
  // A byte order mark is not part of the text.
  const hasByteOrderMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return bytes.toString("utf8", hasByteOrderMark ? 3 : 0);
}

function parseJson(text: string, headers: RequestHeaders): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw invalidJson(cause, headers, text === "" ? ": the body was empty" : "");
  }
}

function invalidJson(cause: unknown, headers: RequestHeaders, reason = ""): GatewayError {
  checkEncoding(headers);
  return new GatewayError(
    "invalid_json",
    `We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. The gateway expects a JSON payload, but what was sent was not valid JSON${reason}.)`,
    { cause },
  );
}

/**
 * A null member counts as absent. Some SDKs send null for every option that is not set, and many upstreams refuse it.
 */
export function bodyWithoutNulls(body: unknown): Record<string, unknown> {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw new GatewayError(
      "invalid_json",
      'The body must be a JSON object, such as {"model": "..."}.',
    );
  }
  const fields = body as Record<string, unknown>;
  for (const name in fields) {
    if (fields[name] === null) {
      return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
    }
  }
  return fields;
}

/** Validates the members of a body, or the parameters of a query. Throws GatewayError for the first issue. */
export function validate<S extends z.ZodType>(
  schema: S,
  value: Readonly<Record<string, unknown>>,
): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw validationError(result.error, value, schema);
}

const jsonType = /^application\/(json|[\w.+-]+\+json)\s*(;|$)/i;

/** A body without a content type is read as JSON: some clients send none. */
function checkType(type: string | null): void {
  if (type === null || jsonType.test(type)) return;
  throw new GatewayError(
    "unsupported_content_type",
    `Unsupported content type: '${type.slice(0, 100)}'. This path only accepts 'application/json' requests. Please try again with a supported content type.`,
  );
}

/**
 * Throws if the body is compressed according to its headers. A small JSON body is checked only if it cannot be parsed:
 * a body that parses as JSON is not compressed, so most requests need no check.
 */
export function checkEncoding(headers: RequestHeaders): void {
  const encoding = headers.get("content-encoding");
  if (encoding === null || /^\s*(identity\s*)?$/i.test(encoding)) return;
  throw new GatewayError(
    "unsupported_content_type",
    `Unsupported content encoding: '${encoding.slice(0, 100)}'. The body must be sent uncompressed, without the header 'content-encoding'. Please switch off the compression of requests in your HTTP library.`,
  );
}

const tooLarge = (maxBytes: number, setting: string | undefined): GatewayError => {
  const advice =
    setting === undefined ? "" : ` The operator of the gateway can raise it with ${setting}.`;
  return new GatewayError(
    "request_too_large",
    `The request body is larger than the maximum of ${maxBytes} bytes.${advice}`,
  );
};

/**
 * `setting`: the setting of `maxBytes`. Yields the chunks of the body, up to `maxBytes`. If the consumer stops early,
 * the connection discards the rest.
 */
export async function* readBodyChunks(
  { headers, body }: IncomingBody,
  maxBytes: number,
  context: BodyContext,
  setting?: string,
): AsyncGenerator<Uint8Array> {
  if (Number(headers.get("content-length") ?? 0) > maxBytes) throw tooLarge(maxBytes, setting);
  const progress = { bytes: 0, waitedMs: 0 };
  for (;;) {
    const chunk = await context.timeout.wait(body.next(), toIncompleteBody, progress);
    if (!chunk) return;
    progress.bytes += chunk.length;
    context.countReceived(chunk.length);
    if (progress.bytes > maxBytes) throw tooLarge(maxBytes, setting);
    yield chunk;
  }
}

const toIncompleteBody = (error: unknown): GatewayError =>
  error instanceof GatewayError ? error : incompleteBody(error);
