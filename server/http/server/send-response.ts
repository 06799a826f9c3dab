/**
 * Step 14: sends a response with backpressure, no faster than the client reads it. The bytes that the socket accepted
 * are counted: after a response with too few or too many, the client would read the next response as the rest of this
 * one.
 */
import type { OutgoingResponse, StreamedBody } from "../../request/http-types.ts";
import type { Framing, RequestHead } from "./parse-head.ts";
import {
  chunkSource,
  discardBody,
  isBodyChunks,
  isStreamedBody,
  lengthOf,
} from "./response-body.ts";
import { responseHead } from "./response-head.ts";
import { lengthMismatch, type ResponseWriter, SentCount } from "./response-writer.ts";
import { sendChunks } from "./send-chunks.ts";
import { assembleResponse, joinParts } from "./write-buffer.ts";

/**
 * `headerLines`: added to the head. Returns undefined where the whole response is sent already. Rejects where it could
 * not be sent to its end. A throw means that the body was neither read nor closed.
 */
export function sendResponse(
  { status, headers, body }: OutgoingResponse,
  { method, supportsChunked }: RequestHead,
  headerLines: string,
  writer: ResponseWriter,
): Promise<void> | undefined {
  // These statuses have neither a body nor a length.
  const isBodiless = status === 204 || status === 304;
  const isHeadOnly = isBodiless || method === "HEAD";
  if (typeof body === "string" || isBodyChunks(body) || body instanceof Uint8Array) {
    const parts = isBodyChunks(body) ? body : [body];
    const head = (bytes: number): string =>
      responseHead(
        status,
        headers,
        (isBodiless ? "" : `content-length: ${bytes}\r\n`) + headerLines,
      );
    const small = isHeadOnly ? undefined : assembleResponse(parts, head);
    if (small) return writer.writeBuffered(small);
    const bytes = joinParts(parts);
    const text = head(bytes.length);
    return isHeadOnly ? writer.write(text) : sendBytes(text, bytes, writer);
  }
  const length = lengthOf(body);
  const framing = length === undefined && supportsChunked ? "chunked" : length;
  const head = responseHead(
    status,
    headers,
    (isBodiless ? "" : framingHeader(framing)) + headerLines,
  );
  const inMemory = !isHeadOnly && isStreamedBody(body) ? body.chunksInMemory?.() : undefined;
  const source = isHeadOnly || inMemory ? undefined : chunkSource(body);
  const count = new SentCount(writer);
  const headSent = count.write(head);
  if (source) return sendChunks(headSent, source, framing, writer, count);
  if (inMemory && isStreamedBody(body)) return sendFromMemory(headSent, inMemory, body, count);
  return sendHeadOnly(headSent, body);
}

function framingHeader(framing: Framing | undefined): string {
  if (framing === undefined) return "";
  return framing === "chunked"
    ? "transfer-encoding: chunked\r\n"
    : `content-length: ${framing}\r\n`;
}

async function sendBytes(head: string, bytes: Uint8Array, writer: ResponseWriter): Promise<void> {
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

/** A body in memory needs no iterator. */
async function sendFromMemory(
  headSent: Promise<void> | undefined,
  chunks: readonly Uint8Array[],
  body: StreamedBody,
  count: SentCount,
): Promise<void> {
  let complete = false;
  try {
    const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    if (length !== body.length) throw lengthMismatch(length, body.length);
    if (headSent) await headSent;
    let sent = 0;
    for (const chunk of chunks) {
      sent += chunk.length;
      const written = count.write(chunk);
      if (written) await written;
      count.check();
    }
    if (sent !== length) throw lengthMismatch(sent, length);
    complete = true;
  } finally {
    await body.close(complete);
  }
}
