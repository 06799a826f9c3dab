/**
 * Reads the lines of a JSONL file as a stream, with one line at a time in memory, and parses them. Blank lines are
 * skipped, up to a maximum. A line of a batch's input file must be an object with `custom_id`, `method`, `url` and
 * `body`. The error codes for a missing field, another `url` and `stream` are OpenAI's, as recorded by the tests of
 * llama-stack (tests/integration/batches/test_batches_errors.py).
 */

import { isUtf8 } from "node:buffer";
import { cutDataUrls } from "../lib/cut-inline-images.ts";
import type { GatewayError } from "../lib/gateway-error.ts";
import { exceededJsonBound, withoutNestedJson } from "../lib/json-bounds.ts";
import type { Turns } from "../lib/turns.ts";

const lineFeed = 10;

export interface SplitLine {
  /** Where the line begins in the file. */
  readonly position: number;
  /** In bytes, without the line feed. */
  readonly length: number;
  /** Undefined if it is longer than `maxBytes`. */
  readonly bytes: Buffer | undefined;
}

interface SplitLinesOptions {
  /** Where the first chunk begins in the file. */
  readonly position: number;
  /** The longest line. */
  readonly maxBytes: number;
  readonly turns: Turns;
}

/**
 * With one line at a time in memory. Blank lines are lines. It takes the turns for all work over the lines: the time
 * that their reader takes counts toward a step too.
 */
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

export interface InputLine {
  /** Where the line begins in the file, in bytes. */
  readonly position: number;
  /** The line of the file, from 1, blank lines included. Only if it was read from the beginning. */
  readonly number: number;
  /** Undefined if the line is not valid JSON, or larger than allowed. */
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

/** In parts of a few milliseconds each. Undefined if the line is blank. */
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
  const hasByteOrderMark = position === 0 && json.subarray(0, 3).equals(byteOrderMark);
  const text = json.toString("utf8", hasByteOrderMark ? 3 : 0);
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

/** An error of a line, with the code that OpenAI and Azure have for it. */
export class LineError extends Error {
  override readonly name = "LineError";
  readonly code: string;
  readonly param: string | null;

  constructor(code: string, message: string, param: string | null = null) {
    super(message);
    this.code = code;
    this.param = param;
  }
}

interface ParsedLine {
  readonly customId: string;
  /** Undefined if the line is refused. */
  readonly body: unknown;
  /** Why the line fails alone, when it runs: its body exceeds a JSON bound. */
  readonly refusal?: GatewayError;
}

/** `endpoint`: the url of every line. Azure's clients leave out /v1. Throws LineError. */
export function parseLine(line: InputLine, endpoint: string): ParsedLine {
  const fields = fieldsOf(line);
  const { custom_id: customId, method, url, body } = fields;
  const { refusal } = line;
  // The body of a line that is refused is null if it was an object.
  checkRequired(refusal && body === null ? { ...fields, body: {} } : fields);
  if (typeof customId !== "string" || customId === "" || customId.length > 512)
    throw new LineError(
      "invalid_request",
      "Invalid 'custom_id': expected a string of 1 to 512 characters.",
      "custom_id",
    );
  if (method !== "POST")
    throw new LineError("invalid_request", "Invalid 'method': expected 'POST'.", "method");
  if (url !== endpoint && url !== endpoint.replace("/v1", ""))
    throw new LineError(
      "invalid_url",
      `The URL provided for this request does not match the batch endpoint '${endpoint}'.`,
      "url",
    );
  if (refusal && body === null) return { customId, body: undefined, refusal };
  if (typeof body !== "object" || Array.isArray(body))
    throw new LineError("invalid_request", "Invalid 'body': expected an object.", "body");
  if ("stream" in (body as object) && (body as { stream: unknown }).stream === true)
    throw new LineError(
      "streaming_unsupported",
      "Streaming is not supported in the Batch API.",
      "body.stream",
    );
  return { customId, body };
}

function fieldsOf({ value, problem }: InputLine): Readonly<Record<string, unknown>> {
  if (problem !== undefined) throw new LineError("invalid_json_line", problem);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new LineError("invalid_json_line", "The line is not a JSON object.");
  return value as Record<string, unknown>;
}

function checkRequired(fields: Readonly<Record<string, unknown>>): void {
  for (const name of ["custom_id", "method", "url", "body"]) {
    if (fields[name] === undefined || fields[name] === null)
      throw new LineError(
        "missing_required_parameter",
        `Missing required parameter: '${name}'.`,
        name,
      );
  }
}
