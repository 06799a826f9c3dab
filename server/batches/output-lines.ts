/** The lines of the output and error files of a batch, and the usage that they report. */

import type { LineResult } from "../jobs/job-kind.ts";
import { type BorrowedBytes, copyOf } from "../lib/borrowed-bytes.ts";
import type { BatchUsage } from "./stored-batch.ts";

const lineFeed = 10;
const carriageReturn = 13;

/** `id`: `batch_req_…`. */
export async function* formatLine(
  id: string,
  customId: string,
  result: LineResult,
): AsyncGenerator<BorrowedBytes> {
  const head = `{"id":${JSON.stringify(id)},"custom_id":${JSON.stringify(customId)}`;
  if (result.kind === "none") {
    const { code, message } = result.error.body.error;
    const error = JSON.stringify({ code, message });
    yield Buffer.from(`${head},"response":null,"error":${error}}\n`);
    return;
  }
  const { status, requestId } = result;
  const request = JSON.stringify(requestId);
  yield Buffer.from(`${head},"response":{"status_code":${status},"request_id":${request},"body":`);
  for await (const chunk of result.body) yield onOneLine(chunk);
  yield Buffer.from(`},"error":null}\n`);
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
        this.#add(chunk.subarray(from, end));
        this.#endLine();
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

  #endLine(): void {
    const found = usageIn(this.#tail) ?? usageIn(this.#head);
    if (found) this.#sum(found);
    this.#head = Buffer.alloc(0);
    this.#tail = Buffer.alloc(0);
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

/** Undefined: the bytes have no complete usage. */
function usageIn(bytes: Buffer): Record<string, unknown> | undefined {
  const at = bytes.lastIndexOf(usageStart);
  if (at < 0) return undefined;
  const [, json] = usagePattern.exec(bytes.toString("latin1", at)) ?? [];
  return json === undefined ? undefined : (JSON.parse(json) as Record<string, unknown>);
}

const numberOf = (value: unknown): number => (typeof value === "number" ? value : 0);
