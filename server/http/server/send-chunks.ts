/** Sends a response body chunk by chunk, no faster than the client reads it. */
import type { Framing } from "./parse-head.ts";
import { type ChunkSource, endIteration } from "./response-body.ts";
import { lengthMismatch, type ResponseWriter, type SentCount } from "./response-writer.ts";

/** A chunk is valid only until the next one is read, so the next one is read after this one is sent. */
export async function sendChunks(
  headSent: Promise<void> | undefined,
  { iterator, end, isInMemory }: ChunkSource,
  framing: Framing | undefined,
  writer: ResponseWriter,
  count: SentCount,
): Promise<void> {
  const isChunked = framing === "chunked";
  let complete = false;
  let length = 0;
  // Otherwise the iterator could wait forever for a chunk after the client has disconnected.
  writer.onDisconnect(() => void endIteration(iterator));
  try {
    if (headSent) await headSent;
    for (;;) {
      const { done, value } = await iterator.next();
      if (done) break;
      if (value.length === 0) continue;
      length += Buffer.byteLength(value);
      if (typeof framing === "number" && length > framing) throw lengthMismatch(length, framing);
      if (isInMemory && typeof framing === "number") writer.heldBytes = framing - length;
      const written = isChunked ? writeChunk(value, count) : count.write(value);
      if (written) await written;
      count.check();
    }
    if (typeof framing === "number" && length < framing) throw lengthMismatch(length, framing);
    const last = isChunked ? count.write("0\r\n\r\n") : undefined;
    if (last) await last;
    count.check();
    complete = true;
  } finally {
    writer.onDisconnect(noop);
    writer.heldBytes = 0;
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
