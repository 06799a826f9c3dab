/**
 * Reads the lines of a JSONL file as a stream, with one line at a time in memory, and parses them. Blank lines are
 * skipped, up to a maximum.
 */
import { isUtf8 } from "node:buffer";
import { cutDataUrls } from "../lib/cut-inline-images.ts";
import type { GatewayError } from "../lib/gateway-error.ts";
import { exceededJsonBound, withoutNestedJson } from "../lib/json-bounds.ts";
import type { Turns } from "../lib/turns.ts";
import { type SplitLine, splitLines } from "./split-lines.ts";

export interface InputLine {
  /** Where the line begins in the file, in bytes. */
  readonly position: number;
  /** The line of the file, from 1, blank lines included. Only if it was read from the beginning. */
  readonly number: number;
  /** Undefined: the line is not valid JSON, or larger than allowed. */
  readonly value?: unknown;
  /** Why it has no value. */
  readonly problem?: string;
  /** The error of a line that exceeds a JSON bound: `value` has null in place of each array and object. */
  readonly refusal?: GatewayError;
}

export interface LineLimits {
  /** The longest line in bytes. */
  readonly maxLineBytes: number;
  /** The same without its long `data:` URLs. */
  readonly maxTextBytes: number;
  /** The most blank lines. The next blank line is a problem, and reading ends there. */
  readonly maxBlankLines: number;
}

interface ReadLinesOptions extends LineLimits {
  /** Where the first chunk begins in the file. */
  readonly position: number;
  readonly turns: Turns;
}

const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

export async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  options: ReadLinesOptions,
): AsyncGenerator<InputLine> {
  const { position: from, maxLineBytes: maxBytes, maxBlankLines, turns } = options;
  let number = 0;
  let blank = 0;
  for await (const line of splitLines(chunks, { position: from, maxBytes, turns })) {
    number++;
    const { position } = line;
    const parsed = line.length === 0 ? undefined : await turns.run(parse(line, options));
    if (parsed) yield { position, number, ...parsed };
    else if (++blank > maxBlankLines) {
      const problem = `The file has more than ${maxBlankLines} blank lines. Remove them.`;
      yield { position, number, problem };
      return;
    }
  }
}

/** In parts of a few milliseconds each. Undefined: the line is blank. */
function* parse(
  { position, length, bytes }: SplitLine,
  { maxLineBytes, maxTextBytes }: LineLimits,
): Generator<void, Pick<InputLine, "value" | "problem" | "refusal"> | undefined> {
  if (!bytes)
    return { problem: `The line has ${length} bytes, and a line may have ${maxLineBytes}.` };
  const refusal = yield* exceededJsonBound(bytes);
  const { json, restore } = refusal ? yield* cutNested(bytes) : yield* cutDataUrls(bytes);
  if (!json) return { problem: refusal?.message ?? "" };
  if (json.length > maxTextBytes)
    return {
      problem: `The line has ${json.length} bytes besides the 'data:' URLs of images, and may have ${maxTextBytes}.`,
    };
  if (!isUtf8(json)) return { problem: "The line is not valid UTF-8." };
  // A byte order mark is not part of the text.
  const isMarked = position === 0 && json.subarray(0, 3).equals(byteOrderMark);
  const text = json.toString("utf8", isMarked ? 3 : 0);
  if (text.trim() === "") return undefined;
  yield;
  const value = parseOrUndefined(text);
  if (value === undefined) return { problem: "This line is not parseable as valid JSON." };
  yield;
  return { value: restore(value), ...(refusal && { refusal }) };
}

function* cutNested(bytes: Buffer) {
  return { json: yield* withoutNestedJson(bytes), restore: (value: unknown) => value };
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
