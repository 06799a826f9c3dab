/**
 * Splits a stream of bytes into lines, with one line at a time in memory. Blank lines are lines. It takes the turns for
 * all work over the lines: the time that their reader takes counts toward a step too.
 */
import type { Turns } from "../lib/turns.ts";

const lineFeed = 10;

export interface SplitLine {
  /** Where the line begins in the file. */
  readonly position: number;
  /** In bytes, without the line feed. */
  readonly length: number;
  /** Undefined: it is longer than `maxBytes`. */
  readonly bytes: Buffer | undefined;
}

interface SplitLinesOptions {
  /** Where the first chunk begins in the file. */
  readonly position: number;
  /** The longest line. */
  readonly maxBytes: number;
  readonly turns: Turns;
}

export async function* splitLines(
  chunks: AsyncIterable<Uint8Array>,
  { position, maxBytes, turns }: SplitLinesOptions,
): AsyncGenerator<SplitLine> {
  let start = position;
  /** The beginning of a line that continues in the next chunk. */
  let parts: Uint8Array[] = [];
  let length = 0;
  const add = (part: Uint8Array): void => {
    length += part.length;
    // The bytes of a line that is too long are not kept.
    if (length > maxBytes) parts = [];
    else parts.push(part);
  };
  const take = async (): Promise<SplitLine> => {
    const bytes = length > maxBytes ? undefined : await join(parts, length, turns);
    const line = { position: start, length, bytes };
    start += length + 1;
    [parts, length] = [[], 0];
    return line;
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, from)) {
      add(chunk.subarray(from, end));
      yield await take();
      if (turns.isDue(end + 1 - from)) await turns.next();
      from = end + 1;
    }
    if (from < chunk.length) add(chunk.slice(from));
    if (turns.isDue(chunk.length - from)) await turns.next();
  }
  if (length > 0) yield await take();
}

/** Copying a line of many megabytes takes turns too. */
async function join(parts: readonly Uint8Array[], length: number, turns: Turns): Promise<Buffer> {
  const [only] = parts;
  if (only?.length === length) return Buffer.from(only.buffer, only.byteOffset, length);
  const bytes = Buffer.allocUnsafe(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
    if (turns.isDue(part.length)) await turns.next();
  }
  return bytes;
}
