/**
 * Streaming parser for multipart/form-data, pulled part by part, so that nothing is read faster than it is used.
 * Written here because existing parsers either need Node's streams or misread a boundary delimiter split between two
 * chunks. The multipart limits on files, fields and bytes are in `form.ts`.
 */
import { isUtf8 } from "node:buffer";
import { type BorrowedBytes, type BorrowedChunks, viewOf } from "../lib/borrowed-bytes.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { FormPart } from "../request/http-types.ts";

const maxHeadBytes = 16 * 1024;

export function boundaryOf(contentType: string): string {
  const boundary = readHeader(contentType).parameters.get("boundary");
  if (!boundary || boundary.length > 200)
    throw invalidForm("the content-type header names no boundary");
  return boundary;
}

/** The charset that a content-type names. */
export const charsetOf = (contentType: string): string | undefined =>
  readHeader(contentType).parameters.get("charset");

/** Yields the parts of a form. The chunks after its closing boundary can still be read. */
export async function* readParts(
  chunks: BorrowedChunks,
  boundary: string,
): AsyncGenerator<FormPart> {
  const scan = new Scanner(chunks);
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  // The first delimiter is mostly at the very beginning, without the line break.
  if (!(await scan.skip(delimiter.subarray(2)))) {
    for await (const _ of scan.until(delimiter)) {
      // The preamble before the first part is ignored.
    }
  }
  for (;;) {
    const mark = await scan.take(2);
    if (mark === "--") return;
    if (mark !== "\r\n") throw invalidForm("a boundary is not followed by a line break");
    const head = await scan.head(maxHeadBytes);
    if (head.includes(delimiter)) throw invalidForm("a part has no body");
    let read = false;
    async function* body(): AsyncGenerator<BorrowedBytes> {
      yield* scan.until(delimiter);
      read = true;
    }
    yield { ...readHead(head), body: body() };
    if (!read) throw new Error("The previous part was not read to its end.");
  }
}

/** A window on the stream: bytes that have arrived and are not used yet. */
class Scanner {
  readonly #chunks: AsyncIterator<BorrowedBytes>;
  #window: Buffer = Buffer.alloc(0);

  constructor(chunks: BorrowedChunks) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  async #more(): Promise<void> {
    // A copy: requesting the next chunk ends the loan of this one.
    const left = Buffer.from(this.#window);
    const { done, value } = await this.#chunks.next();
    if (done) throw invalidForm("it ends before its closing boundary");
    const { buffer, byteOffset, length } = viewOf(value);
    const chunk = Buffer.from(buffer, byteOffset, length);
    this.#window = left.length === 0 ? chunk : Buffer.concat([left, chunk]);
  }

