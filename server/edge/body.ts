/** Step 3: a body, read once and bounded; as JSON, or as it comes for a form. */

import type { Fields } from "../gateway/incoming.ts";
import { GatewayError } from "../std/gateway-error.ts";
import type { Content } from "./http/content.ts";
import type { Patience } from "./patience.ts";

/** No call has any use for more. Printing what is nested tens of thousands deep would overflow the stack. */
const maxDepth = 128;

const manyPieces = 4096;

/** A body that is coming, and what was said of it. */
export interface Arriving {
  readonly headers: Fields;
  readonly content: Pick<Content, "whole" | "next">;
}

/** How a body is taken in: how long to wait for more of it, and who counts what came. */
export interface Reception {
  readonly patience: Patience;
  count(bytes: number): void;
}

/** A promise only where more of it has to come: most bodies come with their heads. */
export function readJson(arriving: Arriving, maxBytes: number, reception: Reception): unknown {
  const { headers, content } = arriving;
  checkType(headers.get("content-type"));
  const bytes = content.whole();
  if (!bytes) return readLater(arriving, maxBytes, reception);
  reception.count(bytes.length);
  if (bytes.length > maxBytes) throw tooLarge(maxBytes);
  return read(bytes, headers);
}

async function readLater(
  arriving: Arriving,
  maxBytes: number,
  reception: Reception,
): Promise<unknown> {
  const heaps: Buffer[] = [];
  const pieces: Uint8Array[] = [];
  for await (const piece of readChunks(arriving, maxBytes, reception)) {
    pieces.push(piece);
    // Crumbs are swept up, or each would take more room than it holds.
    if (pieces.length === manyPieces) heaps.push(Buffer.concat(pieces.splice(0)));
  }
  return read(Buffer.concat([...heaps, ...pieces]), arriving.headers);
}

function read(bytes: Buffer, headers: Fields): unknown {
  const text = decoded(bytes, headers);
  const value = parse(text, headers);
  if (mayBeDeep(text) && isDeep(value)) {
    throw new GatewayError("invalid_json", `The body is nested more than ${maxDepth} levels deep.`);
  }
  return value;
}

const decoder = new TextDecoder("utf-8", { fatal: true });
/** Stands for what could not be decoded, and now and then for itself. */
const replacement = "\ufffd";
const byteOrderMark = "\ufeff";

/** The decoder that refuses costs more than one that replaces, so it is asked where something was replaced. */
function decoded(bytes: Buffer, headers: Fields): string {
  const text = bytes.toString("utf8");
  if (!text.includes(replacement) && !text.startsWith(byteOrderMark)) return text;
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    checkEncoding(headers);
    throw new GatewayError("invalid_json", "The body is not valid UTF-8.", { cause });
  }
}

function parse(text: string, headers: Fields): unknown {
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
export function checkEncoding(headers: Fields): void {
  const encoding = headers.get("content-encoding");
  if (encoding === null || /^\s*(identity\s*)?$/i.test(encoding)) return;
  throw new GatewayError(
    "unsupported_content_type",
    `Unsupported content encoding: '${encoding.slice(0, 100)}'. The body must be sent uncompressed, without the header 'content-encoding'. Please switch off the compression of requests in your HTTP library.`,
  );
}

/** What has few brackets is not deep; that much can be seen without looking at the value. */
function mayBeDeep(text: string): boolean {
  let brackets = 0;
  for (const sign of ["[", "{"]) {
    for (let at = text.indexOf(sign); at >= 0; at = text.indexOf(sign, at + 1)) {
      if (++brackets > maxDepth) return true;
    }
  }
  return false;
}

function isDeep(value: unknown): boolean {
  let level = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth) return true;
    const below: unknown[] = [];
    for (const parent of level) {
      if (typeof parent !== "object" || parent === null) continue;
      const children: readonly unknown[] = Array.isArray(parent) ? parent : Object.values(parent);
      for (const child of children) if (typeof child === "object") below.push(child);
    }
    level = below;
  }
  return false;
}

const tooLarge = (maxBytes: number): GatewayError =>
  new GatewayError(
    "request_too_large",
    `The body is larger than the ${maxBytes} bytes that are allowed here.`,
  );

/** The body as it comes, bounded. Whoever stops early leaves the rest to the connection, which passes over it. */
export async function* readChunks(
  { headers, content }: Arriving,
  maxBytes: number,
  reception: Reception,
): AsyncGenerator<Uint8Array> {
  if (Number(headers.get("content-length") ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const progress = { bytes: 0, waitedMs: 0 };
  for (;;) {
    const piece = await reception.patience.wait(content.next(), itself, cutShort, progress);
    if (!piece) return;
    progress.bytes += piece.length;
    reception.count(piece.length);
    if (progress.bytes > maxBytes) throw tooLarge(maxBytes);
    yield piece;
  }
}

const itself = <T>(value: T): T => value;

const cutShort = (error: unknown): GatewayError =>
  error instanceof GatewayError
    ? error
    : new GatewayError("incomplete_body", "The body ended before it was complete.", {
        cause: error,
      });
