/** Reads the lines of a JSONL file as a stream, with one line at a time in memory. Blank lines are skipped. */
import { isUtf8 } from "node:buffer";
import { exceedsJsonBounds } from "../lib/json-bounds.ts";
import { type SplitLine, splitLines } from "./split-lines.ts";

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

const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

export async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  { position, maxLineBytes }: ReadLinesOptions,
): AsyncGenerator<InputLine> {
  let number = 0;
  for await (const split of splitLines(chunks, position, maxLineBytes)) {
    const line = readLine(split, ++number, maxLineBytes);
    if (line) yield line;
  }
}

/** Undefined: it is blank. */
function readLine(
  { position, length, bytes }: SplitLine,
  number: number,
  maxLineBytes: number,
): InputLine | undefined {
  const refused = (problem: string): InputLine => ({ position, number, text: undefined, problem });
  if (!bytes) return refused(`The line has ${length} bytes, and a line may have ${maxLineBytes}.`);
  if (!isUtf8(bytes)) return refused("The line is not valid UTF-8.");
  // A byte order mark is not part of the text.
  const isMarked = position === 0 && bytes.subarray(0, 3).equals(byteOrderMark);
  const text = bytes.toString("utf8", isMarked ? 3 : 0);
  const problem = exceedsJsonBounds(bytes, text);
  if (problem !== undefined) return refused(problem);
  return text.trim() === "" ? undefined : { position, number, text };
}
