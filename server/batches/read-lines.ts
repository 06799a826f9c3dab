/** Reads the lines of a JSONL file as a stream, with one line at a time in memory. Blank lines are skipped. */
import { isUtf8 } from "node:buffer";
import { exceedsJsonBounds } from "../lib/json-bounds.ts";

export interface InputLine {
  /** Where the line begins in the file, in bytes. */
  readonly position: number;
  /** The line of the file, from 1, blank lines included. Only if it was read from the beginning. */
  readonly number: number;
  /** Undefined: it is not valid UTF-8, longer than allowed, or has too many values to parse it. */
  readonly text: string | undefined;
  readonly problem?: string;
}

interface ReadLinesOptions {
  /** Where the first chunk begins in the file. */
  readonly position: number;
  /** The longest line in bytes. */
  readonly maxLineBytes: number;
}

const lineFeed = 10;
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

export async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  { position, maxLineBytes }: ReadLinesOptions,
): AsyncGenerator<InputLine> {
  let number = 0;
  let start = position;
  /** The beginning of a line that continues in the next chunk. */
  let parts: Uint8Array[] = [];
  let length = 0;

  const lineOf = (last: Uint8Array): InputLine | undefined => {
    const bytes =
      length === last.length
        ? Buffer.from(last.buffer, last.byteOffset, length)
        : Buffer.concat([...parts, last]);
    const line = { position: start, number: ++number };
    start += length + 1;
    if (length > maxLineBytes) {
      const problem = `The line has ${length} bytes, and a line may have ${maxLineBytes}.`;
      return { ...line, text: undefined, problem };
    }
    if (!isUtf8(bytes))
      return { ...line, text: undefined, problem: "The line is not valid UTF-8." };
    // A byte order mark is not part of the text.
    const isMarked = line.position === 0 && bytes.subarray(0, 3).equals(byteOrderMark);
    const text = bytes.toString("utf8", isMarked ? 3 : 0);
    const problem = exceedsJsonBounds(bytes, text);
    if (problem !== undefined) return { ...line, text: undefined, problem };
    return text.trim() === "" ? undefined : { ...line, text };
  };

  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, from)) {
      const last = chunk.subarray(from, end);
      length += last.length;
      const line = lineOf(last);
      if (line) yield line;
      [parts, length] = [[], 0];
      from = end + 1;
    }
    const rest = chunk.subarray(from);
    length += rest.length;
    // The bytes of a line that is too long are not kept.
    if (length <= maxLineBytes && rest.length > 0) parts.push(Uint8Array.from(rest));
  }
  const line = length > 0 ? lineOf(new Uint8Array(0)) : undefined;
  if (line) yield line;
}
