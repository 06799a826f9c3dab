/** The lines of the output and error files of a batch, and the usage that they report. */

import { type LineResult, withoutCost } from "../jobs/job-kind.ts";
import { type BorrowedBytes, copyOf, joinCopies } from "../lib/borrowed-bytes.ts";
import type { BatchUsage } from "./batches.ts";

const lineFeed = 10;
const carriageReturn = 13;

/** `id`: `batch_req_…`. */
export function formatLine(
  id: string,
  customId: string,
  result: LineResult,
): AsyncIterable<BorrowedBytes> | Uint8Array {
  const head = `{"id":"${id}","custom_id":${JSON.stringify(customId)}`;
  if (result.kind === "none") {
    const { code, message } = result.error.body.error;
    const error = JSON.stringify({ code, message });
    return Buffer.from(`${head},"response":null,"error":${error}}\n`);
  }
  const { status, requestId, body } = result;
  const headers = withoutCost(result.headers);
  const isPlain = Object.keys(headers).length === 0;
  const shown = isPlain ? "" : `"headers":${JSON.stringify(headers)},`;
  const before = Buffer.from(
    `${head},"response":{"status_code":${status},"request_id":"${requestId}",${shown}"body":`,
  );
  return body instanceof Uint8Array
    ? joinCopies([before, onOneLine(body), after])
    : around(before, body);
}

const after = Buffer.from('},"error":null}\n');

async function* around(
  before: Uint8Array,
  body: AsyncIterable<BorrowedBytes>,
): AsyncGenerator<BorrowedBytes> {
  yield before;
  for await (const chunk of body) yield onOneLine(chunk);
  yield after;
}

/** Line breaks in JSON are white space: inside of strings they are escaped. */
function onOneLine(chunk: BorrowedBytes): BorrowedBytes {
  if (chunk.indexOf(lineFeed) < 0 && chunk.indexOf(carriageReturn) < 0) return chunk;
  return copyOf(chunk).map((byte) => (byte === lineFeed || byte === carriageReturn ? 32 : byte));
}

/** `usage` is at the end of a response, or near its beginning. */
const keptBytes = 4096;
const usageStart = '"usage":{';
const usagePattern = /^"usage":(\{(?:[^{}]|\{[^{}]*\})*\})/;

/** Passes output lines on, and adds up their usage. */
export class UsageCounter {
  #usage: BatchUsage = { inputTokens: 0, cachedTokens: 0, outputTokens: 0, totalTokens: 0 };
  #head = Buffer.alloc(0);
  #tail = Buffer.alloc(0);

  get usage(): BatchUsage {
    return this.#usage;
  }

  async *count(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      let from = 0;
      for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, from)) {
        this.#endLine(chunk.subarray(from, end));
        from = end + 1;
      }
      this.#add(chunk.subarray(from));
      yield chunk;
    }
  }

  #add(part: Uint8Array): void {
    const missing = keptBytes - this.#head.length;
    if (missing > 0) this.#head = Buffer.concat([this.#head, part.subarray(0, missing)]);
    this.#tail =
      part.length >= keptBytes
        ? Buffer.from(part.subarray(-keptBytes))
        : Buffer.concat([this.#tail.subarray(part.length - keptBytes), part]);
  }

  /** `last`: the end of the line, or all of it. */
  #endLine(last: Uint8Array): void {
    if (this.#head.length > 0) this.#add(last);
    const isPart = this.#head.length > 0;
    const [head, tail] = isPart ? [this.#head, this.#tail] : endsOf(last);
    const found = usageIn(tail) ?? usageIn(head);
    if (found) this.#sum(found);
    if (isPart) [this.#head, this.#tail] = [Buffer.alloc(0), Buffer.alloc(0)];
  }

  #sum(reported: Record<string, unknown>): void {
    const { input_tokens, prompt_tokens, output_tokens, total_tokens, input_tokens_details } =
      reported;
    const cached = (input_tokens_details as { cached_tokens?: unknown } | undefined)?.cached_tokens;
    const before = this.#usage;
    const input = numberOf(input_tokens ?? prompt_tokens);
    const output = numberOf(output_tokens);
    this.#usage = {
      inputTokens: before.inputTokens + input,
      cachedTokens: before.cachedTokens + numberOf(cached),
      outputTokens: before.outputTokens + output,
      totalTokens:
        before.totalTokens + (total_tokens === undefined ? input + output : numberOf(total_tokens)),
    };
  }
}

/** Without a copy. */
function endsOf({ buffer, byteOffset, length }: Uint8Array): [Buffer, Buffer] {
  const kept = Math.min(length, keptBytes);
  return [
    Buffer.from(buffer, byteOffset, kept),
    Buffer.from(buffer, byteOffset + length - kept, kept),
  ];
}

/** Undefined if the bytes have no complete usage. */
function usageIn(bytes: Buffer): Record<string, unknown> | undefined {
  const at = bytes.lastIndexOf(usageStart);
  if (at < 0) return undefined;
  const [, json] = usagePattern.exec(bytes.toString("latin1", at)) ?? [];
  return json === undefined ? undefined : (JSON.parse(json) as Record<string, unknown>);
}

const numberOf = (value: unknown): number => (typeof value === "number" ? value : 0);
