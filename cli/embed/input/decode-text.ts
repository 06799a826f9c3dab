/** Text of a file or of standard input in chunks, and its lines. */
import { createReadStream } from "node:fs";
import { UsageError } from "../../command.ts";

/** Characters of a line or a field. A longer one is a file of another format, or a quote that is not closed. */
const maxLength = 64 * 1024 * 1024;

export function checkLength(text: string, noun: string): void {
  if (text.length > maxLength)
    throw new UsageError(`--input has a ${noun} with more than ${maxLength} characters.`);
}

/** `path`: "-" is standard input. A byte order mark at the start is left out. */
export async function* decodeText(path: string): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const bytes: AsyncIterable<Uint8Array> = path === "-" ? process.stdin : createReadStream(path);
  for await (const chunk of bytes) yield decoder.decode(chunk, { stream: true });
  yield decoder.decode();
}

/** Only "\n" ends a line: JSON texts may contain U+2028, which `node:readline` takes for the end of a line. */
export async function* linesOf(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of chunks) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    checkLength(rest, "line");
    yield* lines;
  }
  if (rest !== "") yield rest;
}
