/** Text of a file or of standard input in chunks, and its lines. */
import { isUtf8 } from "node:buffer";
import { createReadStream } from "node:fs";
import { UsageError } from "../../command.ts";

/** Characters of a line or a field. A longer one is a file of another format, or a quote that is not closed. */
const maxLength = 64 * 1024 * 1024;

export function checkLength(text: string, noun: string): void {
  if (text.length > maxLength)
    throw new UsageError(`--input has a ${noun} with more than ${maxLength} characters.`);
}

/**
 * `path`: "-" is standard input. A byte order mark at the start is left out. Throws UsageError for another encoding.
 */
export async function* decodeText(path: string): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const place = new Place();
  const decode = (chunk?: Uint8Array): string => {
    try {
      return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode();
    } catch {
      throw new UsageError(`--input: line ${place.firstInvalidLine(chunk)} is not a text in UTF-8`);
    }
  };
  const bytes: AsyncIterable<Uint8Array> = path === "-" ? process.stdin : createReadStream(path);
  for await (const chunk of bytes) {
    yield decode(chunk);
    place.pass(chunk);
  }
  yield decode();
}

const lineBreak = 0x0a;

/** Where the decoder is. */
class Place {
  #line = 1;
  /** The last bytes of the chunk before: a character may begin there. */
  #tail: Uint8Array = new Uint8Array();

  /** The chunk was decoded. */
  pass(chunk: Uint8Array): void {
    for (let at = chunk.indexOf(lineBreak); at !== -1; at = chunk.indexOf(lineBreak, at + 1))
      this.#line++;
    this.#tail = Buffer.concat([this.#tail, chunk.subarray(-4)]).subarray(-4);
  }

  /** `chunk`: could not be decoded. Undefined if the input ends within a character. */
  firstInvalidLine(chunk: Uint8Array = new Uint8Array()): number {
    const afterBreak = this.#tail.subarray(this.#tail.lastIndexOf(lineBreak) + 1);
    // The rest of a character whose first byte is not in the tail.
    const start = Math.max(
      0,
      afterBreak.findIndex((byte) => byte >> 6 !== 0b10),
    );
    const bytes = Buffer.concat([afterBreak.subarray(start), chunk]);
    let line = this.#line;
    let from = 0;
    for (let end = bytes.indexOf(lineBreak); end !== -1; end = bytes.indexOf(lineBreak, from)) {
      if (!isUtf8(bytes.subarray(from, end))) break;
      from = end + 1;
      line++;
    }
    return line;
  }
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