  #consume(length: number): Buffer {
    const consumed = this.#window.subarray(0, length);
    this.#window = this.#window.subarray(length);
    return consumed;
  }

  /** The bytes before the delimiter, in chunks; the delimiter itself is skipped. */
  async *until(delimiter: Buffer): AsyncGenerator<BorrowedBytes> {
    for (;;) {
      const at = this.#window.indexOf(delimiter);
      const bodyBytes =
        at >= 0 ? at : this.#window.length - partialDelimiterBytes(this.#window, delimiter);
      if (bodyBytes > 0) yield this.#consume(bodyBytes);
      if (at >= 0) {
        this.#consume(delimiter.length);
        return;
      }
      await this.#more();
    }
  }

  /** Skips these bytes, if they are next. */
  async skip(bytes: Buffer): Promise<boolean> {
    while (this.#window.length < bytes.length) await this.#more();
    if (this.#window.compare(bytes, 0, bytes.length, 0, bytes.length) !== 0) return false;
    this.#consume(bytes.length);
    return true;
  }

  async take(length: number): Promise<string> {
    const taken = await this.peek(length);
    this.#consume(length);
    return taken;
  }

  async peek(length: number): Promise<string> {
    while (this.#window.length < length) await this.#more();
    return this.#window.toString("latin1", 0, length);
  }

  /** The header lines of a part, each after its line break, up to the empty line. */
  async head(maxBytes: number): Promise<Buffer> {
    // The line break before the first header line was taken already: a part without headers begins with an empty line.
    if ((await this.peek(2)) === "\r\n") {
      this.#consume(2);
      return Buffer.alloc(0);
    }
    for (;;) {
      const at = this.#window.indexOf("\r\n\r\n");
      if (at >= 0 && at <= maxBytes) {
        const head = Buffer.concat([Buffer.from("\r\n"), this.#consume(at)]);
        this.#consume(4);
        return head;
      }
      if (at > maxBytes || this.#window.length > maxBytes) {
        throw invalidForm("the headers of a part are too long");
      }
      await this.#more();
    }
  }
}

/** How many bytes at the end of the window may be the start of a delimiter that continues in the next chunk. */
function partialDelimiterBytes(window: Buffer, delimiter: Buffer): number {
  const first = delimiter[0] as number;
  let at = window.indexOf(first, Math.max(0, window.length - delimiter.length + 1));
  while (at >= 0) {
    const length = window.length - at;
    if (window.compare(delimiter, 0, length, at) === 0) return length;
    at = window.indexOf(first, at + 1);
  }
  return 0;
}

function readHead(head: Buffer): Omit<FormPart, "body"> {
  const headers = new Map(
    head
      .toString("utf8")
      .split("\r\n")
      .map((line) => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()] as const;
      }),
  );
  const { value, parameters } = readHeader(headers.get("content-disposition") ?? "");
  const name = parameters.get("name");
  if (name === undefined || value !== "form-data") throw invalidForm("a part has no name");
  // The name of a file may be in any encoding: it is not used.
  if (name.includes("\ufffd") && !isUtf8(head)) {
    throw invalidForm(`the name of the field '${name.slice(0, 200)}' is not valid UTF-8`);
  }
  return {
    name: name.slice(0, 200),
    filename: decodeExtended(parameters.get("filename*")) ?? parameters.get("filename"),
    type: headers.get("content-type")?.toLowerCase(),
  };
}

interface Header {
  /** In lower case. */
  readonly value: string;
  readonly parameters: ReadonlyMap<string, string>;
}

// Sticky, from left to right, so that nothing inside quotes is read as a parameter.
// Browsers do not escape a backslash at the end of a name, hence the second form of a quoted value.
const parameter = /\s*;\s*([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|"([^"]*)"|([^\s;"]+))/gy;

function readHeader(text: string): Header {
  const end = text.indexOf(";");
  const value = (end < 0 ? text : text.slice(0, end)).trim().toLowerCase();
  const parameters = new Map<string, string>();
  if (end < 0) return { value, parameters };
  parameter.lastIndex = end;
  for (;;) {
    const [, name, quoted, unescaped, plain] = parameter.exec(text) ?? [];
    if (name === undefined) return { value, parameters };
    parameters.set(name.toLowerCase(), unescapeQuoted(quoted) ?? unescaped ?? plain ?? "");
  }
}

/** Browsers write a quote or a line break inside quotes as %22, %0D or %0A, other clients put a backslash before it. */
const unescapeQuoted = (text: string | undefined): string | undefined =>
  text
    ?.replace(/\\(["\\])/g, "$1")
    .replace(/%(22|0D|0A)/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));

function decodeExtended(text: string | undefined): string | undefined {
  const [, encoded] = /^utf-8'[^']*'(.*)$/i.exec(text ?? "") ?? [];
  try {
    return encoded === undefined ? undefined : decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}

const invalidForm = (reason: string): GatewayError =>
  new GatewayError(
    "invalid_form",
    `The multipart form is malformed: ${reason}. Let your HTTP library write the form and its content-type header.`,
  );
